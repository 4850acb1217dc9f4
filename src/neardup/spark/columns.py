"""Columns that Spark can carry, and steps over the batches and groups of its rows.

Spark has no unsigned numbers, and handles lists number by number. So unsigned numbers are passed as
signed ones with the same bits, and lists of numbers as byte strings. What comes back is restored
according to its original schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from neardup.arrays import Mask, Numbers, pack_lists, unpack_lists

SIGNED = {
    pa.uint8(): pa.int8(),
    pa.uint16(): pa.int16(),
    pa.uint32(): pa.int32(),
    pa.uint64(): pa.int64(),
}
LOWEST = np.uint64(1 << 63)


def carried_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of `to_spark` for a batch of `schema`."""
    return pa.schema([pa.field(field.name, _carried_type(field.type)) for field in schema])


def spark_schema(schema: pa.Schema) -> StructType:
    """The schema in the types of PySpark."""
    return from_arrow_schema(schema)


def to_spark(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch that Spark can carry."""
    names = _number_lists(batch.schema)
    plain = pa.schema([_plain(field) for field in batch.schema])
    columns = [_cast(batch[field.name], field.type) for field in plain]
    packed = pack_lists(pa.record_batch(columns, schema=plain), names)
    return packed.cast(carried_schema(batch.schema))


def from_spark(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch as it was before `to_spark`."""
    names = _number_lists(schema)
    plain = pa.schema([_plain(field) for field in schema])
    carried = pa.schema(
        [
            pa.field(each.name, pa.large_binary() if each.name in names else each.type)
            for each in plain
        ]
    )
    columns = [_cast(batch[field.name], field.type) for field in carried]
    lists = unpack_lists(pa.record_batch(columns, schema=carried), plain, names)
    columns = [_restored(lists[field.name], field.type) for field in schema]
    return pa.record_batch(columns, schema=schema)


def unsigned_order(numbers: NDArray[np.uint64]) -> Numbers:
    """Signed numbers in the order of the unsigned ones."""
    return (numbers ^ LOWEST).view(np.int64)


def _carried_type(kind: pa.DataType) -> pa.DataType:
    if _is_number_list(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC")
    return SIGNED.get(kind, kind)


def _is_number_list(kind: pa.DataType) -> bool:
    is_list = (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )
    return bool(is_list and pa.types.is_primitive(kind.value_type))


def _number_lists(schema: pa.Schema) -> list[str]:
    return [field.name for field in schema if _is_number_list(field.type)]


def _plain(field: pa.Field) -> pa.Field:
    """The field with signed numbers, and lists of the ordinary kind."""
    if _is_number_list(field.type):
        return pa.field(field.name, pa.list_(field.type.value_type))
    return pa.field(field.name, _carried_type(field.type))


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type in SIGNED:
        return column.view(kind)
    return column.cast(kind)


def _restored(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column.view(kind) if kind in SIGNED else column.cast(kind)


ROWS_AT_ONCE = 500_000  # about


def renamed(rows: DataFrame, **columns: str) -> DataFrame:
    """Some columns under other names: `renamed(pages, left="number")`."""
    return rows.select(*(f.col(old).alias(new) for new, old in columns.items()))


def map_batches(
    rows: DataFrame, step: Callable[[pa.RecordBatch], pa.RecordBatch], schema: pa.Schema
) -> DataFrame:
    """Apply `step` to each batch of rows, in tasks."""

    def steps(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from map(step, batches)

    return rows.mapInArrow(steps, spark_schema(schema))


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
            yield from step(table)

    in_groups = rows.repartition(*by).sortWithinPartitions(*by, *order)
    return in_groups.mapInArrow(steps, spark_schema(schema))


def whole_groups(
    batches: Iterable[pa.RecordBatch], by: list[str], rows_at_once: int
) -> Iterator[pa.Table]:
    """The rows of sorted batches, about `rows_at_once` at a time, without splitting a group.

    A group is a run of rows with equal numbers in the columns `by`.
    """
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        if count < rows_at_once:
            continue
        table = pa.Table.from_batches(held)
        last = last_group(table, by)
        if last:
            yield table.slice(0, last).combine_chunks()
            held, count = table.slice(last).combine_chunks().to_batches(), table.num_rows - last
    if count:
        yield pa.Table.from_batches(held).combine_chunks()


def last_group(table: pa.Table, by: list[str]) -> int:
    changes = np.flatnonzero(new_groups(table, by))
    return int(changes[-1]) if changes.size else 0


def new_groups(table: pa.Table, by: list[str]) -> Mask:
    """Which rows are the first of a group."""
    new = np.zeros(table.num_rows, bool)
    new[:1] = True
    for name in by:
        values = table[name].to_numpy()
        new[1:] |= values[1:] != values[:-1]
    return new
