"""Revisit records of WARC archives that repeat a page of another archive.

A task reads one archive and resolves what it can there. For the rest the archives are read again:
once for the keys of all records, which are joined with the keys that revisits are looking for, and
once more, those archives only that hold something looked for. Of several records that fit, the
first by archive and record is taken, as on one machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.engines.spark.columns import spark_schema
from neardup.engines.spark.records import RECORDS, as_records, placed
from neardup.engines.spark.storage import Work
from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages import Limits
from neardup.pages.archive import Record, records
from neardup.pages.inputs import resumes
from neardup.pages.places import place_of
from neardup.pages.revisits import Revisit, own_keys, target_of, wanted_keys
from neardup.pages.unpack import chunks
from neardup.pages.warc import WarcReader

FIRST_PLACE = 1 << 61  # of records that are found here, beyond those of the first reading
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

Step = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def with_repeated_pages(
    parsed: DataFrame, archives: DataFrame, limits: Limits, work: Work
) -> DataFrame:
    """The records, with a page in place of every revisit whose page is in another archive."""
    unresolved = f.coalesce(f.col("reason"), f.lit("")) == str(SkipReason.UNRESOLVED_REVISIT)
    open_ones = parsed.where(unresolved)
    if open_ones.isEmpty():
        return parsed
    keys = archives.select("path").mapInArrow(_keys(limits), spark_schema(KEYS))
    found = work.keep(_found(open_ones, work.keep(keys, "revisit-keys")), "revisits")
    waiting = f.collect_list(f.struct("source", "record", "url", "date", "keys")).alias("waiting")
    by_archive = found.groupBy(f.col("owner.source").alias("path")).agg(waiting)
    repeated = by_archive.mapInArrow(_repeated(limits), spark_schema(RECORDS))
    still_open = open_ones.join(found, ["source", "record"], "left_anti")
    others = parsed.where(~unresolved).unionByName(still_open)
    return others.unionByName(work.keep(repeated, "repeated"))


def _keys(limits: Limits) -> Step:
    """The keys of all records of archives: their own, or those of what they repeat."""

    def keys(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path in batch["path"].to_pylist():
                yield pa.RecordBatch.from_pylist(list(_keys_of_archive(path, limits)), KEYS)

    return keys


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


def _found(open_ones: DataFrame, keys: DataFrame) -> DataFrame:
    """The revisits whose page is somewhere, with the first record that is it."""
    place = f.struct("source", "record")
    first = keys.where("not wanted").groupBy("key").agg(f.min(place).alias("owner"))
    wanted = keys.where("wanted").join(open_ones, ["source", "record"], "left_semi")
    return (
        wanted.join(first, "key")
        .groupBy("source", "record", "url", "date")
        .agg(f.min("owner").alias("owner"), f.collect_set("key").alias("keys"))
    )


def _repeated(limits: Limits) -> Step:
    """The pages of archives that revisits repeat, each in place of its revisit."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return placed(as_records(_pages(batches, limits)), FIRST_PLACE)

    return read


def _pages(batches: Iterable[pa.RecordBatch], limits: Limits) -> Iterator[RawPage | Skip]:
    for batch in batches:
        for row in batch.to_pylist():
            reader = WarcReader(limits)
            for each in row["waiting"]:
                source = Source(each["source"], each["record"])
                reader.revisits.add(Revisit(source, each["url"], each["date"], b""), each["keys"])
            with place_of(row["path"]).open(row["path"]) as stream:
                yield from reader.resolve(chunks(stream, resumes))
