"""Rows of tables as pages: what Parquet, Arrow and CSV files have in common.

Columns of text stay dictionaries until their values are used: a file of a few hundred bytes can
repeat one large value over thousands of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.columns import no_content
from neardup.pages.fields import TableRow, page_from_fields
from neardup.pages.limits import Limits

BATCH_BYTES = 16_000_000
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # a second in each
_YEARS_1_TO_9999 = (-62_135_596_800, 253_402_300_799)  # in seconds; the range of Python's datetime


class TablePages:
    """Pages from the rows of one file."""

    def __init__(
        self, path: str, schema: pa.Schema, limits: Limits, *, keep_original: bool
    ) -> None:
        self._path = path
        self._schema = schema
        self._limits = limits
        self._keep_original = keep_original
        kinds = {what: kind_at(schema, name) for what, name in limits.columns.by_content.items()}
        self._named = {
            what: name
            for what, name in limits.columns.by_content.items()
            if kinds[what] is not None
        }
        self._charsets = {
            what: "utf-8" for what in ("html", "text") if kinds.get(what) and is_text(kinds[what])
        }

    @property
    def needed(self) -> list[str] | None:
        """The columns to read; None for all."""
        return None if self._keep_original else list(self._named.values())

    def nothing(self) -> Skip | None:
        """The skip of a file in which no column holds pages."""
        if {"html", "text"} & {*self._named}:
            return None
        detail = no_content(self._limits.columns, nested_columns(self._schema))
        return Skip(Source(self._path), SkipReason.NO_CONTENT, detail)

    def pages(self, batch: pa.RecordBatch, first: int) -> Iterator[RawPage | Skip]:
        """The rows of a batch, of which the first is row `first` of the file."""
        for start, some in _bounded(batch):
            yield from self._pages(some, first + start)

    def _pages(self, batch: pa.RecordBatch, row: int) -> Iterator[RawPage | Skip]:
        columns = {what: _values(column_at(batch, name)) for what, name in self._named.items()}
        if self._keep_original:
            batch = batch.cast(self._schema)
        for at in range(batch.num_rows):
            fields = {name: values[at] for name, values in columns.items()}
            original = TableRow(batch, at) if self._keep_original else None
            source = Source(self._path, row + at)
            yield page_from_fields(fields, source, self._limits, original, self._charsets)


def kind_at(schema: pa.Schema | pa.StructType, path: str) -> pa.DataType | None:
    """The type of the column, or of the field of nested columns that dots lead to."""
    place = schema.get_field_index(path)
    if place >= 0:
        return schema.field(place).type
    first, dot, rest = path.partition(".")
    place = schema.get_field_index(first)
    if not dot or place < 0 or not pa.types.is_struct(schema.field(place).type):
        return None
    return kind_at(schema.field(place).type, rest)


def column_at(batch: pa.RecordBatch | pa.StructArray, path: str) -> pa.Array:
    """The column whose type `kind_at` gives."""
    schema = batch.schema if isinstance(batch, pa.RecordBatch) else batch.type
    name = path if schema.get_field_index(path) >= 0 else path.partition(".")[0]
    place = schema.get_field_index(name)
    column = batch.column(place) if isinstance(batch, pa.RecordBatch) else _inner(batch, place)
    return column if name == path else column_at(column, path[len(name) + 1 :])


def _inner(column: pa.StructArray, place: int) -> pa.Array:
    return pc.struct_field(column, [place])


def nested_columns(schema: pa.Schema | pa.StructType) -> list[str]:
    """The names of all columns, those of nested ones after a dot."""
    names: list[str] = []
    for number in range(len(schema) if isinstance(schema, pa.Schema) else schema.num_fields):
        field = schema.field(number)
        inner = nested_columns(field.type) if pa.types.is_struct(field.type) else []
        names += [f"{field.name}.{each}" for each in inner] or [field.name]
    return names


def _bounded(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Slices of at most `BATCH_BYTES` once dictionaries are decoded, or of one row, and the first
    row of each."""
    sizes = np.zeros(batch.num_rows, np.int64)
    for column in batch.columns:
        if pa.types.is_dictionary(column.type) and is_bytes(column.type.value_type):
            lengths = pc.binary_length(column.dictionary).take(column.indices)
            sizes += lengths.fill_null(0).to_numpy(zero_copy_only=False)
    parts = np.cumsum(sizes) // BATCH_BYTES
    starts = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), batch.num_rows]
    for start, end in pairwise(starts):
        yield start, batch.slice(start, end - start)


def is_bytes(kind: pa.DataType) -> bool:
    return is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _values(column: pa.Array) -> list[Any]:
    """Python values; text as bytes, which need not be valid UTF-8."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_date(column.type):  # not a point in time
        return [None] * len(column)
    if pa.types.is_timestamp(column.type):
        column = _within_years(column).cast(pa.timestamp("us", "UTC"), safe=False)
    elif is_text(column.type):
        column = column.cast(pa.large_binary())
    return list(column.to_pylist())


def _within_years(column: pa.Array) -> pa.Array:
    """Times, null outside the years 1 to 9999."""
    second = _UNITS[column.type.unit]
    first, last = (min(max(each * second, -(2**63)), 2**63 - 1) for each in _YEARS_1_TO_9999)
    numbers = column.cast(pa.int64())
    is_within = pc.and_(pc.greater_equal(numbers, first), pc.less_equal(numbers, last))
    return pc.if_else(is_within, column, pa.scalar(None, column.type))


def is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return any(
        is_kind(kind)
        for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    )


def first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
