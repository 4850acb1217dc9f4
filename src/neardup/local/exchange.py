"""Columns that Spark can carry, and the result of a Spark run as the local engine reads it.

Spark has no unsigned numbers, and handles lists number by number. So unsigned numbers are passed as
signed ones with the same bits, and lists of numbers as byte strings. What comes back is restored
according to its original schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.arrays import Numbers, pack_lists, unpack_lists
from neardup.errors import InputError
from neardup.schemas import COUNTS, TIME
from neardup.text.sites import add_counts

SIGNED = {
    pa.uint8(): pa.int8(),
    pa.uint16(): pa.int16(),
    pa.uint32(): pa.int32(),
    pa.uint64(): pa.int64(),
}


def carried_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of `to_spark` for a batch of `schema`."""
    return pa.schema([pa.field(field.name, _carried_type(field.type)) for field in schema])


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


def _carried_type(kind: pa.DataType) -> pa.DataType:
    if _is_number_list(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_timestamp(kind):
        return TIME
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


# A result of the Spark engine

REMEMBERED = "remembered"  # its folder, in a result of Spark: pages, features, counts
ROWS_AT_ONCE = 4096


def is_of_spark(folder: Path) -> bool:
    """Whether the Spark engine has written a result."""
    return (folder / REMEMBERED / "features").is_dir()


def pages_of_spark(folder: Path) -> pa.Table:
    """The pages of a result of Spark, in the order of their ids."""
    table = pa.concat_tables([pq.read_table(file) for file in _files(folder, "pages")])
    return table.sort_by("id")


def feature_numbers_of_spark(folder: Path) -> Numbers:
    """The page number of each row of `features_of_spark`."""
    files = _files(folder, "features")
    columns = [pq.read_table(file, columns=["number"])["number"].to_numpy() for file in files]
    return np.concatenate([np.empty(0, np.int64), *columns])


def features_of_spark(folder: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The features of all pages, in the order of the files."""
    for file in _files(folder, "features"):
        for batch in pq.ParquetFile(file).iter_batches(ROWS_AT_ONCE, columns=["features"]):
            yield from_spark(pa.RecordBatch.from_struct_array(batch["features"]), schema)


def counts_of_spark(folder: Path, name: str) -> Iterator[pa.RecordBatch]:
    """The counts of a survey, in the order of their keys."""
    files = _files(folder, name)
    yield add_counts(
        unpacked_counts(batch)
        for file in files
        for batch in pq.ParquetFile(file).iter_batches(ROWS_AT_ONCE, columns=["keys", "counts"])
    )


def unpacked_counts(table: pa.Table | pa.RecordBatch) -> pa.RecordBatch:
    """The counts of rows of `keys` and `counts` as byte strings; a key may come more than once.

    Keys of a row without counts are counted once.
    """
    keys, counts = (table[name].to_pylist() for name in ("keys", "counts"))
    numbers = [
        np.frombuffer(count, np.int64) if count else np.ones(len(key) // 8, np.int64)
        for key, count in zip(keys, counts, strict=True)
    ]
    every_key = np.frombuffer(b"".join(keys), np.uint64)
    every_count = np.concatenate([np.empty(0, np.int64), *numbers])
    return pa.record_batch([every_key, every_count], schema=COUNTS)


def _files(folder: Path, name: str) -> list[Path]:
    files = sorted((folder / REMEMBERED / name).glob("*.parquet"))
    if not files:
        raise InputError(f"{folder} is damaged: it has no {REMEMBERED}/{name}; create it again")
    return files
