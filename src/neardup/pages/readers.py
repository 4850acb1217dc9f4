"""One stream of records out of many files, each read by the reader of its format.

Large files can be read in ranges (`split_file`, `read_range`): plain JSON lines by bytes, Parquet
by row groups. Other files are one range.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import BinaryIO

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.formats import FORMATS, Reader, format_of_content, known_endings
from neardup.pages.inputs import IGNORED, File, place_of, resumes
from neardup.pages.limits import Limits
from neardup.pages.streams import Chunk, Chunks, chunks, is_compressed

STEP = 1 << 20  # bytes read at once to count lines


@dataclass(frozen=True, slots=True)
class Range:
    """A file, or a part of one, that can be read by itself, in another process too.

    `start` and `end` are bytes of JSON lines, at the beginning of a line, or row groups of
    Parquet; `end` is 0 for all the rest. `first` is the number of the first record.
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


def read_range(part: Range, limits: Limits) -> Iterator[RawPage | Skip]:
    """The records of a range, with the numbers they have in the whole file.

    Records that an archive only refers to (revisits) are left to the caller.
    """
    file = part.file
    if not part.end:
        return Reading(limits, keep_original=False).read_file(file)
    return guarded(file, _read_part(part, file, limits))


def _read_part(part: Range, file: File, limits: Limits) -> Iterator[RawPage | Skip]:
    with file.open() as stream:
        if part.format == "parquet":
            from neardup.pages.parquet import read_parquet  # noqa: PLC0415

            groups = range(part.start, part.end)
            yield from read_parquet(file.source, stream, limits, row_groups=groups)
        else:
            from neardup.pages.jsonl import read_lines  # noqa: PLC0415

            content = Chunks(_bytes_between(stream, part.start, part.end))
            yield from read_lines(file.source, content, limits, first=part.first)


def _bytes_between(stream: BinaryIO, start: int, end: int) -> Iterator[Chunk]:
    stream.seek(start)
    opens = start == 0
    while start < end and (data := stream.read(min(STEP, end - start))):
        yield Chunk(data, opens)
        start, opens = start + len(data), False


class Reading:
    """One pass over the files of a run."""

    def __init__(self, limits: Limits, *, keep_original: bool) -> None:
        self._limits = limits
        self._keep_original = keep_original
        self._readers: dict[str, Reader] = {}

    def read(self, files: Iterable[File]) -> Iterator[RawPage | Skip]:
        """The records of all files in order, then what readers can only tell at the end."""
        for file in files:
            yield from self.read_file(file)
        for reader in self._readers.values():
            yield from reader.finish()

    def read_file(self, file: File) -> Iterator[RawPage | Skip]:
        """The records of one file; if it cannot be read, a skip that says why."""
        return guarded(file, self._read_file(file))

    def _read_file(self, file: File) -> Iterator[RawPage | Skip]:
        if file.format == IGNORED:
            detail = "not a page by its name"
            yield Skip(Source(file.source), SkipReason.NOT_HTML, detail, file.name)
            return
        with file.open() as stream:
            content = _Peeked(chunks(stream, resumes))
            form = file.format or format_of_content(content.start)
            if content.is_empty:
                yield Skip(Source(file.source), SkipReason.EMPTY, "the file is empty", file.name)
            elif not form:
                detail = f"neither name nor content tells the format; known are {known_endings()}"
                yield Skip(Source(file.source), SkipReason.UNREADABLE, detail, file.name)
            else:
                yield from self._reader(form).read(file, content.chunks)

    def _reader(self, name: str) -> Reader:
        if name not in self._readers:
            form = FORMATS.get(name)
            assert form is not None
            self._readers[name] = form.make_reader(self._limits, keep_original=self._keep_original)
        return self._readers[name]


class _Peeked:
    """Chunks whose first bytes have been looked at."""

    def __init__(self, source: Chunks) -> None:
        first = next(source, None)
        self.is_empty = first is None
        self.start = first.data if first else b""
        self.chunks = Chunks(chain([first] if first else [], source), source.size)


def guarded(file: File, pages: Iterator[RawPage | Skip]) -> Iterator[RawPage | Skip]:
    """A file that cannot be read is one skip."""
    try:
        yield from pages
    except OSError as error:
        detail = error.strerror or str(error)
        yield Skip(Source(file.source), SkipReason.UNREADABLE, detail, file.name)


class TextReader:
    """Files that are one page of plain text each."""

    is_html = False

    def __init__(self, limits: Limits, keep_original: bool) -> None:
        del keep_original  # a file is its own original
        self._limits = limits

    def read(self, file: File, content: Chunks) -> Iterator[RawPage | Skip]:
        """The page. Its time is unknown: a file's own changes with every copy."""
        yield self._page(file, content)

    def finish(self) -> Iterator[RawPage | Skip]:
        """Nothing: every file has been read whole."""
        return iter(())

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
