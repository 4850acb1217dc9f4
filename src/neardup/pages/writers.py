"""Writes pages as JSON lines, tables or WARC; a page read from the same format is not changed.

A JSON line keeps all its fields, a table row all its columns and their types, a WARC record its
headers and its body as sent. A page from another format is converted: JSON lines and tables take
everything known about it, WARC only the content, the URL and the time. The same pages give the same
bytes, compressed or not. The file appears once everything is written, or not at all.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.errors import OutputError
from neardup.model import RawPage
from neardup.pages.fields import (
    JsonLine,
    TableRow,
    WarcBytes,
    extra_fields,
    format_time,
    json_fields,
    json_value,
    page_fields,
    row_fields,
)
from neardup.pages.warc import NO_DATE, compose
from neardup.plugins import Registry
from neardup.schemas import TIME


class Packer(NamedTuple):
    """Compresses bytes."""

    whole: Callable[[bytes], bytes]  # to a member of its own, as WARC requires for each record
    open: Callable[[BinaryIO], Any]  # a file to write to; closing it leaves the stream open


class _PlainFile:
    def __init__(self, stream: BinaryIO) -> None:
        self.write = stream.write

    def close(self) -> None:
        """Nothing to do: the stream belongs to the caller."""


class _GzipFile(gzip.GzipFile):
    """Without a name or a time, so that the same content gives the same bytes."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__("", "wb", 6, stream, mtime=0)

    def __del__(self) -> None:
        """Write nothing if writing has failed: the stream is closed by then."""


def _zstd() -> Any:
    import zstandard  # noqa: PLC0415

    return zstandard.ZstdCompressor(level=6)


PACKERS = {
    "": Packer(bytes, _PlainFile),
    ".gz": Packer(lambda data: gzip.compress(data, 6, mtime=0), _GzipFile),
    ".zst": Packer(
        lambda data: bytes(_zstd().compress(data)),
        lambda stream: _zstd().stream_writer(stream, closefd=False),
    ),
}


class PageWriter(Protocol):
    """Takes pages one by one."""

    def write(self, raw: RawPage, html_text: str | None = None) -> None:
        """Write a page; `html_text` is its decoded content, for formats that hold text."""

    def finish(self) -> None:
        """Write the remaining pages."""


class WriterFactory(Protocol):
    """The class of a writer, or another function that makes one."""

    may_be_packed: bool  # whether .gz or .zst may follow the ending

    def __call__(self, stream: BinaryIO, packer: Packer) -> PageWriter:
        """A writer to `stream`, which the caller closes."""


WRITERS: Registry[WriterFactory] = Registry(
    "neardup.writers",
    {
        "jsonl": "neardup.pages.writers:JsonWriter",
        "ndjson": "neardup.pages.writers:JsonWriter",
        "warc": "neardup.pages.writers:WarcWriter",
        "parquet": "neardup.pages.writers:ParquetWriter",
        "arrow": "neardup.pages.writers:ArrowWriter",
        "csv": "neardup.pages.writers:CsvWriter",
    },
)


@contextmanager
def writer_for(path: str | Path) -> Iterator[PageWriter]:
    """A writer for the format that the ending of the name stands for (`WRITERS`)."""
    path = Path(path)
    make_writer, packer = _format_of(path)
    with whole_file(path) as stream:
        writer = make_writer(stream, packer)
        yield writer
        writer.finish()


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file that appears under its name only when it is complete."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("wb") as stream:
            yield stream
        beside.replace(path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def check_name(path: Path) -> None:
    """Refuse a name with an ending that no writer has."""
    _format_of(path)


def _format_of(path: Path) -> tuple[WriterFactory, Packer]:
    packed = path.suffix if path.suffix in PACKERS else ""
    factory = WRITERS.get(Path(path.name.removesuffix(packed)).suffix.removeprefix("."))
    if factory is None or (packed and not factory.may_be_packed):
        endings = ", ".join(
            f".{name} (also .gz or .zst)" if writer.may_be_packed else f".{name}"
            for name, writer in WRITERS.items()
        )
        raise OutputError(f"cannot write {path}: the file name must end in {endings}")
    return factory, PACKERS[packed]


class JsonWriter:
    """One object per line; a page that was read from a line is written unchanged."""

    may_be_packed = True

    def __init__(self, stream: BinaryIO, packer: Packer) -> None:
        self._stream = packer.open(stream)

    def write(self, raw: RawPage, html_text: str | None = None) -> None:
        if isinstance(raw.original, JsonLine):
            line = raw.original.line.strip()
        else:
            fields = json_fields(raw, html_text)
            line = json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace")
        self._stream.write(line + b"\n")

    def finish(self) -> None:
        self._stream.close()


_COLUMNS = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("url", pa.string()),
        pa.field("title", pa.string()),
        pa.field("time", TIME),
        pa.field("html", pa.large_string()),
        pa.field("text", pa.large_string()),
        pa.field("extra", pa.string()),  # other fields of a JSON line, as JSON
    ]
)
_GROUP_BYTES = 32_000_000


