"""The survey: what a method counts over all pages, added up.

There are many more counts than pages. So they travel packed: a row holds all keys of a bucket (keys
with the same first bits) and their counts as byte strings. Spark moves few large rows, and adding
up is the local engine's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.engines.featuring import add_up, survey_from
from neardup.engines.spark.columns import carried_schema, from_spark, spark_schema, to_spark
from neardup.engines.spark.groups import whole_groups
from neardup.engines.spark.storage import Work
from neardup.methods.base import Survey, Surveys
from neardup.schemas import COUNTS, PAGES

BUCKET_BITS = 12
COUNTS_AT_ONCE = 2_000_000  # that a task holds before it packs them
PACKED = pa.schema([("bucket", pa.int32()), ("keys", pa.binary()), ("counts", pa.binary())])
COUNTED = carried_schema(COUNTS)

Batches = Iterable[pa.RecordBatch]


def survey_pages(
    method: Surveys, pages: DataFrame, work: Work, earlier: DataFrame | None
) -> DataFrame:
    """`PACKED`: the counts of all pages, each bucket once; `earlier` are added to them."""

    def survey(batches: Batches) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        for batch in batches:
            held.append(method.survey(pages_of(batch)))
            if sum(each.num_rows for each in held) > COUNTS_AT_ONCE:
                yield packed(add_up(held))
                held = []
        yield packed(add_up(held))

    counted = pages.mapInArrow(survey, spark_schema(PACKED))
    if earlier is not None:
        counted = counted.unionByName(earlier)
    by_bucket = counted.repartition("bucket").sortWithinPartitions("bucket")
    added = by_bucket.mapInArrow(_add_buckets, spark_schema(PACKED))
    return work.keep(added, "result/remembered/survey")


def pages_of(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The pages of a batch that comes from Spark."""
    return from_spark(batch.select(PAGES.names), PAGES)


def _add_buckets(batches: Batches) -> Iterator[pa.RecordBatch]:
    for table in whole_groups(batches, ["bucket"], 1):
        yield packed(add_up([unpacked(table)]))


def counted_more_than_once(counts: DataFrame) -> DataFrame:
    """`PACKED` without the counts of 1, which nobody asks for."""

    def several(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            counted = unpacked(pa.Table.from_batches([batch]))
            yield packed(add_up([counted.filter(pa.array(counted["count"].to_numpy() > 1))]))

    return counts.mapInArrow(several, spark_schema(PACKED))


def number_of_counts(counts: DataFrame) -> int:
    """How many keys there are."""
    told = counts.agg(f.sum(f.octet_length("keys")).alias("bytes")).first()
    return int((told["bytes"] if told else None) or 0) // 8


def whole_survey(counts: DataFrame, pages: int) -> Survey:
    """All counts in one place: for few of them."""
    return survey_from(pages, [add_up([unpacked(counts.toArrow())])])


def as_rows(counts: DataFrame) -> DataFrame:
    """key and count, a row each."""

    def rows(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield to_spark(unpacked(pa.Table.from_batches([batch])))

    return counts.mapInArrow(rows, spark_schema(COUNTED))


def packed(counts: pa.RecordBatch) -> pa.RecordBatch:
    """Counts in the order of their keys, bucket by bucket."""
    keys, count = counts["key"].to_numpy(), counts["count"].to_numpy()
    bucket = (keys >> np.uint64(64 - BUCKET_BITS)).astype(np.int32)
    starts = np.flatnonzero(np.diff(bucket, prepend=-1))
    places = np.append(starts, keys.size)
    return pa.record_batch(
        [bucket[starts], _bytes(keys, places), _bytes(count, places)], schema=PACKED
    )


def _bytes(
    numbers: NDArray[np.uint64] | NDArray[np.int64], places: NDArray[np.int64]
) -> pa.BinaryArray:
    offsets = pa.py_buffer((places * 8).astype(np.int32))
    data = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(pa.binary(), places.size - 1, [None, offsets, data])


def unpacked(table: pa.Table) -> pa.RecordBatch:
    """Counts of several rows; a key may come more than once."""
    keys, counts = (b"".join(table[name].to_pylist()) for name in ("keys", "counts"))
    columns = [np.frombuffer(keys, np.uint64), np.frombuffer(counts, np.int64)]
    return pa.record_batch(columns, schema=COUNTS)
