"""Which page stands for a cluster, by the policies of a batch run (`rules.keeping`).

A store that was made without a policy shows the page of each cluster that arrived first. With one,
the choice is made again whenever a cluster changes, and a change is an event of its history. In a
cluster of more than `Bounds.component` pages, a page that joins is compared with the page kept so
far only; `recheck` chooses among all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from neardup.index.candidates import Bounds
from neardup.index.names import Naming
from neardup.local.corpus import stored_columns
from neardup.rules.keeping import JudgedPairs, choose_kept
from neardup.stores.records import ClusterRow, Edge, EventRow, PageRow
from neardup.stores.session import Session


def choose_pages(session: Session, clusters: Iterable[int], naming: Naming, bounds: Bounds) -> None:
    """Choose the page that stands for each of these clusters, which are written already."""
    if bounds.keep is None:
        return
    rows = [row for row in session.clusters(sorted(clusters)) if row.size]
    present = session.pages([row.kept for row in rows if row.kept is not None])
    whole: list[ClusterRow] = []  # chosen from all pages
    large: list[ClusterRow] = []
    for row in rows:
        kept = present.get(row.kept or 0)
        compares = kept is not None and kept.cluster == row.cluster and row.size > bounds.component
        (large if compares else whole).append(row)
    members = session.members([row.cluster for row in whole])
    moved = {number for number, cluster in naming.clusters.items() if cluster}
    in_large = {row.cluster for row in large}
    joined = session.pages(sorted(moved)) if large else {}
    members += [row for row in joined.values() if row.cluster in in_large]
    members += [present[row.kept] for row in large if row.kept is not None]
    pages = {row.number: row for row in members}
    edges = session.edges(sorted(pages))
    put_kept(session, rows, kept_pages(bounds.keep, list(pages.values()), edges), naming.at)


def kept_pages(policy: str, pages: Sequence[PageRow], edges: Sequence[Edge]) -> list[PageRow]:
    """The page of each cluster that a policy keeps, given its pages and their pairs."""
    rows = sorted(pages, key=lambda row: row.id.encode())
    place = {row.number: at for at, row in enumerate(rows)}
    pairs = [edge for edge in edges if edge.a in place and edge.b in place]
    ends = np.array([(place[edge.a], place[edge.b]) for edge in pairs], np.int64).reshape(-1, 2)
    similarities = [np.nan if edge.similarity is None else edge.similarity for edge in pairs]
    judged = JudgedPairs(ends.min(axis=1), ends.max(axis=1), np.array(similarities, np.float64))
    first: dict[int, int] = {}
    labels = [first.setdefault(row.cluster, at) for at, row in enumerate(rows)]
    kept = choose_kept(policy, stored_columns(rows), np.array(labels, np.int64), judged)
    return [rows[at] for at in np.unique(kept).tolist()]


def put_kept(
    session: Session, clusters: Sequence[ClusterRow], kept: Iterable[PageRow], at: int
) -> None:
    """Write the page that stands for each cluster, and an event where it is another than before."""
    page_of = {page.cluster: page for page in kept}
    changed = [row for row in clusters if row.kept != page_of[row.cluster].number]
    session.keep_pages((page_of[row.cluster].number, row.cluster) for row in changed)
    session.put_events(
        [
            EventRow(at, row.cluster, "kept", page_of[row.cluster].id, None)
            for row in changed
            if row.kept is not None
        ]
    )