class ParquetWriter:
    """Rows of a table as they were; other pages in the columns that neardup reads.

    The first page decides the columns; a page that does not fit them is an error.
    """

    may_be_packed = False  # Parquet compresses its columns itself

    def __init__(self, stream: BinaryIO, packer: Packer | None = None) -> None:
        del packer
        self._stream = stream
        self._schema: pa.Schema | None = None
        self._file: Any = None
        self._rows: list[pa.RecordBatch] = []
        self._held = 0

    def write(self, raw: RawPage, html_text: str | None = None) -> None:
        self._rows.append(self._row(raw, html_text))
        self._held += len(raw.body)
        if self._held >= _GROUP_BYTES:
            self._flush()

    def finish(self) -> None:
        """Write the remaining pages; without any, a file without rows."""
        self._flush()
        if self._file:
            self._file.close()

    def _flush(self) -> None:
        schema = self._schema or _COLUMNS
        if self._file is None:
            self._file = self._open(schema)
        if self._rows:
            self._file.write_table(pa.Table.from_batches(self._rows, schema))
        self._rows, self._held = [], 0

    def _open(self, schema: pa.Schema) -> Any:
        return pq.ParquetWriter(self._stream, schema, compression="zstd")

    def _row(self, raw: RawPage, html_text: str | None) -> pa.RecordBatch:
        original = raw.original if isinstance(raw.original, TableRow) else None
        if self._schema is None:
            self._schema = original.batch.schema if original else _COLUMNS
        if original and original.batch.schema.equals(self._schema):
            # A copy of the row, which does not hold on to its batch
            return original.batch.take(pa.array([original.row]))
        fields = _fields(raw, html_text)
        _check_columns(raw, fields, self._schema.names)
        try:
            return pa.RecordBatch.from_pylist([fields], schema=self._schema)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise OutputError(f"{raw.id}: does not fit the columns: {error}") from None


def _check_columns(raw: RawPage, fields: Iterable[str], names: Sequence[str]) -> None:
    extra = [name for name in fields if name not in names]
    if extra:
        raise OutputError(
            f"{raw.source.path}: its column {extra[0]!r} is not in the first page's columns; "
            "write .jsonl, where every page can have its own"
        )


def _fields(raw: RawPage, html_text: str | None) -> dict[str, Any]:
    if isinstance(raw.original, TableRow):
        return row_fields(raw.original)
    fields = page_fields(raw, html_text)
    if extra := extra_fields(raw):
        fields["extra"] = extra
    return fields


class ArrowWriter(ParquetWriter):
    """As `ParquetWriter`, to an Arrow file."""

    def _open(self, schema: pa.Schema) -> Any:
        return pa.ipc.new_file(self._stream, schema)


class CsvWriter:
    """Rows of a table as they were; of other pages the fields that are known.

    The first page decides the columns; a page that does not fit them is an error.
    """

    may_be_packed = True

    def __init__(self, stream: BinaryIO, packer: Packer) -> None:
        self._stream = packer.open(stream)
        self._names: list[str] | None = None

    def write(self, raw: RawPage, html_text: str | None = None) -> None:
        fields = _fields(raw, html_text)
        if self._names is None:
            self._names = list(fields)
            self._write(self._names)
        _check_columns(raw, fields, self._names)
        self._write(["" if fields.get(name) is None else fields[name] for name in self._names])

    def finish(self) -> None:
        self._stream.close()

    def _write(self, row: Sequence[object]) -> None:
        line = io.StringIO(newline="")
        csv.writer(line).writerow([json_value(value) for value in row])
        self._stream.write(line.getvalue().encode("utf-8", "replace"))


class WarcWriter:
    """Records as they were; pages of other formats as resource records, texts as conversions."""

    may_be_packed = True

    def __init__(self, stream: BinaryIO, packer: Packer) -> None:
        self._stream = stream
        self._packer = packer

    def write(self, raw: RawPage, html_text: str | None = None) -> None:
        """Write a page; its bytes go out as they came, so the decoded text is not needed."""
        del html_text
        self.write_record(warc_record(raw))

    def write_record(self, record: bytes) -> None:
        """Write a record that is composed already."""
        self._stream.write(self._packer.whole(record))

    def finish(self) -> None:
        """Nothing to do: every page is written at once."""


def warc_record(raw: RawPage) -> bytes:
    """The record of a page, as it was read if it was one."""
    if isinstance(raw.original, WarcBytes):
        return raw.original.record
    kind = "text/html" if raw.is_html else "text/plain"
    fields = {
        "WARC-Type": "resource" if raw.is_html else "conversion",
        # WARC has no place for an id: a page without URL keeps it in a URN
        "WARC-Target-URI": raw.url or "urn:neardup:" + quote(raw.id, safe="/:.@"),
        "WARC-Date": format_time(raw.time) if raw.time else NO_DATE,
        "Content-Type": f"{kind}; charset={raw.charset}" if raw.charset else kind,
    }
    return compose(fields, raw.body)
