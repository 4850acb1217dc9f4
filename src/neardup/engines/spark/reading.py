"""The first step: every record of the inputs, parsed, in the work folder.

Files are the work of tasks; a Parquet file is cut by its row groups. Tasks read with our own
readers, which open local paths and what fsspec reaches, and hold one batch at a time. Paths that
only Hadoop knows (`HADOOP`) are fetched by Spark, file by file, and given to the same readers.
Why: docs/decisions/0010-spark.md.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import DataFrame

from neardup.engines.parsing import BYTES_AT_ONCE, PAGES_AT_ONCE
from neardup.engines.spark.columns import carried_schema, spark_schema, to_spark
from neardup.engines.spark.storage import Work
from neardup.errors import InputError
from neardup.model import RawPage, Skip
from neardup.pages import Limits, batches
from neardup.pages.inputs import File, Kind, find_files, kind_of_name
from neardup.pages.parquet import read_parquet
from neardup.pages.places import LocalPlace, place_of
from neardup.pages.reading import Reading
from neardup.schemas import PAGES
from neardup.text.parse import parse

# Schemes that Spark reads and fsspec does not, or not without more than a package.
HADOOP = ("hdfs", "viewfs", "s3a", "s3n", "abfs", "abfss", "wasb", "wasbs", "dbfs", "file")
ROWS_OF_A_PIECE = 4096  # of a Parquet file, at least
PLACE_BITS = 33  # of a place, for the row within a task: as Spark numbers rows

# A parsed page, or with a reason a record that is none.
RECORDS = pa.schema(
    [
        pa.field("place", pa.int64()),
        *carried_schema(PAGES),
        pa.field("length", pa.int64()),
        pa.field("reason", pa.string()),
        pa.field("detail", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A file, or some row groups of one; `groups` is 0 for a whole file."""

    path: str
    name: str
    kind: str
    first_group: int = 0
    groups: int = 0


PIECES = pa.schema(
    [
        ("path", pa.string()),
        ("name", pa.string()),
        ("kind", pa.string()),
        ("first_group", pa.int64()),
        ("groups", pa.int64()),
    ]
)


def parse_inputs(inputs: Sequence[str], limits: Limits, work: Work) -> DataFrame:
    """Every record of `inputs` (`RECORDS`), in the work folder."""
    ours = [each for each in inputs if not is_hadoop(each)]
    if "-" in ours:
        raise InputError("the Spark engine reads files; standard input is for the local engine")
    parsed = [_fetched(each, limits, work) for each in inputs if is_hadoop(each)]
    if ours:
        parsed.append(_read_by_tasks(ours, limits, work))
    records = parsed[0]
    for more in parsed[1:]:
        records = records.unionByName(more)
    return work.keep(records, "records")


def is_hadoop(path: str) -> bool:
    """Whether Spark has to open it."""
    scheme, colon, _ = path.partition(":")
    return bool(colon) and scheme in HADOOP


def _read_by_tasks(inputs: Sequence[str], limits: Limits, work: Work) -> DataFrame:
    files = [Piece(each.path, each.name, each.kind.name) for each in find_files(inputs)]
    rows = [tuple(asdict(each).values()) for each in files]
    listed = work.spark.createDataFrame(rows, spark_schema(PIECES))
    tasks = min(len(files), 4 * work.spark.sparkContext.defaultParallelism)
    pieces = listed.repartition(tasks).mapInArrow(_cut, listed.schema)
    count = max(1, min(pieces.count(), 10_000))
    schema = spark_schema(RECORDS)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = (Piece(**row) for batch in batches for row in batch.to_pylist())
        return _records(record for piece in found for record in _read_piece(piece, limits))

    def placed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _placed(read(batches))

    return pieces.repartition(count).mapInArrow(placed, schema)


def _fetched(path: str, limits: Limits, work: Work) -> DataFrame:
    """The records of files that Spark opens; each has to fit in memory."""
    source = work.spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    root = path.rstrip("/").partition(":")[2].lstrip("/") + "/"

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _placed(_records(_fetched_records(batches, root, limits)), first=1 << 62)

    return source.load(path).select("path", "content").mapInArrow(read, spark_schema(RECORDS))


