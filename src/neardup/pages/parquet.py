"""Pages in Parquet files, a few rows at a time.

Columns of text stay dictionaries until their values are used: a file of a few hundred bytes can
repeat one large value over thousands of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.fields import ParquetRow, page_from_fields
from neardup.pages.inputs import File
from neardup.pages.limits import Limits
from neardup.pages.streams import Chunks

_COLUMNS = ("id", "url", "html", "text", "title", "time")
_BATCH_BYTES = 16_000_000
_BATCH_ROWS = 1024
_UNSURE_ROWS = 16  # for a large column whose values may repeat
_ERRORS = (pa.ArrowException, OSError, ValueError, OverflowError, KeyError, TypeError)
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # a second in each
_YEARS_1_TO_9999 = (-62_135_596_800, 253_402_300_799)  # in seconds; the range of Python's datetime


def read_parquet(
    path: str,
    stream: BinaryIO,
    limits: Limits,
    *,
    keep_original: bool = False,
    row_groups: range | None = None,
) -> Iterator[RawPage | Skip]:
    """The pages of a file, in order, or those of some of its row groups."""
    try:
        metadata = pq.read_metadata(stream)
        schema = metadata.schema.to_arrow_schema()
        names = schema.names
        repeated = _dictionaries(metadata, schema)
        file = pq.ParquetFile(
            stream,
            metadata=metadata,
            read_dictionary=repeated,
            buffer_size=1 << 20,
            pre_buffer=False,
        )
    except _ERRORS as error:
        yield Skip(Source(path), SkipReason.UNREADABLE, f"not a Parquet file: {_first_line(error)}")
        return
    if "html" not in names and "text" not in names:
        yield Skip(Source(path), SkipReason.NO_CONTENT, "no column html or text")
        return
    rows = _Rows(path, file, schema, limits, keep_original=keep_original)
    yield from rows.of_groups(row_groups or range(file.num_row_groups))


class ParquetReader:
    def __init__(self, limits: Limits, keep_original: bool) -> None:
        self._limits = limits
        self._keep_original = keep_original

    def read(self, file: File, content: Chunks) -> Iterator[RawPage | Skip]:
        del content  # Parquet is read from the end
        with file.open() as stream:
            keep = self._keep_original
            yield from read_parquet(file.source, stream, self._limits, keep_original=keep)

    def finish(self) -> Iterator[RawPage | Skip]:
        """Nothing to do: rows do not depend on each other."""
        return iter(())


class _Rows:
    """The rows of one file as pages."""

    def __init__(
        self,
        path: str,
        file: pq.ParquetFile,
        schema: pa.Schema,
        limits: Limits,
        *,
        keep_original: bool,
    ) -> None:
        self._path = path
        self._file = file
        self._limits = limits
        self._keep_original = keep_original
        self._schema = schema
        held = [name for name in _COLUMNS if schema.get_field_index(name) >= 0]
        self._columns = None if keep_original else held
        self._charsets: dict[str, str] = {
            name: "utf-8"
            for name in ("html", "text")
            if name in held and _is_text(schema.field(name).type)
        }

    def of_groups(self, groups: range) -> Iterator[RawPage | Skip]:
        metadata = self._file.metadata
        row = sum(metadata.row_group(group).num_rows for group in range(groups.start))
        for group in groups:
            about = metadata.row_group(group)
            try:
                yield from self._group(group, row, _batch_rows(about))
            except _ERRORS as error:
                detail = f"row group {group}: {_first_line(error)}"
                yield Skip(Source(self._path, row), SkipReason.BAD_RECORD, detail)
            row += about.num_rows

    def _group(self, group: int, row: int, size: int) -> Iterator[RawPage | Skip]:
        for batch in self._file.iter_batches(
            size, row_groups=[group], columns=self._columns, use_threads=False
        ):
            for some in _bounded(batch):
                yield from self._batch(some, row)
                row += some.num_rows

    def _batch(self, batch: pa.RecordBatch, row: int) -> Iterator[RawPage | Skip]:
        columns = {
            name: _values(batch.column(name))
            for name in _COLUMNS
            if batch.schema.get_field_index(name) >= 0
        }
        if self._keep_original:
            batch = batch.cast(self._schema)
        for at in range(batch.num_rows):
            fields = {name: values[at] for name, values in columns.items()}
            original = ParquetRow(batch, at) if self._keep_original else None
            source = Source(self._path, row + at)
            yield page_from_fields(fields, source, self._limits, original, self._charsets)


def _batch_rows(about: Any) -> int:
    """How many rows of this group make a batch of bounded size."""
    each = max(1, about.total_byte_size // max(1, about.num_rows))
    rows = int(min(_BATCH_ROWS, max(1, _BATCH_BYTES // each)))
    chunks = [about.column(number) for number in range(about.num_columns)]
    return min(rows, _UNSURE_ROWS) if any(map(_may_repeat, chunks)) else rows


def _may_repeat(chunk: Any) -> bool:
    """Whether the average size of a column says little: it is large, and values may repeat."""
    return bool(chunk.has_dictionary_page) and chunk.total_uncompressed_size > _BATCH_BYTES


def _dictionaries(metadata: Any, schema: pa.Schema) -> list[str]:
    """The byte columns to read as dictionaries: those with few distinct values.

    Arrow keeps every distinct value of a row group in its dictionary, so a large column of
    different pages must be read as plain values.
    """
    large = {
        chunk.path_in_schema
        for group in map(metadata.row_group, range(metadata.num_row_groups))
        for chunk in map(group.column, range(group.num_columns))
        if chunk.total_uncompressed_size > _BATCH_BYTES
    }
    return [
        name for name in schema.names if _is_bytes(schema.field(name).type) and name not in large
    ]


def _bounded(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in slices of at most `_BATCH_BYTES` once dictionaries are decoded, or one row."""
    sizes = np.zeros(batch.num_rows, np.int64)
    for column in batch.columns:
        if pa.types.is_dictionary(column.type):
            lengths = pc.binary_length(column.dictionary).take(column.indices)
            sizes += lengths.fill_null(0).to_numpy(zero_copy_only=False)
    parts = np.cumsum(sizes) // _BATCH_BYTES
    starts = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), batch.num_rows]
    for start, end in pairwise(starts):
        yield batch.slice(start, end - start)


def _is_bytes(kind: pa.DataType) -> bool:
    return _is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _values(column: pa.Array) -> list[Any]:
    """Python values; text as bytes, which need not be valid UTF-8."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_date(column.type):  # not a point in time
        return [None] * len(column)
    if pa.types.is_timestamp(column.type):
        column = _within_years(column).cast(pa.timestamp("us", "UTC"), safe=False)
    elif _is_text(column.type):
        column = column.cast(pa.large_binary())
    return list(column.to_pylist())


def _within_years(column: pa.Array) -> pa.Array:
    """Times, null outside the years 1 to 9999."""
    second = _UNITS[column.type.unit]
    first, last = (min(max(each * second, -(2**63)), 2**63 - 1) for each in _YEARS_1_TO_9999)
    numbers = column.cast(pa.int64())
    is_within = pc.and_(pc.greater_equal(numbers, first), pc.less_equal(numbers, last))
    return pc.if_else(is_within, column, pa.scalar(None, column.type))


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return any(
        is_kind(kind)
        for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    )


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
