"""Judging everything again, as a batch run over all stored pages would."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from neardup.index import sites
from neardup.index.answers import Rechecked, now
from neardup.index.candidates import REJECTED, keys_of, pack, pack_rows, unpack
from neardup.index.components import said_of
from neardup.index.groups import cluster
from neardup.index.names import name_clusters
from neardup.index.plan import sisters_of
from neardup.index.removal import rebuild_state
from neardup.local.corpus import KEPT_COLUMNS, SPILLED, Spilled, with_lengths
from neardup.local.features import Features, mapped_features
from neardup.local.pipeline import Judged, decide
from neardup.local.run import DEFAULT_MEMORY, Progress, Silent, Stages, default_workers
from neardup.local.survey import SURVEYED, add_up, compute_features
from neardup.local.work import Run
from neardup.methods.base import DecidesInOrder, Method, Surveys
from neardup.model import Relation
from neardup.schemas import COUNTS, PAGES
from neardup.stores.records import Edge, PageRow
from neardup.stores.session import Session
from neardup.stores.store import Store

PAGES_AT_ONCE = 1_000


def recheck(
    method: Method,
    store: Store,
    *,
    keep_text: bool,
    work: str | Path | None,
    progress: Progress | None,
) -> Rechecked:
    """See `Index.recheck`. Other writers wait while it runs: what it judges is what is there."""
    with tempfile.TemporaryDirectory(prefix="neardup-recheck-", dir=work) as folder:
        stages = Stages(progress or Silent())

        def judge_again(session: Session) -> Rechecked:
            attempt = Path(tempfile.mkdtemp(dir=folder))
            run = Run(attempt, DEFAULT_MEMORY, default_workers(), stages)
            return _recheck(method, session, run, keep_text=keep_text)

        return store.write(judge_again)


def _recheck(method: Method, session: Session, run: Run, *, keep_text: bool) -> Rechecked:
    rows = list(session.every_page())
    if not rows:
        return Rechecked(0, 0, 0)
    rows.sort(key=lambda row: row.id.encode())
    if keep_text:
        spilled = _spill(session, rows, run)
        features = compute_features(method, spilled, run)
    else:
        spilled, features = _stored_features(method, session, rows, run)
    judged = decide(method, spilled, features, run)
    edges = _edges(rows, judged)
    rows = _write_features(method, session, rows, features)
    if isinstance(method, Surveys) and method.surveys_all and keep_text:
        _keep_survey(session, run, len(rows))
    session.clear_edges()
    session.put_edges(edges)
    at = now()
    moved = _regroup(method, session, rows, features, edges, at)
    if isinstance(method, DecidesInOrder):
        rebuild_state(method, session)
    return Rechecked(len(rows), judged.left.size, moved)


def _in_batches(rows: list[PageRow]) -> Iterator[list[PageRow]]:
    for start in range(0, len(rows), PAGES_AT_ONCE):
        yield rows[start : start + PAGES_AT_ONCE]


def _spill(session: Session, rows: list[PageRow], run: Run) -> Spilled:
    """The stored texts as the first stage of a batch run leaves them, in the order of ids."""
    parts = run.parts("pages", SPILLED)

    def texts() -> Iterator[pa.RecordBatch]:
        for batch in _in_batches(rows):
            packed = session.content("texts", [row.number for row in batch])
            yield with_lengths(unpack(PAGES, [packed[row.number] for row in batch]))

    with run.stages("read", total=len(rows)) as stage:
        parts.fill(texts(), lambda batch: (batch, 0), 1, stage)
    kept = pa.Table.from_batches([*parts.each([*KEPT_COLUMNS, "length"])])
    numbers = np.split(np.arange(len(rows)), np.cumsum([part.rows for part in parts.listed])[:-1])
    return Spilled(parts, numbers, _ids(rows), kept, [])


def _ids(rows: list[PageRow]) -> pa.Array:
    return pa.array([row.id for row in rows], pa.string())


def _stored_features(
    method: Method, session: Session, rows: list[PageRow], run: Run
) -> tuple[Spilled, Features]:
    """Features as they are, where there is no text to make new ones from."""
    parts = run.parts("features", method.feature_schema, compressed=False)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in _in_batches(rows):
            packed = session.content("features", [row.number for row in batch])
            yield unpack(method.feature_schema, [packed[row.number] for row in batch])

    with run.stages("read", total=len(rows)) as stage:
        parts.fill(batches(), lambda batch: (batch, 0), 1, stage)
    cuts = np.cumsum([part.rows for part in parts.listed])[:-1]
    numbers = np.split(np.arange(len(rows)), cuts)
    paths = [parts.path(part.number) for part in parts.listed]
    features = mapped_features(method.feature_schema, paths, numbers)
    times = pa.array([row.time for row in rows], pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    pages = pa.table({"time": times})
    return Spilled(run.parts("pages", PAGES), [], _ids(rows), pages, []), features


def _edges(rows: list[PageRow], judged: Judged) -> list[Edge]:
    """The judged pairs that have something in common, by page number."""
    edges = []
    rejected = {str(relation) for relation in REJECTED}
    columns = judged.left, judged.right, judged.relations, judged.similarities
    for left, right, relation, similarity in zip(*(c.tolist() for c in columns), strict=True):
        if relation in rejected:
            continue
        a, b = rows[left].number, rows[right].number
        told = relation if a < b else str(Relation(relation).reverse)
        measured = None if similarity != similarity else similarity  # noqa: PLR0124 - not a number
        edges.append(Edge(min(a, b), max(a, b), told, measured))
    return edges


def _write_features(
    method: Method, session: Session, rows: list[PageRow], features: Features
) -> list[PageRow]:
    """New features, keys and what goes by them; gives the rows as they are then."""
    session.clear_keys()
    fresh = list(rows)
    for pages, batch in features.each():
        numbers = np.array([rows[page].number for page in pages.tolist()], np.int64)
        session.replace_content(
            "features", list(zip(numbers.tolist(), pack_rows(batch), strict=True))
        )
        session.put_keys(keys_of(method, batch, numbers).entries())
        sisters, decidable = sisters_of(method, batch), method.decidable(batch).to_pylist()
        for page, sister, enough in zip(pages.tolist(), sisters, decidable, strict=True):
            fresh[page] = rows[page]._replace(sister=sister, decidable=enough)
        session.update_pages(zip(sisters, decidable, numbers.tolist(), strict=True))
    return fresh


def _keep_survey(session: Session, run: Run, pages: int) -> None:
    counted = add_up(run.parts(SURVEYED, COUNTS).each())
    session.replace_content("surveys", [(sites.ALL, pack(counted))])
    session.keep_setting(sites.SURVEYED, str(pages))


def _regroup(
    method: Method,
    session: Session,
    rows: list[PageRow],
    features: Features,
    edges: list[Edge],
    at: int,
) -> int:
    """Cluster all pages anew; gives how many are in another cluster than before."""
    joins = frozenset(str(relation) for relation in method.joins)
    pages = {row.number: row for row in rows}
    place = {row.number: position for position, row in enumerate(rows)}
    said = said_of(session, pages)

    def judge(left: Sequence[int], right: Sequence[int]) -> list[tuple[str, float | None]]:
        sides = [np.array([place[number] for number in side], np.int64) for side in (left, right)]
        verdicts = method.judge(features.take(sides[0]), features.take(sides[1]))
        columns = verdicts["relation"].to_pylist(), verdicts["similarity"].to_pylist()
        return list(zip(*columns, strict=True))

    joining = said.joining(edges, joins)
    groups = cluster(method, pages, joining, judge, joins, said)
    naming = name_clusters(session, groups, pages, at)
    naming.apply(session)
    return len(naming.clusters)
