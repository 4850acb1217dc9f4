"""The first step: every record of the inputs, parsed, in the work directory.

Files are distributed over tasks; large ones are cut where their format allows it. Tasks use
neardup's own readers, which open local paths and those of fsspec, and hold one batch at a time.
Files that only Hadoop can open (`HADOOP`) are fetched by Spark and passed to the same readers. The
reasons are in docs/decisions/0010-spark.md.
"""

from __future__ import annotations

import io
import json
import os
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import reduce
from itertools import accumulate, chain
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.errors import InputError, NeardupError
from neardup.model import RawPage, Skip
from neardup.pages import Limits
from neardup.pages.fields import TableRow
from neardup.pages.formats import FORMATS, format_of_name
from neardup.pages.inputs import IGNORED, File, LocalPlace, find_files
from neardup.pages.ranges import Range, count_records, cut_archive, read_range, split_file
from neardup.pages.raw import Block, gathered
from neardup.pages.readers import Reading
from neardup.pages.writers import writer_for
from neardup.spark.columns import spark_schema, total_bytes
from neardup.spark.records import MOST_TASKS, RECORDS, as_records, placed, with_repeated_pages
from neardup.spark.work import Work
from neardup.text.charset import to_utf8

# Schemes that Spark reads and fsspec does not, or only with more set-up than a package.
HADOOP = ("hdfs", "viewfs", "s3a", "s3n", "abfs", "abfss", "wasb", "wasbs", "dbfs", "file")
RANGE_BYTES = 32_000_000  # of a range of a file that is cut
CUT_HERE = 256  # files that the driver cuts itself; of more, each is a task
ARCHIVE_BYTES = 16_000_000  # of a range of an archive
TASKS_A_CORE = 2  # with fewer, archives are cut
RECORD_COUNTS = pa.schema([("path", pa.string()), ("start", pa.int64()), ("records", pa.int64())])
FILES_OF_A_TASK = 128  # files of one page each


def parse_inputs(inputs: Sequence[str], limits: Limits, work: Work) -> DataFrame:
    """Every record of `inputs` (`RECORDS`), in the work directory."""
    ours = [each for each in inputs if not is_hadoop(each)]
    if "-" in ours:
        raise InputError("the Spark engine reads files; standard input is for the local engine")
    parsed = [_fetched(each, limits, work) for each in inputs if is_hadoop(each)]
    files = list(find_files(ours)) if ours else []
    if files:
        parsed.append(
            _read_by_tasks(_with_cut_archives(ranges_of(files), limits, work), limits, work)
        )
    records = work.keep(reduce(DataFrame.unionByName, parsed), "records")
    archives = [each.path for each in files if each.format == "archive"]
    return with_repeated_pages(records, archives, limits, work) if archives else records


def is_hadoop(path: str) -> bool:
    """Whether only Spark can open a path."""
    scheme, colon, _ = path.partition(":")
    return bool(colon) and scheme in HADOOP


def bytes_here(inputs: Sequence[str]) -> int:
    """Bytes of the input files on this machine; reading them will say what is wrong with them."""
    here = [each for each in inputs if "://" not in each and each != "-" and not is_hadoop(each)]
    with suppress(NeardupError, OSError):
        return sum(os.stat(each.path).st_size for each in find_files(here))  # noqa: PTH116
    return 0


