"""Writing pages back: as JSON lines, Parquet or WARC, in the form they came in where that is one.

A JSON line keeps all its fields, a Parquet row all its columns, a WARC record its heads and its
body as sent. A page that came in another form is converted: JSON lines and Parquet take all that
is known of it, WARC the content, the URL and the time (it has no place for more). The file appears
whole when all is written, or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol

from neardup.errors import OutputError
from neardup.model import RawPage
from neardup.pages.packing import Packer, packer_of

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
        from neardup.pages.write_parquet import ParquetWriter  # noqa: PLC0415 - pyarrow is heavy

        return ParquetWriter(stream)
    if kind == ".warc":
        from neardup.pages.write_warc import WarcWriter  # noqa: PLC0415

        return WarcWriter(stream, packer)
    from neardup.pages.write_jsonl import JsonWriter  # noqa: PLC0415

    return JsonWriter(stream, packer)
