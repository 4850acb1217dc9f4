"""One stream of records out of many files, each read by the reader of its format.

`read_records` gives one record after another, for people and for writing pages back; `read` Arrow
batches of them. `Reading.sources` gives the same records in blocks, for several threads: each
source is read by one thread at a time, and blocks are parsed by any.

Large files can also be read in ranges (`split_file`, `read_range`), by other processes: plain JSON
lines by bytes, Parquet by row groups. Archives can be cut between gzip members (`cut_archive`),
after which their records have to be counted (`count_records`). Other files are one range.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from threading import Lock
from typing import TYPE_CHECKING, BinaryIO, cast

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
from neardup.pages.inputs import IGNORED, File, find_files, place_of, resumes
from neardup.pages.limits import Limits
from neardup.pages.streams import (
    CHUNK,
    GZIP_MEMBER,
    BrokenError,
    Chunk,
    Chunks,
    Gzip,
    chunks,
    is_compressed,
)

if TYPE_CHECKING:
    from neardup.pages.raw import Block, RawBatch

STEP = 1 << 19  # bytes of plain JSON lines read at once
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


@dataclass(frozen=True, slots=True)
class Range:
    """A file, or a part of one, that can be read by itself, in another process too.

    `start` and `end` are bytes of JSON lines, at the beginning of a line, bytes of an archive, at
    the beginning of a gzip member, or row groups of Parquet; `end` is 0 for all the rest. `first`
    is the number of the first record.
    """

    path: str
    name: str
    format: str = ""  # empty if only the content can tell
    start: int = 0
    end: int = 0
    first: int = 0

    @property
    def file(self) -> File:
        """The file that it is a part of."""
        return File(self.path, self.name, self.format or None, place_of(self.path))


def split_file(file: File, target_bytes: int) -> list[Range]:
    """The file in ranges of about `target_bytes`, if its format allows it.

    Splitting JSON lines reads the whole file once, to number the lines; only files on this machine
    are split.
    """
    whole = Range(file.path, file.name, file.format or "")
    try:
        if file.format == "parquet":
            return _split_row_groups(whole, target_bytes)
        if file.format == "jsonl" and file.is_local:
            return _split_lines(whole, target_bytes)
    except OSError:
        pass  # reading it will say what is wrong
    return [whole]


def _split_row_groups(whole: Range, target_bytes: int) -> list[Range]:
    from neardup.pages.parquet import group_sizes  # noqa: PLC0415 - pyarrow is heavy

    with whole.file.open() as stream:
        groups = group_sizes(stream)
    ranges: list[Range] = []
    start, held, first, row = 0, 0, 0, 0
    for group, (rows, size) in enumerate(groups):
        if held and held + size > target_bytes:
            ranges.append(replace(whole, start=start, end=group, first=first))
            start, held, first = group, 0, row
        held += size
        row += rows
    last = replace(whole, start=start, end=len(groups), first=first)
    return [*ranges, last] if ranges else [whole]


def _split_lines(whole: Range, target_bytes: int) -> list[Range]:
    with whole.file.open() as stream:
        beginning = stream.read(STEP)
        if is_compressed(beginning) or len(beginning) < STEP <= target_bytes:
            return [whole]
        ranges: list[Range] = []
        start, first, line, at, data = 0, 0, 0, 0, beginning
        while data:
            newline = -1
            if at + len(data) - start >= target_bytes:
                newline = data.find(b"\n", max(0, start + target_bytes - at))
            if newline >= 0:
                line += data.count(b"\n", 0, newline + 1)
                at += newline + 1
                ranges.append(replace(whole, start=start, end=at, first=first))
                start, first, data = at, line, data[newline + 1 :]
                continue
            line += data.count(b"\n")
            at += len(data)
            data = stream.read(STEP)
    if at > start:
        ranges.append(replace(whole, start=start, end=at, first=first))
    return ranges if len(ranges) > 1 else [whole]


def cut_archive(file: File, target_bytes: int) -> list[Range]:
    """An archive in ranges of about `target_bytes` that look as if they began with a gzip member
    and a record; `first` is not set. They do if `count_records` can count all of them."""
    whole = Range(file.path, file.name, file.format or "")
    if not file.is_local or os.stat(file.path).st_size < 2 * target_bytes:  # noqa: PTH116
        return [whole]
    starts = [0]
    with file.open() as stream:
        size = stream.seek(0, os.SEEK_END)
        while (start := _next_member(stream, starts[-1] + target_bytes, size)) < size:
            starts.append(start)
    if len(starts) == 1:
        return [whole]
    return [replace(whole, start=start, end=end) for start, end in pairwise([*starts, size])]


def _next_member(stream: BinaryIO, at: int, size: int) -> int:
    """Where the next gzip member begins that begins with a record; `size` if there is none."""
    while at < size:
        stream.seek(at)
        data = stream.read(4 * CHUNK)
        is_last = at + len(data) >= size
        searched = len(data) if is_last else len(data) - CHUNK  # a member's beginning is looked at
        for member in GZIP_MEMBER.finditer(data, 0, searched):
            with suppress(BrokenError):
                if resumes(Gzip().feed(data[member.start() : member.start() + CHUNK])):
                    return at + member.start()
        at = size if is_last else at + searched - 3
    return size


def count_records(part: Range, limits: Limits) -> int | None:
    """How many records a range of an archive has; None unless it consists of whole gzip members
    with whole records."""
    from neardup.pages.archive import Problem, records  # noqa: PLC0415

    count = 0
    with part.file.open() as stream:
        for record in records(_members_between(stream, part.start, part.end), limits):
            if isinstance(record, Problem):
                return None
            count += 1
    return count


def read_range(part: Range, limits: Limits) -> Iterator[Block]:
    """The records of a range in blocks, with the numbers they have in the whole file.

    Of an archive, records that repeat one outside the range (revisits) are skips.
    """
    from neardup.pages.raw import only_skips  # noqa: PLC0415 - pyarrow is heavy

    file = part.file
    try:
        if part.end:
            yield from _read_part(part, file, limits)
        else:
            yield from Reading(limits, keep_original=False).blocks(file)
    except OSError as error:
        yield partial(only_skips, [_unreadable(file, error)])


def _read_part(part: Range, file: File, limits: Limits) -> Iterator[Block]:
    with file.open() as stream:
        if part.format == "parquet":
            from neardup.pages.parquet import parquet_blocks  # noqa: PLC0415

            groups = range(part.start, part.end)
            yield from parquet_blocks(file.source, stream, limits, row_groups=groups)
        elif part.format == "archive":
            from neardup.pages.raw import gathered  # noqa: PLC0415
            from neardup.pages.warc import WarcReader  # noqa: PLC0415

            archive = WarcReader(limits)
            content = _members_between(stream, part.start, part.end)
            yield from gathered(archive.read(file, content, part.first))
            yield from gathered(archive.revisits.unresolved())
        else:
            from neardup.pages.jsonl import JsonReader  # noqa: PLC0415

            content = Chunks(_bytes_between(stream, part.start, part.end))
            reader = JsonReader(limits, keep_original=False)
            yield from reader.blocks(file, content, first=part.first)


def _bytes_between(stream: BinaryIO, start: int, end: int) -> Iterator[Chunk]:
    stream.seek(start)
    opens = start == 0
    while start < end and (data := stream.read(min(STEP, end - start))):
        yield Chunk(data, opens)
        start, opens = start + len(data), False


def _members_between(stream: BinaryIO, start: int, end: int) -> Chunks:
    stream.seek(start)
    return chunks(cast(BinaryIO, _Section(stream, end - start)), resumes)


class _Section:
    """The next bytes of a file, as a stream of its own."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream = stream
        self._left = size

    def read(self, size: int) -> bytes:
        data = self._stream.read(min(size, self._left))
        self._left -= len(data)
        return data

    def seekable(self) -> bool:
        return False


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
            yield partial(only_skips, [_unreadable(file, error)])

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
        yield _unreadable(file, error)


def _unreadable(file: File, error: OSError) -> Skip:
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
