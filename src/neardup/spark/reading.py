"""The first step: every record of the inputs, parsed, in the work directory.

Files are distributed over tasks; Parquet files are split by row groups. Tasks use neardup's own
readers, which open local paths and those of fsspec, and hold one batch at a time. Files that only
Hadoop can open (`HADOOP`) are fetched by Spark and passed to the same readers. The reasons are in
docs/decisions/0010-spark.md.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import reduce
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.errors import InputError
from neardup.model import RawPage, Skip
from neardup.pages import Limits
from neardup.pages.formats import FORMATS, format_of_name
from neardup.pages.inputs import IGNORED, File, LocalPlace, find_files, place_of
from neardup.pages.parquet import read_parquet
from neardup.pages.readers import Reading
from neardup.spark.columns import map_batches, spark_schema
from neardup.spark.records import RECORDS, as_records, placed, with_repeated_pages
from neardup.spark.session import Work

# Schemes that Spark reads and fsspec does not, or only with more set-up than a package.
HADOOP = ("hdfs", "viewfs", "s3a", "s3n", "abfs", "abfss", "wasb", "wasbs", "dbfs", "file")
ROWS_OF_A_PIECE = 4096  # minimum rows of a piece of a Parquet file
FILES_OF_A_TASK = 128  # files of one page each
MOST_TASKS = 10_000


@dataclass(frozen=True, slots=True)
class Piece:
    """A file, or some row groups of one; `groups` is 0 for a whole file."""

    path: str
    name: str
    format: str  # empty if only the content can tell
    first_group: int = 0
    groups: int = 0


_NUMBERS = ("first_group", "groups")
PIECES = pa.schema(
    [(each.name, pa.int64() if each.name in _NUMBERS else pa.string()) for each in fields(Piece)]
)


def parse_inputs(inputs: Sequence[str], limits: Limits, work: Work) -> DataFrame:
    """Every record of `inputs` (`RECORDS`), in the work directory."""
    ours = [each for each in inputs if not is_hadoop(each)]
    if "-" in ours:
        raise InputError("the Spark engine reads files; standard input is for the local engine")
    parsed = [_fetched(each, limits, work) for each in inputs if is_hadoop(each)]
    files = _listed(ours, work)
    if ours:
        parsed.append(_read_by_tasks(files, limits, work))
    records = work.keep(reduce(DataFrame.unionByName, parsed), "records")
    archives = files.where(f.col("format") == "archive")
    return with_repeated_pages(records, archives, limits, work)


def is_hadoop(path: str) -> bool:
    """Whether only Spark can open a path."""
    scheme, colon, _ = path.partition(":")
    return bool(colon) and scheme in HADOOP


def _listed(inputs: Sequence[str], work: Work) -> DataFrame:
    files = [Piece(each.path, each.name, each.format or "") for each in find_files(inputs)]
    rows = [tuple(asdict(each).values()) for each in files]
    return work.spark.createDataFrame(rows, spark_schema(PIECES))


def _read_by_tasks(files: DataFrame, limits: Limits, work: Work) -> DataFrame:
    cores = work.spark.sparkContext.defaultParallelism
    pieces = map_batches(files.repartition(4 * cores), _cut, PIECES)
    one_page = [name for name, each in FORMATS.items() if each.is_one_page]
    small = f.col("format").isin(IGNORED, *one_page)
    weight = f.sum(f.when(small, 1 / FILES_OF_A_TASK).otherwise(1)).alias("tasks")
    total = pieces.agg(weight).first()
    tasks = max(1, min(MOST_TASKS, math.ceil(total["tasks"] or 0))) if total else 1

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = (Piece(**row) for batch in batches for row in batch.to_pylist())
        items = (record for piece in found for record in _read_piece(piece, limits))
        return placed(as_records(items))

    return pieces.repartition(tasks).mapInArrow(read, spark_schema(RECORDS))


def _fetched(path: str, limits: Limits, work: Work) -> DataFrame:
    """The records of files that Spark opens; each file must fit in memory."""
    source = work.spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    root = path.rstrip("/").partition(":")[2].lstrip("/") + "/"

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return placed(as_records(_fetched_records(batches, root, limits)))

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
            # As in any directory, only files with a known extension are read
            form = format_of_name(path) or (IGNORED if inside else None)
            file = File(path, name, form, place)
            yield from Reading(limits, keep_original=False).read([file])


class _Held(LocalPlace):
    """One file that is already in memory."""

    def __init__(self, content: pa.Buffer) -> None:
        self._content = content

    def open(self, path: str) -> BinaryIO:
        return io.BytesIO(self._content)


def _cut(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Whole files, and Parquet files in pieces of some row groups."""
    pieces = [piece for row in batch.to_pylist() for piece in _pieces(Piece(**row))]
    return pa.RecordBatch.from_pylist([asdict(piece) for piece in pieces], PIECES)


def _pieces(file: Piece) -> list[Piece]:
    if file.format != "parquet":
        return [file]
    try:
        with place_of(file.path).open(file.path) as stream:
            about = pq.ParquetFile(stream).metadata
            sizes = [about.row_group(group).num_rows for group in range(about.num_row_groups)]
    except (pa.ArrowException, OSError):
        return [file]  # reading it will report the error
    starts = _starts(sizes)
    ends = [*starts[1:], len(sizes)]
    return [
        Piece(file.path, file.name, file.format, start, end - start)
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
        file = File(piece.path, piece.name, piece.format or None, place)
        yield from Reading(limits, keep_original=False).read([file])
        return
    groups = range(piece.first_group, piece.first_group + piece.groups)
    with place.open(piece.path) as stream:
        yield from read_parquet(piece.path, stream, limits, row_groups=groups)
