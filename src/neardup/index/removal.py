"""Removing pages from the index."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from neardup.index.candidates import BOUNDS, Bounds, read_features
from neardup.index.features import stored_features
from neardup.index.groups import group_pages
from neardup.index.kept import choose_pages
from neardup.index.names import name_clusters
from neardup.index.plan import forget_pages
from neardup.index.state import ALIASES, StoredState, turn
from neardup.methods.base import Method, assigner
from neardup.methods.identical import content_keys
from neardup.stores.records import Edge, EventRow, PageRow
from neardup.stores.session import Session
from neardup.stores.store import Store

PAGES_AT_ONCE = 1_000


def expire(
    method: Method, store: Store, moment: int, clock: Callable[[], int], bounds: Bounds = BOUNDS
) -> int:
    """Remove pages last added before a moment, in batches; returns how many."""
    count = 0
    while True:

        def work(session: Session) -> int:
            rows = list(session.pages(session.not_seen_since(moment, PAGES_AT_ONCE)).values())
            _take_out(method, session, rows, clock(), bounds)
            return len(rows)

        found = store.write(work)
        count += found
        if found < PAGES_AT_ONCE:
            break
    if count:
        store.write(lambda session: rebuild_state(method, session))
    return count


def remove(
    method: Method, session: Session, rows: Sequence[PageRow], at: int, bounds: Bounds = BOUNDS
) -> None:
    """Remove pages.

    The state of a method that decides in order cannot lose a page: it may still name a removed one,
    which then stands for a neighbour that stayed. `expire` rebuilds such a state.
    """
    if rows:
        _take_out(method, session, rows, at, bounds)


def _take_out(
    method: Method, session: Session, rows: Sequence[PageRow], at: int, bounds: Bounds
) -> None:
    """Remove pages and recluster the components that they held together."""
    gone = {row.number for row in rows}
    bridges = _bridges(method, session, gone)
    features = stored_features(method, session)
    ends = sorted({end for edge in bridges for end in (edge.a, edge.b)})
    groups, others = group_pages(
        method,
        session,
        session.pages(ends),
        bridges,
        void=gone,
        gone=gone,
        judge=features.relations,
        bounds=bounds,
    )
    if assigner(method) is not None:
        _leave_aliases(session, rows, gone)
    forget_pages(method, session, sorted(gone))
    session.put_edges(bridges)
    session.put_events([EventRow(at, row.cluster, "removed", row.id, None) for row in rows])
    _shrink(session, rows, at)
    naming = name_clusters(session, groups, others, at)
    naming.apply(session)
    left = {row.cluster for row in rows}.union(row.cluster for row in others.values())
    choose_pages(session, left.union(naming.changed), naming, bounds)


def _bridges(method: Method, session: Session, gone: set[int]) -> list[Edge]:
    """Pairs that replace those with removed pages, for a method that decides in order.

    There a page has one pair: with the page it duplicates. If that page is removed, its duplicates
    stay together.
    """
    if assigner(method) is None:
        return []
    first: dict[int, int] = {}
    bridges = {}
    for edge in session.edges(sorted(gone)):
        for lost, page in ((edge.a, edge.b), (edge.b, edge.a)):
            if lost in gone and page not in gone:
                anchor = first.setdefault(lost, page)
                if anchor != page:
                    a, b = min(anchor, page), max(anchor, page)
                    bridges[a, b] = Edge(a, b, edge.relation, edge.similarity)
    known = {(edge.a, edge.b) for edge in session.edges(sorted({a for a, _ in bridges}))}
    return [edge for pair, edge in bridges.items() if pair not in known]


def _leave_aliases(session: Session, rows: Sequence[PageRow], gone: set[int]) -> None:
    """Record whom the state means by each removed page: a neighbour that stays, or none."""
    beside: dict[int, int] = {}
    for edge in session.edges(sorted(gone)):
        for lost, page in ((edge.a, edge.b), (edge.b, edge.a)):
            if lost in gone and page not in gone:
                beside[lost] = min(page, beside.get(lost, page))
    stay = session.pages(sorted(set(beside.values())))
    named = {lost: stay[page].id for lost, page in beside.items()}
    session.put_state([(ALIASES, row.id, json.dumps(named.get(row.number, ""))) for row in rows])


def _shrink(session: Session, rows: Sequence[PageRow], at: int) -> None:
    lost: dict[int, int] = {}
    for row in rows:
        lost[row.cluster] = lost.get(row.cluster, 0) + 1
    session.update_clusters(
        row._replace(size=row.size - lost[row.cluster], changed=at)
        for row in session.clusters(sorted(lost))
    )


def rebuild_state(method: Method, session: Session) -> None:
    """Rebuild the state of a method that decides in order from the stored pages alone."""
    if (decides := assigner(method)) is None:
        return
    session.clear_state()
    state = StoredState(session)
    rows = sorted(session.every_page(), key=turn)
    seen: set[int] = set()
    for start in range(0, len(rows), PAGES_AT_ONCE):
        batch = rows[start : start + PAGES_AT_ONCE]
        numbers, features = read_features(method, session, [row.number for row in batch])
        places = {number: place for place, number in enumerate(numbers)}
        features = features.take(pa.array([places[row.number] for row in batch]))
        ids = pa.array([row.id for row in batch], pa.string())
        first = _first_seen(features, seen)
        decides.assign(ids.filter(first), features.filter(first), state)
    session.put_state(state.written)


def _first_seen(features: pa.RecordBatch, seen: set[int]) -> pa.BooleanArray:
    """Which pages are identical with none before them; `seen` remembers all."""
    first = []
    for keys in np.transpose(content_keys(features)).tolist():
        first.append(seen.isdisjoint(keys) or not any(keys))
        seen.update(keys)
    return pa.array(first, pa.bool_())
