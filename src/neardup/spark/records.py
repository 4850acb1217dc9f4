"""Pages and skips as rows of Spark, including revisits of pages in other archives.

A task reads one WARC archive and resolves what it can there. For the other revisit records the
archives are read again: once for the keys of all records, which are joined with the keys that
revisits need, and once more for the archives that contain one of these. Of several matching records
the first by archive and record is used, as on one machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.local.corpus import IDENTITY, SPILLED, with_derived
from neardup.local.exchange import carried_schema, packed_rows, to_spark
from neardup.local.run import ordered_map
from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages import Limits
from neardup.pages.archive import Record, records, target_of
from neardup.pages.inputs import place_of, resumes
from neardup.pages.raw import Block, gathered
from neardup.pages.streams import chunks
from neardup.pages.warc import Revisit, WarcReader, own_keys, wanted_keys
from neardup.schemas import DESCRIPTION, PAGES
from neardup.spark.columns import bounded, spark_schema
from neardup.spark.work import Work
from neardup.text.parse import parse

PLACE_BITS = 33  # of a place, for the row within a task, as Spark numbers rows
CHUNK_BITS = 11  # low bits of a place: at most 2048 pages make a chunk
CHUNK, CHUNK_BYTES = 1 << CHUNK_BITS, 32_000_000  # about

PARSED = pa.schema([*PAGES, DESCRIPTION])
VISIBLE = pa.schema([SPILLED.field(name) for name in IDENTITY])
# A parsed page: what tells it from others, and all of it as a packed row of `PARSED`. Or, with a
# reason, a skipped record.
RECORDS = pa.schema(
    [
        pa.field("place", pa.int64()),
        *carried_schema(VISIBLE),
        pa.field("page", pa.binary()),
        pa.field("reason", pa.string()),
        pa.field("detail", pa.string()),
    ]
)


def as_records(blocks: Iterable[Block], threads: int = 1) -> Iterator[pa.RecordBatch]:
    """`RECORDS`, in batches, with places not set yet; parsed by this many threads."""

    def parsed(block: Block) -> list[pa.RecordBatch]:
        raw = block()
        pages = [*bounded(page_records(raw.pages))] if raw.pages.num_rows else []
        return [*pages, _skip_records(raw.skips)] if raw.skips else pages

    for batches in ordered_map(parsed, blocks, threads):
        yield from batches


def page_records(raw: pa.RecordBatch) -> pa.RecordBatch:
    """`RECORDS` of raw pages."""
    pages = parse(raw, columns=PARSED.names)
    visible = with_derived(pages, raw["time"].is_valid()).select(IDENTITY)
    places, none = np.zeros(pages.num_rows, np.int64), pa.nulls(pages.num_rows, pa.string())
    columns = [places, *to_spark(visible).columns, packed_rows(pages), none, none]
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


def placed(batches: Iterable[pa.RecordBatch], first: int = 0) -> Iterator[pa.RecordBatch]:
    """The records, each with a unique place: the number of its task, then its row.

    A row whose batch would make a chunk of pages (`CHUNK` places) too large begins another.
    """
    context = TaskContext.get()
    assert context is not None
    place = first + (context.partitionId() << PLACE_BITS)
    room = CHUNK_BYTES
    for batch in batches:
        if batch.nbytes > room:
            place, room = -(-place // CHUNK) * CHUNK, CHUNK_BYTES
        room -= batch.nbytes
        places = pa.array(np.arange(place, place + batch.num_rows))
        place += batch.num_rows
        yield batch.set_column(0, RECORDS.field("place"), places)


MOST_TASKS = 10_000
FIRST_PLACE = 1 << 61  # of revisited pages, beyond the places of the first pass
KEYS = pa.schema(
    [
        ("key", pa.binary()),
        ("source", pa.string()),
        ("record", pa.int64()),
        ("wanted", pa.bool_()),
        ("url", pa.string()),
        ("date", pa.string()),
    ]
)


def with_repeated_pages(
    parsed: DataFrame, archives: Sequence[str], limits: Limits, work: Work
) -> DataFrame:
    """The records, with a page in place of every revisit whose page is in another archive."""
    unresolved = f.coalesce(f.col("reason"), f.lit("")) == str(SkipReason.UNRESOLVED_REVISIT)
    open_ones = parsed.where(unresolved)
    if open_ones.isEmpty():
        return parsed
    paths = work.spark.createDataFrame([(path,) for path in archives], "path string")
    tasks = min(len(archives), MOST_TASKS)
    keys = paths.repartition(tasks).mapInArrow(
        lambda batches: _keys(batches, limits), spark_schema(KEYS)
    )
    revisits = work.keep(_resolved(open_ones, work.keep(keys, "revisit-keys")), "revisits")
    waiting = f.collect_list(f.struct("source", "record", "url", "date", "keys")).alias("waiting")
    by_archive = revisits.groupBy(f.col("owner.source").alias("path")).agg(waiting)
    repeated = by_archive.mapInArrow(
        lambda batches: placed(as_records(gathered(_repeated(batches, limits))), FIRST_PLACE),
        spark_schema(RECORDS),
    )
    still_open = open_ones.join(revisits, ["source", "record"], "left_anti")
    others = parsed.where(~unresolved).unionByName(still_open)
    return others.unionByName(work.keep(repeated, "repeated"))


def _keys(batches: Iterable[pa.RecordBatch], limits: Limits) -> Iterator[pa.RecordBatch]:
    """The keys of all records of archives: their own, or those of what they repeat."""
    for batch in batches:
        for path in batch["path"].to_pylist():
            yield pa.RecordBatch.from_pylist(list(_keys_of_archive(path, limits)), KEYS)


def _keys_of_archive(path: str, limits: Limits) -> Iterator[dict[str, object]]:
    with place_of(path).open(path) as stream:
        for item in records(chunks(stream, resumes), limits):
            if not isinstance(item, Record) or item.type not in ("revisit", "response", "resource"):
                continue
            wanted = item.type == "revisit"
            about = {
                "source": path,
                "record": item.number,
                "wanted": wanted,
                "url": target_of(item.headers),
                "date": item.headers.get("warc-date", ""),
            }
            for key in (wanted_keys if wanted else own_keys)(item.headers):
                yield {"key": key, **about}


def _resolved(open_ones: DataFrame, keys: DataFrame) -> DataFrame:
    """The revisits whose page is in the inputs, with the first record of that page."""
    place = f.struct("source", "record")
    first = keys.where("not wanted").groupBy("key").agg(f.min(place).alias("owner"))
    wanted = keys.where("wanted").join(open_ones, ["source", "record"], "left_semi")
    return (
        wanted.join(first, "key")
        .groupBy("source", "record", "url", "date")
        .agg(f.min("owner").alias("owner"), f.collect_set("key").alias("keys"))
    )


def _repeated(batches: Iterable[pa.RecordBatch], limits: Limits) -> Iterator[RawPage | Skip]:
    """The pages that revisits repeat, each in place of its revisit."""
    for batch in batches:
        for row in batch.to_pylist():
            reader = WarcReader(limits)
            for each in row["waiting"]:
                source = Source(each["source"], each["record"])
                reader.revisits.add(Revisit(source, each["url"], each["date"], b""), each["keys"])
            with place_of(row["path"]).open(row["path"]) as stream:
                yield from reader.resolve(chunks(stream, resumes))