def _fetched_records(
    batches: Iterable[pa.RecordBatch], root: str, limits: Limits
) -> Iterator[RawPage | Skip]:
    for batch in batches:
        for row in range(batch.num_rows):
            path = batch["path"][row].as_py()
            _, inside, name = path.partition(root)
            name = name if inside else path.rpartition("/")[2]
            place = _Held(batch["content"][row].as_buffer())
            file = File(path, name, kind_of_name(path), place)
            yield from Reading(limits, keep_original=False).read([file])


class _Held(LocalPlace):
    """One file whose bytes are here already."""

    def __init__(self, content: pa.Buffer) -> None:
        self._content = content

    def open(self, path: str) -> BinaryIO:
        return io.BytesIO(self._content)


def _cut(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Files as they are, but Parquet by some row groups."""
    for batch in batches:
        pieces = [piece for row in batch.to_pylist() for piece in _pieces(Piece(**row))]
        yield pa.RecordBatch.from_pylist([asdict(piece) for piece in pieces], PIECES)


def _pieces(file: Piece) -> list[Piece]:
    if file.kind != Kind.PARQUET.name:
        return [file]
    try:
        with place_of(file.path).open(file.path) as stream:
            about = pq.ParquetFile(stream).metadata
            sizes = [about.row_group(group).num_rows for group in range(about.num_row_groups)]
    except (pa.ArrowException, OSError):
        return [file]  # reading it will tell why it cannot be read
    starts = _starts(sizes)
    ends = [*starts[1:], len(sizes)]
    return [
        Piece(file.path, file.name, file.kind, start, end - start)
        for start, end in zip(starts, ends, strict=True)
    ] or [file]


def _starts(sizes: Sequence[int]) -> list[int]:
    """The first row group of each piece."""
    starts, held = [], ROWS_OF_A_PIECE
    for group, size in enumerate(sizes):
        if held >= ROWS_OF_A_PIECE:
            starts.append(group)
            held = 0
        held += size
    return starts


def _read_piece(piece: Piece, limits: Limits) -> Iterator[RawPage | Skip]:
    place = place_of(piece.path)
    if not piece.groups:
        file = File(piece.path, piece.name, Kind[piece.kind], place)
        yield from Reading(limits, keep_original=False).read([file])
        return
    groups = range(piece.first_group, piece.first_group + piece.groups)
    with place.open(piece.path) as stream:
        yield from read_parquet(piece.path, stream, limits, row_groups=groups)


def _records(items: Iterable[RawPage | Skip]) -> Iterator[pa.RecordBatch]:
    for some in batches(items, PAGES_AT_ONCE, BYTES_AT_ONCE):
        raws = [each for each in some if isinstance(each, RawPage)]
        skips = [each for each in some if isinstance(each, Skip)]
        if raws:
            yield _page_records(parse(raws))
        if skips:
            yield _skip_records(skips)


def _page_records(pages: pa.RecordBatch) -> pa.RecordBatch:
    count = pages.num_rows
    lengths = pc.utf8_length(pages["text"]).cast(pa.int64())
    none = pa.nulls(count, pa.string())
    columns = [np.zeros(count, np.int64), *to_spark(pages).columns, lengths, none, none]
    return pa.record_batch(columns, schema=RECORDS)


def _skip_records(skips: Sequence[Skip]) -> pa.RecordBatch:
    rows = [
        {
            "id": skip.id.encode("utf-8", "replace").decode(),
            "source": skip.source.path.encode("utf-8", "replace").decode(),
            "record": skip.source.record,
            "reason": str(skip.reason),
            "detail": skip.detail,
        }
        for skip in skips
    ]
    return pa.RecordBatch.from_pylist(rows, RECORDS)


def _placed(batches: Iterable[pa.RecordBatch], first: int = 0) -> Iterator[pa.RecordBatch]:
    """The records, each with a number of its own: that of its task, then its row."""
    context = TaskContext.get()
    assert context is not None
    place = first + (context.partitionId() << PLACE_BITS)
    for batch in batches:
        places = pa.array(np.arange(place, place + batch.num_rows))
        place += batch.num_rows
        yield batch.set_column(0, RECORDS.field("place"), places)
