"""Parts of large files, to be read by other processes: `split_file`, `read_range`.

Plain JSON lines are cut by bytes, Parquet by row groups. Archives can be cut between gzip members
(`cut_archive`), after which their records have to be counted (`count_records`). Other files are one
range.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import BinaryIO, cast

from neardup.pages.archive import Problem, records
from neardup.pages.inputs import File, place_of, resumes
from neardup.pages.jsonl import JsonReader
from neardup.pages.limits import Limits
from neardup.pages.parquet import group_sizes, parquet_blocks
from neardup.pages.raw import Block, gathered, only_skips
from neardup.pages.readers import Reading, unreadable
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
from neardup.pages.warc import WarcReader

STEP = 1 << 19  # bytes of plain JSON lines read at once


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

    @classmethod
    def of(cls, file: File) -> Range:
        """The whole file."""
        return cls(file.path, file.name, file.format or "")

    @property
    def file(self) -> File:
        """The file that it is a part of."""
        return File(self.path, self.name, self.format or None, place_of(self.path))


def split_file(file: File, target_bytes: int) -> list[Range]:
    """The file in ranges of about `target_bytes`, if its format allows it.

    Splitting JSON lines reads the whole file once, to number the lines; only files on this machine
    are split.
    """
    whole = Range.of(file)
    try:
        if file.format == "parquet":
            return _split_row_groups(whole, target_bytes)
        if file.format == "jsonl" and file.is_local:
            return _split_lines(whole, target_bytes)
    except OSError:
        pass  # reading it will say what is wrong
    return [whole]


def _split_row_groups(whole: Range, target_bytes: int) -> list[Range]:
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
    whole = Range.of(file)
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
    file = part.file
    try:
        if part.end:
            yield from _read_part(part, file, limits)
        else:
            yield from Reading(limits, keep_original=False).blocks(file)
    except OSError as error:
        yield partial(only_skips, [unreadable(file, error)])


def _read_part(part: Range, file: File, limits: Limits) -> Iterator[Block]:
    with file.open() as stream:
        if part.format == "parquet":
            groups = range(part.start, part.end)
            yield from parquet_blocks(file.source, stream, limits, row_groups=groups)
        elif part.format == "archive":
            archive = WarcReader(limits)
            content = _members_between(stream, part.start, part.end)
            yield from gathered(archive.read(file, content, part.first))
            yield from gathered(archive.revisits.unresolved())
        else:
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
