"""A store as files: every page with its cluster, the judged pairs, and the kept pages.

Everything is read in one transaction, a few thousand rows at a time, and written beside its
destination, which appears when all is complete.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

from neardup.arrays import decompress
from neardup.errors import OutputError, unknown
from neardup.index.answers import cluster_name
from neardup.index.features import stored_features
from neardup.local.result import CLUSTERS, json_lines, make_empty, put_in_place, writing
from neardup.methods.base import Method
from neardup.model import Relation
from neardup.schemas import PAGES, TIME
from neardup.stores.records import Edge, PageRow
from neardup.stores.session import Session

ROWS_AT_ONCE = 1_000

PAIRS = pa.schema(
    [
        pa.field("a", pa.string(), nullable=False),
        pa.field("b", pa.string(), nullable=False),
        pa.field("relation", pa.string(), nullable=False),  # of a to b
        pa.field("similarity", pa.float64()),
    ]
)
KEPT = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("url", pa.string(), nullable=False),
        pa.field("cluster", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),  # pages of the cluster
        pa.field("title", pa.string(), nullable=False),
        pa.field("time", TIME),
        pa.field("text", pa.string()),  # null if texts are not kept
    ]
)


def write_export(method: Method, session: Session, out: Path, format: str) -> dict[str, int]:  # noqa: A002
    """Write the files of an export to the directory `out`; returns the rows of each."""
    writer = FORMATS.get(format)
    if writer is None:
        raise unknown("format", format, FORMATS)
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise OutputError(f"{out} exists and is not an empty folder; choose another --out")
    tables = {
        "clusters": (CLUSTERS, _clusters(method, session)),
        "pairs": (PAIRS, _pairs(session)),
        "kept": (KEPT, _kept(session)),
    }
    unfinished = out.absolute().with_name(f".{out.absolute().name}.unfinished")
    with writing(out):
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        try:
            make_empty(unfinished)
            counts = {
                name: writer(unfinished / f"{name}.{format}", schema, batches)
                for name, (schema, batches) in tables.items()
            }
            put_in_place(unfinished, out)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return counts


def _kept_numbers(session: Session, clusters: Sequence[int]) -> dict[int, int]:
    """The page that stands for each cluster."""
    chosen = {row.cluster: row.kept for row in session.clusters(clusters) if row.kept is not None}
    return session.firsts_of(clusters) | chosen


def _page_batches(session: Session) -> Iterator[list[PageRow]]:
    after = 0
    while rows := session.pages_after(after, ROWS_AT_ONCE):
        yield rows
        after = rows[-1].number


def _clusters(method: Method, session: Session) -> Iterator[pa.RecordBatch]:
    """Every page in order of arrival, with its relation to the page that stands for its cluster."""
    for rows in _page_batches(session):
        clusters = sorted({row.cluster for row in rows})
        kept_of = _kept_numbers(session, clusters)
        kept = session.pages(sorted(set(kept_of.values())))
        pairs = {
            row.number: kept_of[row.cluster] for row in rows if row.number != kept_of[row.cluster]
        }
        relations = _relations(method, session, pairs)
        sizes = {row.cluster: row.size for row in session.clusters(clusters)}
        yield pa.RecordBatch.from_pylist(
            [_page(row, kept[kept_of[row.cluster]], sizes, relations) for row in rows], CLUSTERS
        )


def _page(
    row: PageRow,
    kept: PageRow,
    sizes: dict[int, int],
    relations: dict[int, tuple[str, float | None]],
) -> dict[str, object]:
    relation, similarity = relations.get(row.number, (None, None))
    if sizes[row.cluster] == 1 and not row.decidable:
        relation = str(Relation.UNDECIDED)
    is_kept = row.number == kept.number
    return {
        "id": row.id,
        "url": row.url,
        "cluster": cluster_name(row.cluster),
        "kept": is_kept,
        "duplicate_of": None if is_kept else kept.id,
        "similarity": similarity,
        "relation": relation,
    }


def _relations(
    method: Method, session: Session, kept_of: dict[int, int]
) -> dict[int, tuple[str, float | None]]:
    """The relation of pages to the page kept for them: as stored, or judged."""
    relations: dict[int, tuple[str, float | None]] = {}
    for edge in session.edges(sorted(kept_of)):
        for page, other in ((edge.a, edge.b), (edge.b, edge.a)):
            if kept_of.get(page) == other:
                relation = Relation(edge.relation)
                from_page = relation if page == edge.a else relation.reverse
                relations[page] = str(from_page), edge.similarity
    if unknown_ := sorted(kept_of.keys() - relations.keys()):
        judged = stored_features(method, session).relations(
            unknown_, [kept_of[page] for page in unknown_]
        )
        relations |= zip(unknown_, judged, strict=True)
    return relations


def _pairs(session: Session) -> Iterator[pa.RecordBatch]:
    """The judged pairs that have something in common, by the arrival of their first page."""
    sql = (
        "SELECT a, b, relation, similarity FROM edges WHERE a > ? OR (a = ? AND b > ?) "
        "ORDER BY a, b LIMIT ?"
    )
    last = (0, 0)
    while rows := session.select(sql, last[0], last[0], last[1], ROWS_AT_ONCE):
        edges = [Edge._make(row) for row in rows]
        pages = session.pages(sorted({end for edge in edges for end in (edge.a, edge.b)}))
        columns = [
            [pages[edge.a].id for edge in edges],
            [pages[edge.b].id for edge in edges],
            [edge.relation for edge in edges],
            [edge.similarity for edge in edges],
        ]
        yield pa.record_batch(
            [pa.array(column, field.type) for column, field in zip(columns, PAIRS, strict=True)],
            schema=PAIRS,
        )
        last = edges[-1].a, edges[-1].b


def _kept(session: Session) -> Iterator[pa.RecordBatch]:
    """The kept pages in order of arrival, with their text."""
    for rows in _page_batches(session):
        clusters = sorted({row.cluster for row in rows})
        kept_of = _kept_numbers(session, clusters)
        sizes = {row.cluster: row.size for row in session.clusters(clusters)}
        kept = [row for row in rows if kept_of[row.cluster] == row.number]
        packed = session.content("texts", [row.number for row in kept])
        texts = dict(
            zip(packed, decompress(PAGES, list(packed.values()))["text"].to_pylist(), strict=True)
        )
        columns = [
            [row.id for row in kept],
            [row.url for row in kept],
            [cluster_name(row.cluster) for row in kept],
            [sizes[row.cluster] for row in kept],
            [row.title for row in kept],
            pa.array([row.time for row in kept], pa.int64()).cast(KEPT.field("time").type),
            [texts.get(row.number) for row in kept],
        ]
        yield pa.record_batch(
            [pa.array(column, field.type) for column, field in zip(columns, KEPT, strict=True)],
            schema=KEPT,
        )


def _write_lines(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    rows = 0
    with path.open("wb") as file:
        for batch in batches:
            file.writelines(json_lines(_with_times_as_text(batch)))
            rows += batch.num_rows
    return rows


def _with_times_as_text(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Times as JSON has them."""
    for place, field in enumerate(batch.schema):
        if pa.types.is_timestamp(field.type):
            times = [time and time.isoformat() for time in batch.column(place).to_pylist()]
            batch = batch.set_column(place, field.name, pa.array(times, pa.string()))
    return batch


def _write_parquet(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    return _write_batches(pq.ParquetWriter(path, schema, compression="zstd"), batches)


def _write_csv(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    return _write_batches(pc_csv.CSVWriter(path, schema), batches)


def _write_batches(
    opened: pq.ParquetWriter | pc_csv.CSVWriter, batches: Iterable[pa.RecordBatch]
) -> int:
    rows = 0
    with closing(opened) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


Writer = Callable[[Path, pa.Schema, Iterable[pa.RecordBatch]], int]
FORMATS: dict[str, Writer] = {"jsonl": _write_lines, "parquet": _write_parquet, "csv": _write_csv}
