"""Pages in JSON lines: one object per line.

`read_lines` gives page after page. `line_blocks` cuts a file into blocks of many lines, which
`read_block` reads by column (`kernels.json_lines`) with the same result.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.fields import JsonLine, page_from_fields
from neardup.pages.formats import RecordReader
from neardup.pages.inputs import File
from neardup.pages.limits import Limits, nested_names, no_content
from neardup.pages.streams import Chunks, Damage

if TYPE_CHECKING:
    from neardup.kernels.jit import Bytes
    from neardup.pages.raw import Block, RawBatch

BLOCK_BYTES = 8 * 1024**2
MARK = b"\xef\xbb\xbf"  # the byte order mark of UTF-8


def read_lines(
    path: str,
    chunks: Chunks,
    limits: Limits,
    *,
    keep_original: bool = False,
    first: int = 0,
    every_line: bool = False,
) -> Iterator[RawPage | Skip]:
    """The pages of a file, in order; its first line has the number `first`.

    With `every_line` a blank line is a skip; otherwise it is ignored.
    """
    empty = True
    for number, line in enumerate(_lines(chunks, limits.line_bytes, first), first):
        empty = False
        source = Source(path, number)
        if not isinstance(line, bytes):
            yield _unread(source, line, limits)
        elif line.strip():
            yield _page(line, source, limits, keep_original=keep_original)
        elif every_line:
            yield Skip(source, SkipReason.EMPTY, f"line {number + 1} is blank")
    if empty and not every_line:
        yield Skip(Source(path), SkipReason.EMPTY, "the file is empty")


class JsonReader(RecordReader):
    def read(self, file: File, content: Chunks) -> Iterator[RawPage | Skip]:
        return read_lines(file.source, content, self._limits, keep_original=self._keep_original)

    def blocks(self, file: File, content: Chunks, first: int = 0) -> Iterator[Block]:
        """The same pages in blocks of lines, each of which can be read independently."""
        return line_blocks(file.source, content, self._limits, first)


def _page(line: bytes, source: Source, limits: Limits, *, keep_original: bool) -> RawPage | Skip:
    try:
        fields = json.loads(line.decode())
    except UnicodeDecodeError:
        return _bad(source, "not UTF-8")
    except (ValueError, RecursionError) as error:
        return _bad(source, f"not JSON: {error}")
    if not isinstance(fields, dict):
        return _bad(source, "not an object")
    original = JsonLine(line) if keep_original else None
    page = page_from_fields(limits.columns.pick(fields), source, limits, original)
    if isinstance(page, Skip) and page.reason is SkipReason.NO_CONTENT:
        return replace(page, detail=no_content(limits.columns, nested_names(fields)))
    return page


def _bad(source: Source, what: str) -> Skip:
    return Skip(source, SkipReason.BAD_JSON, f"line {source.record + 1}: {what}")


def _unread(source: Source, damage: Damage | None, limits: Limits) -> Skip:
    """The skip of a line that is damaged, or else too long."""
    reason = damage.reason if damage else SkipReason.TOO_LARGE
    detail = damage.detail if damage else f"longer than {limits.line_bytes} bytes"
    return Skip(source, reason, f"line {source.record + 1}: {detail}")


def line_blocks(path: str, chunks: Chunks, limits: Limits, first: int = 0) -> Iterator[Block]:
    """The pages of a file, in order, some megabytes of lines at a time."""
    from neardup.pages.json_columns import line_count  # noqa: PLC0415 - numba is heavy
    from neardup.pages.raw import gathered, only_skips  # noqa: PLC0415 - pyarrow is heavy

    if any("." in name for name in limits.columns.by_content.values()):
        yield from gathered(read_lines(path, chunks, limits, first=first))  # nested: for Python
        return
    number = first
    for block in _cut(chunks, limits.line_bytes):
        if block is None or isinstance(block, Damage):
            yield partial(only_skips, [_unread(Source(path, number), block, limits)])
            number += 1
        else:
            lines = Lines(number, line_count(block), block)
            yield partial(read_block, path, lines, limits)
            number += lines.total
    if number == first:
        yield partial(only_skips, [Skip(Source(path), SkipReason.EMPTY, "the file is empty")])


class Lines(NamedTuple):
    """Whole lines: the number of the first, how many there are, and their bytes with padding."""

    number: int
    total: int
    text: Bytes


def read_block(path: str, lines: Lines, limits: Limits) -> RawBatch:
    """The pages of some lines, by column; lines that are not plain are read one by one."""
    from neardup.pages.json_columns import read_columns  # noqa: PLC0415 - pyarrow is heavy

    def read_odd(number: int, line: bytes) -> RawPage | Skip | None:
        source = Source(path, lines.number + number)
        return _page(line, source, limits, keep_original=False) if line.strip() else None

    return read_columns(path, lines.text, lines.total, lines.number, limits, read_odd)


def _cut(chunks: Chunks, limit: int) -> Iterator[Bytes | Damage | None]:
    """Blocks of whole lines, padded for the kernel; damage; and None for a line that is too long.

    Chunks are far smaller than the limit of a line, so only a line that began in an earlier chunk
    can exceed it.
    """
    from neardup.pages.json_columns import LineBlock  # noqa: PLC0415 - numba is heavy

    block = LineBlock(limit)
    is_first = True
    for data, opens, damage in chunks:
        if damage:
            if block.whole:
                yield block.take()
            yield damage
            block.start = 0
        start = len(MARK) if is_first and opens and data.startswith(MARK) else 0
        is_first = is_first and len(data) == start
        end = data.find(b"\n", start)
        if end >= 0 and block.start + end - start > limit:
            if block.whole:
                yield block.take()
            yield None
            block.start, start = 0, end + 1
        view = memoryview(data)
        if end := data.rfind(b"\n", start) + 1:
            block.add_lines(view[start:end])
            start = end
        block.add_start(view[start:])
        if block.whole >= BLOCK_BYTES:
            yield block.take()
    is_too_long = block.start > limit
    if not is_too_long:
        block.add_lines(memoryview(b""))  # the last line need not end
    if block.whole:
        yield block.take()
    if is_too_long:
        yield None


def _lines(chunks: Chunks, limit: int, number: int) -> Iterator[bytes | Damage | None]:
    """Lines without their ends, damage, and None for a line of more than `limit` bytes."""
    line = _Pieces(limit)
    for data, opens, damage in chunks:
        if damage:
            yield damage
            line.take()
            number += 1
        start = len(MARK) if opens and number == 0 and data.startswith(MARK) else 0
        while (end := data.find(b"\n", start)) >= 0:
            line.add(data[start:end])
            yield line.take()
            number, start = number + 1, end + 1
        line.add(data[start:])
    if line.size:
        yield line.take()


class _Pieces:
    """Bytes in pieces; of more than `limit` bytes only the size is kept."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self.size = 0

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size <= self._limit:
            self._pieces.append(piece)
        else:
            self._pieces.clear()

    def take(self) -> bytes | None:
        """All bytes, or None if there were too many; nothing is left."""
        content = b"".join(self._pieces) if self.size <= self._limit else None
        self._pieces, self.size = [], 0
        return content
