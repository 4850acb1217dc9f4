"""Kept pages as Parquet."""

from __future__ import annotations

from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.errors import OutputError
from neardup.model import RawPage
from neardup.pages.original import ParquetRow
from neardup.pages.page_fields import extra_fields, page_fields, row_fields

_COLUMNS = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("url", pa.string()),
        pa.field("title", pa.string()),
        pa.field("time", pa.timestamp("us", tz="UTC")),
        pa.field("html", pa.large_string()),
        pa.field("text", pa.large_string()),
        pa.field("extra", pa.string()),  # other fields of a JSON line, as JSON
    ]
)
_GROUP_BYTES = 32_000_000


class ParquetWriter:
    """Rows as they were when they come from Parquet; else the columns that neardup reads.

    The first page decides the columns. A page that does not fit them is an error, not a loss.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._schema: pa.Schema | None = None
        self._file: pq.ParquetWriter | None = None
        self._rows: list[pa.RecordBatch] = []
        self._held = 0

    def write(self, raw: RawPage, html_text: str | None = None) -> None:
        """Write a page."""
        self._rows.append(self._row(raw, html_text))
        self._held += len(raw.body)
        if self._held >= _GROUP_BYTES:
            self._flush()

    def finish(self) -> None:
        """Write what is left, a file without rows included."""
        self._flush()
        if self._file:
            self._file.close()

    def _flush(self) -> None:
        schema = self._schema or _COLUMNS
        if self._file is None:
            self._file = pq.ParquetWriter(self._stream, schema, compression="zstd")
        if self._rows:
            self._file.write_table(pa.Table.from_batches(self._rows, schema))
        self._rows, self._held = [], 0

    def _row(self, raw: RawPage, html_text: str | None) -> pa.RecordBatch:
        original = raw.original
        if isinstance(original, ParquetRow):
            if self._schema is None:
                self._schema = original.batch.schema
            if original.batch.schema.equals(self._schema):
                return _copied(original)
        if self._schema is None:
            self._schema = _COLUMNS
        return self._converted(raw, html_text, self._schema)

    def _converted(self, raw: RawPage, html_text: str | None, schema: pa.Schema) -> pa.RecordBatch:
        fields = _fields(raw, html_text)
        extra = [name for name in fields if name not in schema.names]
        if extra:
            raise OutputError(
                f"{raw.source.path}: its column {extra[0]!r} is not in the first page's columns; "
                "write .jsonl, where every page can have its own"
            )
        try:
            return pa.RecordBatch.from_pylist([fields], schema=schema)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise OutputError(f"{raw.id}: does not fit the columns: {error}") from None


def _fields(raw: RawPage, html_text: str | None) -> dict[str, Any]:
    if isinstance(raw.original, ParquetRow):
        return row_fields(raw.original)
    fields = page_fields(raw, html_text)
    if extra := extra_fields(raw):
        fields["extra"] = extra
    return fields


def _copied(original: ParquetRow) -> pa.RecordBatch:
    """The row alone, not the batch it came in."""
    return original.batch.take(pa.array([original.row]))