def ranges_of(files: Sequence[File]) -> list[list[Range]]:
    """The files and ranges of files that each task reads, in the order of reading."""
    one_page = {name for name, each in FORMATS.items() if each.is_one_page}
    tasks: list[list[Range]] = []
    small: list[Range] = []
    for file in files:
        if file.format == IGNORED or file.format in one_page:
            small.append(Range.of(file))
            continue
        cut = split_file(file, RANGE_BYTES) if len(files) <= CUT_HERE else None
        tasks += [[each] for each in cut or [Range.of(file)]]
    tasks += [
        small[start : start + FILES_OF_A_TASK] for start in range(0, len(small), FILES_OF_A_TASK)
    ]
    step = max(1, -(-len(tasks) // MOST_TASKS))
    starts = range(0, len(tasks), step)
    return [[*chain.from_iterable(tasks[start : start + step])] for start in starts]


def _with_cut_archives(
    tasks: Sequence[Sequence[Range]], limits: Limits, work: Work
) -> list[list[Range]]:
    """The tasks, with archives cut between gzip members where there are few tasks for all cores.

    Tasks count the records of each range, since a record has its number in the whole archive. An
    archive that does not come apart into whole records is read by one task.
    """
    cut: dict[str, list[Range]] = {}
    if len(tasks) < TASKS_A_CORE * work.cores:
        for part in chain.from_iterable(tasks):
            if part.format == "archive":
                with suppress(OSError):  # reading it will say what is wrong
                    cut[part.path] = cut_archive(part.file, ARCHIVE_BYTES)
    ranges = [part for parts in cut.values() if len(parts) > 1 for part in parts]
    counts = _record_counts(ranges, limits, work) if ranges else {}
    cut_tasks: list[list[Range]] = []
    for task in tasks:
        parts = cut.get(task[0].path, [])
        numbers = [counts.get((part.path, part.start)) for part in parts]
        if None in numbers or len(parts) <= 1:
            cut_tasks.append([*task])
            continue
        firsts = accumulate((number or 0 for number in numbers), initial=0)
        numbered = zip(parts, firsts, strict=False)
        cut_tasks += [[replace(part, first=first)] for part, first in numbered]
    return cut_tasks


def _record_counts(
    ranges: Sequence[Range], limits: Limits, work: Work
) -> dict[tuple[str, int], int | None]:
    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in ranges_in(batches):
            row = [part.path], [part.start], [count_records(part, limits)]
            yield pa.record_batch([*row], schema=RECORD_COUNTS)

    counted = a_task_each([[part] for part in ranges], work)
    rows = counted.mapInArrow(count, spark_schema(RECORD_COUNTS)).collect()
    return {(row["path"], row["start"]): row["records"] for row in rows}


def _read_by_tasks(tasks: Sequence[Sequence[Range]], limits: Limits, work: Work) -> DataFrame:
    # A file that cannot be cut still uses all cores of the machine that reads it.
    threads = max(1, work.cores // len(tasks))

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return placed(as_records(blocks_of([*ranges_in(batches)], limits), threads))

    return a_task_each(tasks, work).mapInArrow(read, spark_schema(RECORDS))


def a_task_each(tasks: Sequence[Sequence[Range]], work: Work) -> DataFrame:
    """`ranges`: what each task reads, as JSON, one row in each partition.

    By range, because what goes round in turn starts anywhere: some tasks would get two rows.
    """
    rows = [(nth, json.dumps([asdict(each) for each in task])) for nth, task in enumerate(tasks)]
    frame = work.spark.createDataFrame(rows, "task long, ranges string")
    each = frame.repartitionByRange(len(tasks), "task") if len(tasks) > 1 else frame.coalesce(1)
    return each.select("ranges")


def ranges_in(batches: Iterable[pa.RecordBatch]) -> Iterator[Range]:
    for batch in batches:
        for packed in batch["ranges"].to_pylist():
            yield from (Range(**each) for each in json.loads(packed))


def blocks_of(ranges: Sequence[Range], limits: Limits) -> Iterator[Block]:
    """The records of some ranges and files, with the revisits that an archive resolves itself."""
    for part in ranges:
        if part.end:
            yield from read_range(part, limits)
    reading = Reading(limits, keep_original=False)
    yield from chain.from_iterable(reading.sources(each.file for each in ranges if not each.end))
    yield from reading.last_source()


def _fetched(path: str, limits: Limits, work: Work) -> DataFrame:
    """The records of files that Spark opens; each file must fit in memory."""
    source = work.spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    root = path.rstrip("/").partition(":")[2].lstrip("/") + "/"

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return placed(as_records(gathered(_fetched_records(batches, root, limits))))

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


# Kept pages, written again

RAW_PAGES = pa.schema([("file", pa.int64()), ("nth", pa.int64()), ("page", pa.binary())])
KEPT_BYTES = 32_000_000  # of the pages that pass through the driver at once, about


def write_kept(
    path: Path, inputs: Sequence[str], limits: Limits, kept: DataFrame, work: Work
) -> None:
    """Write the kept pages (`source`, `record`, `id`) to one file, in the order of reading.

    Tasks read the inputs again, a file each, and pick the kept pages; the driver writes them.
    """
    rows = [
        (number, each.source, json.dumps(asdict(Range.of(each))))
        for number, each in enumerate(find_files(inputs))
    ]
    files = work.spark.createDataFrame(rows, "file long, source string, range string")
    wanted = kept.groupBy("source").agg(f.collect_list(f.struct("record", "id")).alias("pages"))
    tasks = files.join(wanted, "source").select("file", "range", "pages")

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                ids = {each["record"]: each["id"] for each in row["pages"]}
                file = Range(**json.loads(row["range"])).file
                yield from _kept_of(row["file"], file, ids, limits)

    picked = tasks.repartition(min(len(rows), MOST_TASKS), "file").mapInArrow(
        read, spark_schema(RAW_PAGES)
    )
    picked = work.keep(picked, "kept-pages")
    parts = 1 + total_bytes(picked, "page") // KEPT_BYTES
    in_order = picked.repartitionByRange(parts, "file", "nth").sortWithinPartitions("file", "nth")
    with work.stages("keep") as stage, writer_for(path) as writer:
        for packed in in_order.select("page").toLocalIterator():
            raw = pickle.loads(packed["page"])
            writer.write(raw, to_utf8(raw.body, raw.charset)[0].decode())
            stage.advance(1, len(raw.body))


def _kept_of(
    number: int, file: File, ids: Mapping[int, str], limits: Limits
) -> Iterator[pa.RecordBatch]:
    """The kept pages of a file, one in a batch: a page may be large."""
    records = Reading(limits, keep_original=True).read([file])
    pages = (each for each in records if isinstance(each, RawPage) and each.source.record in ids)
    for nth, raw in enumerate(pages):
        original = raw.original
        if isinstance(original, TableRow):  # without the rows around it
            original = TableRow(original.batch.slice(original.row, 1), 0)
        page = pickle.dumps(replace(raw, id=ids[raw.source.record], original=original))
        yield pa.record_batch([[number], [nth], [page]], schema=RAW_PAGES)
