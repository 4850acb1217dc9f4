"""One stream of records out of many files, each read by the reader of its format.

`read_records` gives one record after another, for people and for writing pages back; `read` Arrow
batches of them. `Reading.sources` gives the same records in blocks, for several threads: each
source is read by one thread at a time, and blocks are parsed by any.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING

from neardup.errors import InputError
from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.formats import (
    FORMATS,
    Reader,
    ReadsBlocks,
    RecordReader,
    format_of_content,
    known_endings,
)
from neardup.pages.inputs import IGNORED, File, find_files, resumes
from neardup.pages.limits import Limits
from neardup.pages.streams import (
    Chunks,
    chunks,
)

if TYPE_CHECKING:
    from neardup.pages.raw import Block, RawBatch

# Small files are read together, as one source of at most so many files and bytes.
SMALL_BYTES, FILES_TOGETHER, BYTES_TOGETHER = 1_000_000, 1024, 32_000_000


def read(
    inputs: Sequence[str], limits: Limits | None = None, *, max_pages: int | None = None
) -> Iterator[RawBatch]:
    """The pages of `inputs` as Arrow batches, bounded in bytes and rows; see `read_records`."""
    from neardup.pages.raw import readable, sliced  # noqa: PLC0415 - pyarrow is heavy

    reading = Reading(limits or Limits(), keep_original=False)
    sources = reading.sources(find_files(inputs))
    batches = (block() for source in sources for block in source)
    last = (block() for block in reading.last_source())
    return sliced(readable(chain(batches, last)), max_pages)


def read_records(
    inputs: Sequence[str], limits: Limits | None = None, *, keep_original: bool = False
) -> Iterator[RawPage | Skip]:
    """The records of files, folders and globs, local or remote; `-` reads JSON lines from stdin.

    The same inputs give the same records in the same order, however the inputs are ordered. An
    input that matches nothing raises `InputError` at once; if the only file cannot be read, the
    first step of the iterator does.
    """
    files = find_files(inputs)
    reading = Reading(limits or Limits(), keep_original=keep_original)
    return _readable(reading.read(files))


def _readable(items: Iterator[RawPage | Skip]) -> Iterator[RawPage | Skip]:
    """The items; an error if the only one is a file that cannot be read."""
    first, second = next(items, None), next(items, None)
    if second is None and isinstance(first, Skip) and first.reason is SkipReason.UNREADABLE:
        raise InputError(f"{first.source.path}: {first.detail}")
    for item in (first, second):
        if item is not None:
            yield item
    yield from items


class Reading:
    """One pass over the files of a run."""

    def __init__(self, limits: Limits, *, keep_original: bool) -> None:
        self._limits = limits
        self._keep_original = keep_original
        self._readers: dict[str, Reader] = {}
        self._lock = Lock()

    def sources(self, files: Iterable[File]) -> Iterator[Iterator[Block]]:
        """The files, or some small ones together, each as an iterator over its blocks.

        Call `last_source` when all of them are read.
        """
        for together in _together(files):
            if len(together) > 1 or _is_one_page(together[0]):
                from neardup.pages.raw import gathered  # noqa: PLC0415 - pyarrow is heavy

                yield gathered(chain.from_iterable(map(self.read_file, together)))
            else:
                yield self.blocks(together[0])

    def last_source(self) -> Iterator[Block]:
        """The records that readers can make only when all files are read."""
        from neardup.pages.raw import gathered  # noqa: PLC0415

        return gathered(self._finish())

    def _finish(self) -> Iterator[RawPage | Skip]:
        for reader in self._readers.values():
            yield from reader.finish()

    def blocks(self, file: File) -> Iterator[Block]:
        """The records of one file in blocks; if it cannot be read, a skip that says why."""
        from neardup.pages.raw import only_skips  # noqa: PLC0415

        try:
            yield from self._blocks(file)
        except OSError as error:
            yield partial(only_skips, [unreadable(file, error)])

    def _blocks(self, file: File) -> Iterator[Block]:
        from neardup.pages.raw import gathered, only_skips  # noqa: PLC0415

        with self._opened(file) as (problem, form, content):
            if problem is not None:
                yield partial(only_skips, [problem])
                return
            reader = self._reader(form)
            if isinstance(reader, ReadsBlocks):
                yield from reader.blocks(file, content)
            else:
                yield from gathered(reader.read(file, content))

    def read(self, files: Iterable[File]) -> Iterator[RawPage | Skip]:
        """The records of all files in order, then those that need all files."""
        for file in files:
            yield from self.read_file(file)
        yield from self._finish()

    def read_file(self, file: File) -> Iterator[RawPage | Skip]:
        """The records of one file; if it cannot be read, a skip that says why."""
        return guarded(file, self._read_file(file))

    def _read_file(self, file: File) -> Iterator[RawPage | Skip]:
        with self._opened(file) as (problem, form, content):
            if problem is not None:
                yield problem
            else:
                yield from self._reader(form).read(file, content)

    @contextmanager
    def _opened(self, file: File) -> Iterator[tuple[Skip | None, str, Chunks]]:
        """Why the file holds no pages, or its format and content."""
        source = Source(file.source)
        if file.format == IGNORED:
            detail = "not a page by its name"
            yield Skip(source, SkipReason.NOT_HTML, detail, file.name), "", Chunks(iter(()))
            return
        with file.open() as stream:
            content = chunks(stream, resumes)
            first = content.peek()
            form = file.format or format_of_content(first.data if first else b"")
            problem = None
            if first is None:
                problem = Skip(source, SkipReason.EMPTY, "the file is empty", file.name)
            elif not form:
                detail = f"neither name nor content tells the format; known are {known_endings()}"
                problem = Skip(source, SkipReason.UNREADABLE, detail, file.name)
            yield problem, form, content

    def _reader(self, name: str) -> Reader:
        with self._lock:
            if name not in self._readers:
                form = FORMATS.get(name)
                assert form is not None
                keep = self._keep_original
                self._readers[name] = form.make_reader(self._limits, keep_original=keep)
            return self._readers[name]


def _together(files: Iterable[File]) -> Iterator[list[File]]:
    """Consecutive small files together, every other file alone."""
    small: list[File] = []
    held = 0
    for file in files:
        size = _small_size(file)
        if small and (size is None or len(small) >= FILES_TOGETHER or held > BYTES_TOGETHER):
            yield small
            small, held = [], 0
        if size is None:
            yield [file]
        else:
            small.append(file)
            held += size
    if small:
        yield small


def _small_size(file: File) -> int | None:
    """The bytes of a file that is small, or of one page; None for all others."""
    if not file.is_local:
        return 0 if _is_one_page(file) else None
    size = os.stat(file.path).st_size  # noqa: PTH116
    return size if _is_one_page(file) or size < SMALL_BYTES else None


def _is_one_page(file: File) -> bool:
    if file.format is None:
        return False
    form = FORMATS.get(file.format)
    return form is None or form.is_one_page  # None: ignored


def guarded(file: File, pages: Iterator[RawPage | Skip]) -> Iterator[RawPage | Skip]:
    """A file that cannot be read is one skip."""
    try:
        yield from pages
    except OSError as error:
        yield unreadable(file, error)


def unreadable(file: File, error: OSError) -> Skip:
    """The skip of a file that cannot be read."""
    detail = error.strerror or str(error)
    return Skip(Source(file.source), SkipReason.UNREADABLE, detail, file.name)


class TextReader(RecordReader):
    """Files that are one page of plain text each; a file is its own original."""

    is_html = False

    def read(self, file: File, content: Chunks) -> Iterator[RawPage | Skip]:
        """The page. Its time is unknown: a file's own changes with every copy."""
        yield self._page(file, content)

    def _page(self, file: File, content: Chunks) -> RawPage | Skip:
        source = Source(file.source)
        pieces: list[bytes] = []
        size = 0
        for data, _, damage in content:
            if damage:
                return Skip(source, damage.reason, damage.detail, file.name)
            size += len(data)
            if size > self._limits.page_bytes:
                detail = f"above {self._limits.page_bytes} bytes"
                return Skip(source, SkipReason.TOO_LARGE, detail, file.name)
            pieces.append(data)
        if not size:
            return Skip(source, SkipReason.EMPTY, "the file is empty", file.name)
        # Two folders may hold the same relative path; the whole path tells the pages apart
        url = self._limits.url_of(file.name)
        return RawPage(file.name, b"".join(pieces), self.is_html, source, url, again=file.source)


class HtmlReader(TextReader):
    """Files that are one page of HTML each."""

    is_html = True
