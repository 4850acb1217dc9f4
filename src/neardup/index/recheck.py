"""`recheck`: judge all stored pages again, as a batch run over them would."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from neardup.arrays import compress
from neardup.index import sites
from neardup.index.answers import Rechecked, now
from neardup.index.candidates import REJECTED, Bounds, are_near_in_time, keys_of, pack_features
from neardup.index.components import constraints_of
from neardup.index.kept import put_kept
from neardup.index.names import Naming, name_clusters
from neardup.index.plan import host_groups
from neardup.index.removal import PAGES_AT_ONCE, rebuild_state
from neardup.index.settings import keep_settings, keep_upgraded
from neardup.local.corpus import Corpus, stored_batches
from neardup.local.features import Features, kept_features
from neardup.local.pipeline import NO_PRIOR, Judged, Outcome, judge, settle
from neardup.local.prior import Prior
from neardup.local.run import DEFAULT_MEMORY, Progress, Silent, Stages, default_workers
from neardup.local.work import Parts, Run
from neardup.methods.base import Method, assigner
from neardup.stores.records import Edge, PageRow
from neardup.stores.session import Session
from neardup.stores.store import Store
from neardup.text.sites import add_counts


def recheck(
    method: Method,
    store: Store,
    bounds: Bounds,
    *,
    keep_text: bool,
    work: str | Path | None,
    progress: Progress | None,
) -> Rechecked:
    """See `Index.recheck`. Other writers wait while it runs, so it sees a consistent store."""
    with tempfile.TemporaryDirectory(prefix="neardup-recheck-", dir=work) as folder:
        stages = Stages(progress or Silent())

        def judge_again(session: Session) -> Rechecked:
            attempt = Path(tempfile.mkdtemp(dir=folder))
            run = Run(attempt, DEFAULT_MEMORY, default_workers(), stages)
            outcome = _recheck(method, session, run, bounds, keep_text=keep_text)
            keep_settings(session, {"keep": bounds.keep})
            if keep_text:
                keep_upgraded(session, method)  # even if there are no pages
            return outcome

        return store.write(judge_again)


def _recheck(
    method: Method, session: Session, run: Run, bounds: Bounds, *, keep_text: bool
) -> Rechecked:
    rows = list(session.every_page())
    if not rows:
        return Rechecked(0, 0, 0)
    rows.sort(key=lambda row: row.id.encode())
    corpus = Corpus.from_store(session, rows, run, text=keep_text)
    prior = NO_PRIOR if keep_text else _stored_features(method, session, rows, run)
    judged = judge(corpus, method, run, prior)
    if bounds.window is not None:
        judged = _within(judged, rows, bounds.window)
    constraints = constraints_of(session.feedback(), {row.id: at for at, row in enumerate(rows)})
    outcome = settle(judged, run, keep=bounds.keep or "first", constraints=constraints)
    fresh = _write_features(method, session, rows, judged.features, keep_text=keep_text)
    if "corpus" in judged.surveys.counts and keep_text:
        _keep_survey(session, judged.surveys.counts["corpus"], len(rows))
    session.clear_edges()
    session.put_edges(_edges(rows, judged))
    naming = name_clusters(session, _groups(rows, outcome), {r.number: r for r in fresh}, now())
    naming.apply(session)
    if bounds.keep is not None:
        _put_kept(session, rows, outcome, naming)
    if assigner(method) is not None:
        rebuild_state(method, session)
    return Rechecked(len(rows), judged.left.size, len(naming.clusters))


def _stored_features(method: Method, session: Session, rows: list[PageRow], run: Run) -> Prior:
    """The stored features, for a store without the text to compute new ones."""
    stored = stored_batches(session, "features", rows, method.row_schema)
    batches = (batch for _, batch in stored)
    return Prior(features=kept_features("read", batches, method, np.arange(len(rows)), run))


def _within(judged: Judged, rows: list[PageRow], window: int) -> Judged:
    """The pairs of pages that were last added within the window of each other."""
    seen = {page: row.seen for page, row in enumerate(rows)}
    near = are_near_in_time(seen, judged.left, judged.right, window)
    return replace(
        judged,
        left=judged.left[near],
        right=judged.right[near],
        relations=judged.relations[near],
        similarities=judged.similarities[near],
    )


def _put_kept(session: Session, rows: list[PageRow], outcome: Outcome, naming: Naming) -> None:
    """Write which page stands for each cluster: the one that a batch run keeps."""
    kept = [rows[page] for page in np.unique(outcome.kept).tolist()]
    placed = [row._replace(cluster=naming.clusters.get(row.number, row.cluster)) for row in kept]
    for start in range(0, len(placed), PAGES_AT_ONCE):
        some = placed[start : start + PAGES_AT_ONCE]
        put_kept(session, session.clusters([row.cluster for row in some]), some, naming.at)


def _groups(rows: list[PageRow], outcome: Outcome) -> list[list[int]]:
    """The pages of each cluster by number, in order of arrival."""
    groups: dict[int, list[int]] = {}
    for row, label in zip(rows, outcome.labels.tolist(), strict=True):
        groups.setdefault(label, []).append(row.number)
    return [sorted(group) for group in groups.values()]


def _edges(rows: list[PageRow], judged: Judged) -> list[Edge]:
    """The judged pairs that have something in common, by page number."""
    edges = []
    rejected = {str(relation) for relation in REJECTED}
    columns = judged.left, judged.right, judged.relations, judged.similarities
    for left, right, relation, similarity in zip(*(c.tolist() for c in columns), strict=True):
        if relation in rejected:
            continue
        measured = None if similarity != similarity else similarity  # noqa: PLR0124 - not a number
        edges.append(Edge.between(rows[left].number, rows[right].number, relation, measured))
    return edges


def _write_features(
    method: Method,
    session: Session,
    rows: list[PageRow],
    features: Features,
    *,
    keep_text: bool,
) -> list[PageRow]:
    """Write new features and keys; returns the updated rows."""
    session.clear_keys()
    fresh = list(rows)
    for pages, batch in features.each():
        numbers = np.array([rows[page].number for page in pages.tolist()], np.int64)
        packed = pack_features(method, batch, range(batch.num_rows), with_text=keep_text)
        session.replace_content("features", list(zip(numbers.tolist(), packed, strict=True)))
        session.put_keys(keys_of(method, batch, numbers).entries())
        sisters, decidable = host_groups(method, batch), method.decidable(batch).to_pylist()
        for page, sister, enough in zip(pages.tolist(), sisters, decidable, strict=True):
            fresh[page] = rows[page]._replace(sister=sister, decidable=enough)
        session.update_pages(zip(sisters, decidable, numbers.tolist(), strict=True))
    return fresh


def _keep_survey(session: Session, counts: Parts, pages: int) -> None:
    session.replace_content("surveys", [(sites.ALL, compress(add_counts(counts.each())))])
    session.keep_setting(sites.SURVEYED, str(pages))
