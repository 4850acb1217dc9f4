"""Rows of tables as pages: what Parquet, Arrow and CSV files have in common.

Columns of text stay dictionaries until their values are used: a file of a few hundred bytes can
repeat one large value over thousands of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.fields import TableRow, page_from_fields, parse_time
from neardup.pages.limits import FIELD_LENGTH, URL_LENGTH, Limits, no_content
from neardup.pages.raw import MAX_BYTES, Block, RawBatch, identities, raw_batch, with_records
from neardup.pages.tables import decoded
from neardup.schemas import RAW, TIME

BATCH_BYTES = 16_000_000
# MemoryError: a damaged size may ask for more than any machine has.
ERRORS = (
    pa.ArrowException,
    OSError,
    ValueError,
    OverflowError,
    KeyError,
    TypeError,
    MemoryError,
)
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
        for start, some, _ in _bounded(batch, BATCH_BYTES):
            yield from self._pages(some, first + start)

    def blocks(self, batch: pa.RecordBatch, first: int) -> Iterator[tuple[int, Block]]:
        """The same in blocks, which are read by column, and the bytes of each."""
        for start, some, size in _bounded(batch, MAX_BYTES):
            yield size, partial(self._by_column, some, first + start)

    def _by_column(self, batch: pa.RecordBatch, first: int) -> RawBatch:
        """Some rows, the unusual ones one by one: those that may be skipped, and all if a column
        has values of an unusual type or text that is not UTF-8."""
        try:
            columns = self._raw_columns(batch, first)
        except ERRORS:
            return self._one_by_one(batch, first)
        usual = self._usual(columns)
        if usual.all():
            return RawBatch(pa.record_batch(columns, RAW), [])
        pages = pa.record_batch([each.filter(pa.array(usual)) for each in columns], RAW)
        rows = np.flatnonzero(~usual).tolist()
        odd = (each for row in rows for each in self._pages(batch.slice(row, 1), first + row))
        return with_records(pages, odd)

    def _one_by_one(self, batch: pa.RecordBatch, first: int) -> RawBatch:
        try:
            return with_records(raw_batch([]), self._pages(batch, first))
        except ERRORS as error:
            detail = f"{batch.num_rows} rows: {first_line(error)}"
            skip = Skip(Source(self._path, first), SkipReason.BAD_RECORD, detail)
            return RawBatch(raw_batch([]), [skip])

    def _raw_columns(self, batch: pa.RecordBatch, first: int) -> list[pa.Array]:
        """The columns of `schemas.RAW`; the body is null or empty where there is no content."""
        count = batch.num_rows
        there = {what: decoded(column_at(batch, name)) for what, name in self._named.items()}
        html, text = (_bytes(there.get(what), count) for what in ("html", "text"))
        is_html = pc.fill_null(pc.greater(pc.binary_length(html), 0), False)
        charsets = (pa.scalar(self._charsets.get(what, "")) for what in ("html", "text"))
        records = pa.array(np.arange(first, first + count))
        url = _strings(there.get("url"), count)
        return [
            *identities(_ids(there.get("id"), count), url, self._path, records),
            url,
            _strings(there.get("title"), count),
            _times(there.get("time"), count),
            pc.if_else(is_html, html, text),
            is_html,
            pc.if_else(is_html, *charsets),
            pa.repeat(self._path, count),
            records,
        ]

    def _usual(self, columns: list[pa.Array]) -> NDArray[np.bool_]:
        """Which rows are pages for certain. Lengths are of bytes, so some long ones are not."""
        lengths = {
            name: pc.fill_null(pc.binary_length(columns[RAW.get_field_index(name)]), 0).to_numpy()
            for name in ("body", "id", "url", "title")
        }
        usual: NDArray[np.bool_] = (
            (lengths["body"] > 0)
            & (lengths["body"] <= self._limits.page_bytes)
            & (lengths["url"] <= URL_LENGTH)
            & (lengths["id"] <= FIELD_LENGTH)
            & (lengths["title"] <= FIELD_LENGTH)
        )
        return usual

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


def _bounded(batch: pa.RecordBatch, most: int) -> Iterator[tuple[int, pa.RecordBatch, int]]:
    """The first row of each slice of at most `most` bytes, once dictionaries are decoded, or of one
    row; the slice; its bytes."""
    sizes = np.zeros(batch.num_rows, np.int64)
    for column in batch.columns:
        if pa.types.is_dictionary(column.type) and is_bytes(column.type.value_type):
            lengths = pc.binary_length(column.dictionary).take(column.indices)
        elif is_bytes(column.type) and not pa.types.is_string_view(column.type):
            lengths = pc.binary_length(column)
        else:
            continue
        sizes += lengths.fill_null(0).to_numpy(zero_copy_only=False)
    parts = np.cumsum(sizes) // most
    starts = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), batch.num_rows]
    for start, end in pairwise(starts):
        yield start, batch.slice(start, end - start), int(sizes[start:end].sum())


def is_bytes(kind: pa.DataType) -> bool:
    return is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _values(column: pa.Array) -> list[Any]:
    """Python values; text as bytes, which need not be valid UTF-8."""
    column = decoded(column)
    if pa.types.is_date(column.type):  # not a point in time
        return [None] * len(column)
    if pa.types.is_timestamp(column.type):
        column = _within_years(column).cast(TIME, safe=False)
    elif is_text(column.type):
        column = column.cast(pa.large_binary())
    return list(column.to_pylist())


# Columns of `schemas.RAW`; a column that is not there is None


def _bytes(column: pa.Array | None, count: int) -> pa.Array:
    """Content; other values than text and bytes are none."""
    if column is None or not is_bytes(column.type):
        return pa.nulls(count, pa.large_binary())
    return column.cast(pa.large_binary())


def _strings(column: pa.Array | None, count: int) -> pa.Array:
    """Texts, "" for null and for other values; an error if a text is not UTF-8."""
    if column is None or not is_bytes(column.type):
        return pa.repeat("", count)
    return pc.fill_null(column.cast(pa.large_binary()).cast(pa.string()), "")


def _ids(column: pa.Array | None, count: int) -> pa.Array:
    """As `_strings`, and integers; an error for other numbers, which Python writes in its way."""
    if column is not None and pa.types.is_floating(column.type):
        raise TypeError(f"ids of type {column.type}")
    if column is not None and pa.types.is_integer(column.type):
        column = column.cast(pa.string())
    return _strings(column, count)


def _times(column: pa.Array | None, count: int) -> pa.Array:
    if column is None:
        return pa.nulls(count, TIME)
    if pa.types.is_timestamp(column.type):
        return _within_years(column).cast(TIME, safe=False)
    return pa.array(map(parse_time, _values(column)), TIME)


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
