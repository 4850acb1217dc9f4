"""Compressing what is written, the same bytes for the same content.

Writing pages back: as JSON lines, Parquet or WARC, in the form they came in where that is one.

A JSON line keeps all its fields, a Parquet row all its columns, a WARC record its heads and its
body as sent. A page that came in another form is converted: JSON lines and Parquet take all that
is known of it, WARC the content, the URL and the time (it has no place for more). The file appears
whole when all is written, or not at all.

Kept pages as JSON lines.

Kept pages as Parquet.

Kept pages as WARC records.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.errors import OutputError
from neardup.model import RawPage
from neardup.pages.fields import (
    JsonLine,
    ParquetRow,
    WarcBytes,
    extra_fields,
    format_time,
    json_fields,
    page_fields,
    row_fields,
)
from neardup.pages.warc import NO_DATE, compose


class Packer(Protocol):
    """Makes compressed bytes of plain ones."""

    def whole(self, data: bytes) -> bytes:
        """A member of its own, as WARC wants for each record."""

    def open(self, stream: BinaryIO) -> Any:
        """A stream to write plain bytes to, ending in `close`, which leaves `stream` open."""


def packer_of(suffix: str) -> Packer:
    """For "", ".gz" or ".zst"."""
    packers: dict[str, Packer] = {"": Plain(), ".gz": Gzip(), ".zst": Zstd()}
    return packers[suffix]


class Plain:
    """No compression."""

    def whole(self, data: bytes) -> bytes:
        return data

    def open(self, stream: BinaryIO) -> Any:
        return _Unclosed(stream)


class _Unclosed:
    def __init__(self, stream: BinaryIO) -> None:
        self.write = stream.write

    def close(self) -> None:
        """Nothing: the stream is the caller's."""


class Gzip:
    """Gzip without a name or a time."""

    def whole(self, data: bytes) -> bytes:
        return gzip.compress(data, 6, mtime=0)

    def open(self, stream: BinaryIO) -> Any:
        return gzip.GzipFile("", "wb", 6, stream, mtime=0)


class Zstd:
    """Zstandard."""

    def whole(self, data: bytes) -> bytes:
        return bytes(_zstd().compress(data))

    def open(self, stream: BinaryIO) -> Any:
        return _zstd().stream_writer(stream, closefd=False)


def _zstd() -> Any:
    import zstandard  # noqa: PLC0415

    return zstandard.ZstdCompressor(level=6)


_ENDINGS = ".parquet, or in .jsonl or .warc, also with .gz or .zst"


class PageWriter(Protocol):
    """Takes pages one by one."""

    def write(self, raw: RawPage, html_text: str | None = None) -> None:
        """Write a page; `html_text` is its content decoded, for forms that hold text."""

    def finish(self) -> None:
        """Write what is left."""


@contextmanager
def writer_for(path: str | Path) -> Iterator[PageWriter]:
    """A writer for the form that the name tells: .jsonl, .parquet or .warc (.gz or .zst)."""
    path = Path(path)
    kind, packer = _form_of(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("wb") as stream:
            writer = _make_writer(kind, packer, stream)
            yield writer
            writer.finish()
            stream.flush()
        beside.replace(path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _form_of(path: Path) -> tuple[str, Packer]:
    packed = path.suffix if path.suffix in (".gz", ".zst") else ""
    kind = Path(path.name.removesuffix(packed)).suffix
    if kind not in (".jsonl", ".ndjson", ".parquet", ".warc") or (packed and kind == ".parquet"):
        raise OutputError(f"cannot write {path}: the name should end in {_ENDINGS}")
    return kind, packer_of(packed)


def _make_writer(kind: str, packer: Packer, stream: BinaryIO) -> PageWriter:
    if kind == ".parquet":
        return ParquetWriter(stream)
    if kind == ".warc":
        return WarcWriter(stream, packer)

    return JsonWriter(stream, packer)


class JsonWriter:
    """One object a line; a line that came in goes out as it was."""

    def __init__(self, stream: BinaryIO, packer: Packer) -> None:
        self._stream = packer.open(stream)

    def write(self, raw: RawPage, html_text: str | None = None) -> None:
        """Write a page."""
        if isinstance(raw.original, JsonLine):
            line = raw.original.line.strip()
        else:
            line = json.dumps(json_fields(raw, html_text), ensure_ascii=False).encode(
                "utf-8", "replace"
            )
        self._stream.write(line + b"\n")

    def finish(self) -> None:
        """Write what is left."""
        self._stream.close()


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


class WarcWriter:
    """Records as they were; pages of other forms as resource records, texts as conversions."""

    def __init__(self, stream: BinaryIO, packer: Packer) -> None:
        self._stream = stream
        self._packer = packer

    def write(self, raw: RawPage, html_text: str | None = None) -> None:
        """Write a page; its bytes go out as they came, so the decoded text is not needed."""
        del html_text
        record = raw.original.record if isinstance(raw.original, WarcBytes) else _record(raw)
        self._stream.write(self._packer.whole(record))

    def finish(self) -> None:
        """Nothing is left."""


def _record(raw: RawPage) -> bytes:
    kind = "text/html" if raw.is_html else "text/plain"
    fields = {
        "WARC-Type": "resource" if raw.is_html else "conversion",
        # WARC has no place for an id: a page without URL keeps it in a URN
        "WARC-Target-URI": raw.url or "urn:neardup:" + quote(raw.id, safe="/:.@"),
        "WARC-Date": format_time(raw.time) if raw.time else NO_DATE,
        "Content-Type": f"{kind}; charset={raw.charset}" if raw.charset else kind,
    }
    return compose(fields, raw.body)
