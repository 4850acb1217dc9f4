"""Pages of Parquet files, a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.fields import ParquetRow, page_from_fields
from neardup.pages.limits import Limits

_COLUMNS = ("id", "url", "html", "text", "title", "time")
_BATCH_BYTES = 16_000_000
_BATCH_ROWS = 1024
_ERRORS = (pa.ArrowException, OSError, ValueError, KeyError, TypeError)


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
        file = pq.ParquetFile(stream, buffer_size=1 << 20, pre_buffer=False)
        names = file.schema_arrow.names
    except _ERRORS as error:
        yield Skip(Source(path), SkipReason.UNREADABLE, f"not a Parquet file: {_first_line(error)}")
        return
    if "html" not in names and "text" not in names:
        yield Skip(Source(path), SkipReason.NO_CONTENT, "no column html or text")
        return
    rows = _Rows(path, file, limits, keep_original=keep_original)
    yield from rows.of_groups(row_groups or range(file.num_row_groups))


class _Rows:
    """The rows of one file as pages."""

    def __init__(
        self, path: str, file: pq.ParquetFile, limits: Limits, *, keep_original: bool
    ) -> None:
        self._path = path
        self._file = file
        self._limits = limits
        self._keep_original = keep_original
        schema = file.schema_arrow
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
            yield from self._batch(batch, row)
            row += batch.num_rows

    def _batch(self, batch: pa.RecordBatch, row: int) -> Iterator[RawPage | Skip]:
        columns = {
            name: _values(batch.column(name))
            for name in _COLUMNS
            if batch.schema.get_field_index(name) >= 0
        }
        for at in range(batch.num_rows):
            fields = {name: values[at] for name, values in columns.items()}
            original = ParquetRow(batch, at) if self._keep_original else None
            source = Source(self._path, row + at)
            yield page_from_fields(fields, source, self._limits, original, self._charsets)


def _batch_rows(about: Any) -> int:
    """So many rows of this group as make a batch of bounded size."""
    each = max(1, about.total_byte_size // max(1, about.num_rows))
    return int(min(_BATCH_ROWS, max(1, _BATCH_BYTES // each)))


def _values(column: pa.Array) -> list[Any]:
    """Python values; text as bytes, which need not be valid UTF-8."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", "UTC"), safe=False)
    elif _is_text(column.type):
        column = column.cast(pa.large_binary())
    return list(column.to_pylist())


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return any(
        is_kind(kind)
        for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    )


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
