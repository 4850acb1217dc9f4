"""Columns that Spark can carry, and the result of a Spark run as the local engine reads it.

Spark has no unsigned numbers, so they are passed as signed ones with the same bits. What only tasks
look into (a parsed page, the features of a page) is one byte string per row: Java's work grows with
the number of columns, and of lists with every value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from neardup.arrays import Numbers, booleans, offsets_of, read_only
from neardup.errors import InputError
from neardup.kernels.memory import copy_lists
from neardup.schemas import COUNTS, TIME
from neardup.text.sites import add_counts

Bytes = NDArray[np.uint8]
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
    """A batch of plain columns as one that Spark can carry."""
    schema = carried_schema(batch.schema)
    columns = [
        column.view(field.type) if column.type in SIGNED else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.record_batch(columns, schema=schema)


def _carried_type(kind: pa.DataType) -> pa.DataType:
    return TIME if pa.types.is_timestamp(kind) else SIGNED.get(kind, kind)


# Rows as byte strings
#
# A row is, of each column in turn, whether it has a value and the value, if all values have one
# size, or else the size of the value in bytes; then the values of various sizes, one after another.
# A list of strings counts as two such columns: the sizes of its strings, and their text.

SIZE = np.dtype(np.int32)


def packed_rows(batch: pa.RecordBatch) -> pa.BinaryArray:
    """Each row as one byte string; `unpacked_rows` is the way back."""
    count = batch.num_rows
    heads: list[Bytes] = []
    lists: list[tuple[Bytes, Numbers]] = []
    for column in batch.columns:
        heads.append(booleans(column.is_valid()).astype(np.uint8)[:, None])
        if _width(column.type):
            heads.append(_fixed_bytes(column))
            continue
        for data, offsets in _list_bytes(column):
            heads.append(np.diff(offsets).astype(SIZE).view(np.uint8).reshape(count, SIZE.itemsize))
            lists.append((data, offsets))
    head = np.concatenate([np.empty((count, 0), np.uint8), *heads], axis=1)
    sizes = np.full(count, head.shape[1])
    for _, offsets in lists:
        sizes += np.diff(offsets)
    starts = offsets_of(sizes)
    packed = np.empty(starts[-1], np.uint8)
    at = starts[:-1].copy()
    every = np.arange(count)
    for data, offsets in [(head.ravel(), np.arange(count + 1) * head.shape[1]), *lists]:
        copy_lists(read_only(data), read_only(offsets.astype(SIZE)), 1, every, packed, at)
        at += np.diff(offsets)
    buffers = [None, pa.py_buffer(starts.astype(SIZE)), pa.py_buffer(packed)]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def unpacked_rows(
    rows: pa.BinaryArray, schema: pa.Schema, names: Collection[str] | None = None
) -> pa.RecordBatch:
    """The batch that `packed_rows` was given, or only its columns `names` [all]."""
    count = len(rows)
    places = np.frombuffer(rows.buffers()[1], SIZE, rows.offset + count + 1)[rows.offset :]
    data = np.frombuffer(rows.buffers()[2] or b"", np.uint8)
    widths = [_width(field.type) or SIZE.itemsize * _lists_in(field.type) for field in schema]
    size = sum(widths) + len(widths)
    head, _ = _cut(data, places[:-1].astype(np.int64), np.full(count, size))
    head = head.reshape(count, size)
    at = places[:-1] + np.int64(size)
    start, columns = 0, {}
    for field, width in zip(schema, widths, strict=True):
        is_valid, mine = head[:, start].view(np.bool_), head[:, start + 1 : start + 1 + width]
        start += 1 + width
        wanted = names is None or field.name in names
        if _width(field.type):
            parts = [(np.ascontiguousarray(mine).ravel(), np.empty(0, np.int64))]
        else:
            parts = []
            for sizes in np.ascontiguousarray(mine).view(SIZE).T.astype(np.int64):
                if wanted:
                    parts.append(_cut(data, at, sizes))
                at = at + sizes
        if wanted:
            validity = None if is_valid.all() else pa.array(is_valid).buffers()[1]
            columns[field.name] = _column(field.type, count, validity, parts)
    fields = [field for field in schema if field.name in columns]
    return pa.record_batch([*columns.values()], schema=pa.schema(fields))


def _cut(data: Bytes, starts: Numbers, sizes: Numbers) -> tuple[Bytes, Numbers]:
    """Pieces of the data, one after another, and where each starts."""
    offsets = offsets_of(sizes)
    found = np.empty(offsets[-1], np.uint8)
    bounds = np.stack([starts, starts + sizes], axis=1).ravel().astype(SIZE)
    pieces = 2 * np.arange(sizes.size)
    copy_lists(read_only(data), read_only(bounds), 1, pieces, found, offsets[:-1].copy())
    return found, offsets


def _width(kind: pa.DataType) -> int:
    """The bytes of each value; 0 if they differ."""
    if pa.types.is_boolean(kind):
        return 1
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size) * _width(kind.value_type)
    if pa.types.is_primitive(kind) or pa.types.is_fixed_size_binary(kind):
        return int(kind.bit_width) // 8
    return 0


def _is_text(kind: pa.DataType) -> bool:
    large = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    return bool(large or pa.types.is_string(kind) or pa.types.is_binary(kind))


def _lists_in(kind: pa.DataType) -> int:
    """How many columns of various sizes a column of values of various sizes counts as."""
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return 2 if is_list and _is_text(kind.value_type) else 1


def _fixed_bytes(column: pa.Array) -> Bytes:
    """Values of one size, a row each."""
    kind, width = column.type, _width(column.type)
    if pa.types.is_boolean(kind):
        return booleans(column.fill_null(False)).astype(np.uint8)[:, None]
    if pa.types.is_fixed_size_list(kind):
        size = kind.list_size
        values = column.values.slice(column.offset * size, len(column) * size)
        return _fixed_bytes(values).reshape(len(column), width)
    data = column.buffers()[1]
    if not len(column) or data is None:
        return np.zeros((len(column), width), np.uint8)
    values = np.frombuffer(data, np.uint8, len(column) * width, column.offset * width)
    return values.reshape(len(column), width)


def _list_bytes(column: pa.Array) -> list[tuple[Bytes, Numbers]]:
    """The bytes and offsets of a column that counts as one or more of various sizes."""
    kind = column.type
    if _is_text(kind):
        return [_text_bytes(column)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        offsets, values = column.offsets.to_numpy().astype(np.int64), column.values
        if width := _width(kind.value_type):
            return [(_fixed_bytes(values).ravel(), offsets * width)]
        if _is_text(kind.value_type):
            data, of_values = _text_bytes(values)
            sizes = np.diff(of_values).astype(SIZE).view(np.uint8)
            return [(sizes, offsets * SIZE.itemsize), (data, of_values[offsets])]
    # Any other type, such as a list of lists: each row as Arrow writes it.
    rows = [
        pa.record_batch([column.slice(row, 1)], ["value"]).serialize() for row in range(len(column))
    ]
    return [_text_bytes(pa.array([row.to_pybytes() for row in rows], pa.large_binary()))]


def _text_bytes(column: pa.Array) -> tuple[Bytes, Numbers]:
    if not len(column):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    is_large = pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type)
    width = np.dtype(np.int64 if is_large else np.int32)
    _, places, data = column.buffers()
    offsets = np.frombuffer(places, width, len(column) + 1, column.offset * width.itemsize)
    return np.frombuffer(data or b"", np.uint8), offsets.astype(np.int64)


def _column(
    kind: pa.DataType,
    count: int,
    validity: pa.Buffer | None,
    parts: list[tuple[Bytes, Numbers]],
) -> pa.Array:
    """A column of so many rows from its bytes."""
    data, offsets = parts[0]
    if pa.types.is_boolean(kind):
        return pa.Array.from_buffers(
            kind, count, [validity, pa.array(data.astype(np.bool_)).buffers()[1]]
        )
    if pa.types.is_fixed_size_list(kind):
        values = _column(kind.value_type, count * kind.list_size, None, parts)
        return pa.Array.from_buffers(kind, count, [validity], children=[values])
    if _width(kind):
        return pa.Array.from_buffers(kind, count, [validity, pa.py_buffer(data)])
    if _is_text(kind):
        return pa.Array.from_buffers(
            kind, count, [validity, _offsets(kind, offsets), pa.py_buffer(data)]
        )
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = kind.value_type
        if _is_text(inner):
            sizes, of_sizes = data.view(SIZE), offsets // SIZE.itemsize
            values = _column(inner, sizes.size, None, [(parts[1][0], offsets_of(sizes))])
            buffers = [validity, _offsets(kind, of_sizes)]
            return pa.Array.from_buffers(kind, count, buffers, children=[values])
        if width := _width(inner):
            values = _column(inner, data.size // width, None, parts)
            buffers = [validity, _offsets(kind, offsets // width)]
            return pa.Array.from_buffers(kind, count, buffers, children=[values])
    schema = pa.schema([("value", kind)])
    rows = [data[start:end] for start, end in pairwise(offsets.tolist())]
    batches = [pa.ipc.read_record_batch(pa.py_buffer(row), schema) for row in rows]
    return pa.concat_arrays([each["value"] for each in batches]) if rows else pa.array([], kind)


def _offsets(kind: pa.DataType, offsets: Numbers) -> pa.Buffer:
    """Offsets in the width that a type has."""
    is_large = kind in (pa.large_string(), pa.large_binary()) or pa.types.is_large_list(kind)
    return pa.py_buffer(offsets.astype(np.int64 if is_large else np.int32))


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
            yield unpacked_rows(batch["features"], schema)


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
