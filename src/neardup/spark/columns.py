"""Steps over the batches and groups of Spark's rows, in bounded batches.

What the columns hold is in `local.exchange`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from neardup.arrays import Hashes, Mask, Numbers, places_in_runs
from neardup.local.exchange import carried_schema, packed_rows, to_spark, unpacked_rows
from neardup.methods import identical
from neardup.methods.base import Method

Item = TypeVar("Item")

LOWEST = np.uint64(1 << 63)
BATCH_BYTES = 8_000_000  # of rows that pass between Java and Python at once
ROW_COUNTS = 4096  # at most, in a packed row
PACKED = pa.schema([("bucket", pa.int32()), ("keys", pa.binary()), ("counts", pa.binary())])


def spark_schema(schema: pa.Schema) -> StructType:
    """The schema in the types of PySpark."""
    return from_arrow_schema(schema)


def unsigned_order(numbers: Hashes) -> Numbers:
    """Signed numbers in the order of the unsigned ones."""
    return (numbers ^ LOWEST).view(np.int64)


ROWS_AT_ONCE = 500_000  # about
GROUP_BYTES = 64_000_000  # of the rows of several groups that a step gets at once, about


def renamed(rows: DataFrame, **columns: str) -> DataFrame:
    """Some columns under other names: `renamed(pages, left="number")`."""
    return rows.select(*(f.col(old).alias(new) for new, old in columns.items()))


def looked_up(rows: DataFrame, pages: DataFrame, key: str, value: str, **columns: str) -> DataFrame:
    """The rows with further columns from pages: `looked_up(pairs, pages, "number", "id", left="a")`
    adds the id `a` of the page whose number is `left`."""
    for known, new in columns.items():
        rows = rows.join(renamed(pages, **{known: key, new: value}), known)
    return rows


def map_batches(
    rows: DataFrame, step: Callable[[pa.RecordBatch], pa.RecordBatch], schema: pa.Schema
) -> DataFrame:
    """Apply `step` to each batch of rows, in tasks."""

    def steps(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from bounded(step(batch))

    return rows.mapInArrow(steps, spark_schema(schema))


def bounded(batch: pa.RecordBatch, most: int = BATCH_BYTES) -> Iterator[pa.RecordBatch]:
    """The rows in batches of about `most` bytes: Java holds each of them whole."""
    step = max(1, batch.num_rows * most // max(batch.nbytes, most))
    for start in range(0, batch.num_rows, step):
        yield batch.slice(start, step)


def heaps(items: Iterable[Item], size: Callable[[Item], int], most: int) -> Iterator[list[Item]]:
    """The items of a task, put together until their sizes add up to more than `most`."""
    held: list[Item] = []
    total = 0
    for item in items:
        held.append(item)
        total += size(item)
        if total > most:
            yield held
            held, total = [], 0
    if held:
        yield held


def total_bytes(rows: DataFrame, column: str) -> int:
    """The bytes of all values of a column."""
    total = f.coalesce(f.sum(f.octet_length(column)), f.lit(0)).alias("bytes")
    return int(rows.agg(total).collect()[0]["bytes"])


def map_groups(
    rows: DataFrame,
    by: list[str],
    step: Callable[[pa.Table], Iterable[pa.RecordBatch]],
    schema: pa.Schema,
    *,
    order: Sequence[str] = (),
    rows_at_once: int = ROWS_AT_ONCE,
) -> DataFrame:
    """Apply `step` to the groups of rows with equal numbers in the columns `by`.

    All rows of a group are in one task, sorted by the columns `order`. A step gets whole groups,
    many at a time if they are small.
    """

    def steps(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in whole_groups(batches, by, rows_at_once):
            for batch in step(table):
                yield from bounded(batch)

    in_groups = rows.repartition(*by).sortWithinPartitions(*by, *order)
    return in_groups.mapInArrow(steps, spark_schema(schema))


def whole_groups(
    batches: Iterable[pa.RecordBatch],
    by: list[str],
    rows_at_once: int,
    bytes_at_once: int = GROUP_BYTES,
) -> Iterator[pa.Table]:
    """The rows of sorted batches, about `rows_at_once` or `bytes_at_once` at a time, without
    splitting a group: a run of rows with equal numbers in the columns `by`.
    """
    held: list[pa.RecordBatch] = []
    count = size = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        size += batch.nbytes
        if count < rows_at_once and size < bytes_at_once:
            continue
        table = pa.Table.from_batches(held)
        last = int(np.flatnonzero(new_groups(table, by))[-1])  # where the last group begins
        if last:
            yield table.slice(0, last).combine_chunks()
            held = table.slice(last).combine_chunks().to_batches()
            count, size = table.num_rows - last, sum(each.nbytes for each in held)
    if count:
        yield pa.Table.from_batches(held).combine_chunks()


def new_groups(table: pa.Table, by: list[str]) -> Mask:
    """Which rows are the first of a group."""
    new = np.zeros(table.num_rows, bool)
    new[:1] = True
    for name in by:
        values = table[name].to_numpy()
        new[1:] |= values[1:] != values[:-1]
    return new


# Rows of features and of counts


# A page's number, its features (a row of `Method.row_schema`, packed), and what Spark itself looks
# at of them.
FEATURES = pa.schema(
    [
        ("number", pa.int64()),
        ("features", pa.binary()),
        ("decidable", pa.bool_()),
        ("same_host_group", pa.int64()),
        *carried_schema(pa.schema(identical.COLUMNS)),
    ]
)


def feature_rows(method: Method, numbers: pa.Array, features: pa.RecordBatch) -> pa.RecordBatch:
    """`FEATURES` of described pages."""
    groups = np.ascontiguousarray(method.same_host_group(features)).view(np.int64)
    columns = [numbers, packed_rows(features), method.decidable(features), groups]
    keys = to_spark(features.select(identical.NAMES)).columns
    return pa.record_batch([*columns, *keys], schema=FEATURES)


def features_of(method: Method, packed: pa.BinaryArray) -> pa.RecordBatch:
    """The features in a column of `FEATURES`."""
    return unpacked_rows(packed, method.row_schema)


def packed_counts(counts: pa.RecordBatch, bits: int) -> pa.RecordBatch:
    """Counts in the order of their keys, bucket by bucket, in rows of at most `ROW_COUNTS`."""
    keys, count = counts["key"].to_numpy(), counts["count"].to_numpy()
    buckets, starts = _buckets(keys, bits)
    packed = (packed_numbers(each, starts) for each in (keys, count))
    return pa.record_batch([buckets, *packed], schema=PACKED)


def packed_without_counts(keys: Hashes, bits: int) -> pa.RecordBatch:
    """Keys in order, as `packed_counts` does it."""
    buckets, starts = _buckets(keys, bits)
    nothing = pa.array([b""] * starts.size, pa.binary())
    return pa.record_batch([buckets, packed_numbers(keys, starts), nothing], schema=PACKED)


def _buckets(keys: Hashes, bits: int) -> tuple[NDArray[np.int32], Numbers]:
    """The bucket of each packed row, and where the row starts."""
    bucket = (keys >> np.uint64(64 - bits)).astype(np.int32)
    starts = row_starts(bucket)
    return bucket[starts], starts


def row_starts(buckets: NDArray[np.int32]) -> Numbers:
    """Where packed rows start: with the first number of a bucket, and after `ROW_COUNTS`."""
    return np.flatnonzero(places_in_runs(buckets) % ROW_COUNTS == 0)


def packed_numbers(numbers: Hashes | Numbers, starts: Numbers) -> pa.BinaryArray:
    """The numbers of each row as bytes."""
    offsets = pa.py_buffer((np.append(starts, numbers.size) * 8).astype(np.int32))
    data = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(pa.binary(), starts.size, [None, offsets, data])
