"""The formats that pages are read from: how a file of each is recognised, and what reads it.

A new format is a module with a reader and a `Format`, registered here or, from another package, in
the entry point group `neardup.readers`:

    [project.entry-points."neardup.readers"]
    mhtml = "my_package.mhtml:FORMAT"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from neardup.model import RawPage, Skip
from neardup.pages.archive import RECORD_START
from neardup.pages.limits import Limits
from neardup.pages.streams import Chunks
from neardup.plugins import Registry

if TYPE_CHECKING:
    from neardup.pages.inputs import File
    from neardup.pages.raw import Block

_NAME = re.compile(r"\.([a-z0-9]+)(?:\.(?:gz|zst))?$", re.I)
_MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*<[a-z!?]", re.I)
_OBJECT = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")


class Reader(Protocol):
    """Reads the files of one format, one after another, for one run."""

    def read(self, file: File, content: Chunks) -> Iterator[RawPage | Skip]:
        """The records of a file; `content` is decompressed, `file.open()` gives it as it is."""

    def finish(self) -> Iterator[RawPage | Skip]:
        """Records that could only be made when all files were read."""


class RecordReader:
    """The base of readers whose records do not depend on each other."""

    def __init__(self, limits: Limits, keep_original: bool) -> None:
        self._limits = limits
        self._keep_original = keep_original

    def finish(self) -> Iterator[RawPage | Skip]:
        """No records are left to make."""
        return iter(())


@runtime_checkable
class ReadsBlocks(Protocol):
    """A reader that also gives many records at once, by column. The records are the same."""

    def blocks(self, file: File, content: Chunks) -> Iterator[Block]:
        """The records of a file in blocks; what a block has left to do runs in any thread."""


ReaderFactory = Callable[[Limits, bool], Reader]  # from the limits and `keep_original`


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file. `reader` may be `module:attribute`, which is imported when it is needed."""

    endings: tuple[str, ...]  # of names, without a dot; .gz and .zst may follow
    reader: ReaderFactory | str
    sniff: Callable[[bytes], bool]  # whether a file that begins like this is of the format
    is_one_page: bool = False  # a file holds one page

    def make_reader(self, limits: Limits, *, keep_original: bool) -> Reader:
        make = resolve_name(self.reader) if isinstance(self.reader, str) else self.reader
        return cast(ReaderFactory, make)(limits, keep_original)


FORMATS: Registry[Format] = Registry(
    "neardup.readers",
    {
        "archive": Format(
            ("warc", "arc", "wet"),
            "neardup.pages.warc:WarcReader",
            lambda start: RECORD_START.match(start) is not None,
        ),
        "parquet": Format(
            ("parquet",),
            "neardup.pages.parquet:ParquetReader",
            lambda start: start.startswith(b"PAR1"),
        ),
        "jsonl": Format(
            ("jsonl", "ndjson", "json"),
            "neardup.pages.jsonl:JsonReader",
            lambda start: _OBJECT.match(start) is not None,
        ),
        "arrow": Format(
            ("arrow", "feather", "ipc"),
            "neardup.pages.arrow:ArrowReader",
            lambda start: start.startswith((b"ARROW1\0\0", b"\xff\xff\xff\xff")),
        ),
        "csv": Format(("csv", "tsv"), "neardup.pages.csv:CsvReader", lambda _: False),
        "html": Format(
            ("html", "htm", "xhtml"),
            "neardup.pages.readers:HtmlReader",
            lambda start: _MARKUP.match(start) is not None,
            is_one_page=True,
        ),
        "text": Format(
            ("txt",), "neardup.pages.readers:TextReader", lambda _: False, is_one_page=True
        ),
    },
)


def format_of_name(path: str) -> str:
    """The format whose ending a name has, under .gz and .zst too; empty without one."""
    match = _NAME.search(path)
    ending = match[1].lower() if match else ""
    return next((name for name, each in FORMATS.items() if ending in each.endings), "")


def format_of_content(start: bytes) -> str:
    """The first format that recognises the first bytes of a file; empty without one."""
    return next((name for name, each in FORMATS.items() if each.sniff(start)), "")


def known_endings() -> str:
    """Every ending that is known, for messages."""
    return ", ".join(f".{ending}" for _, each in FORMATS.items() for ending in each.endings)
