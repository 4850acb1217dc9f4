"""Pages in JSON lines: one object per line.

`read_lines` gives page after page, `line_blocks` many lines at once for `read_block`, which reads
them by column (`kernels.json_lines`) and is the same to the result.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.columns import nested_names, no_content
from neardup.pages.fields import JsonLine, page_from_fields
from neardup.pages.inputs import File
from neardup.pages.limits import Limits
from neardup.pages.streams import Chunks, Damage

if TYPE_CHECKING:
    from neardup.pages.raw import Block, RawBatch

BLOCK_BYTES = 8 * 1024**2


class Line(NamedTuple):
    """A line without its end; `text` is None if it was too long."""

    number: int
    text: bytes | None
    damage: Damage | None = None


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

    With `every_line` a blank line is a skip, not nothing.
    """
    empty = True
    for number, text, damage in _lines(chunks, limits.line_bytes, first):
        empty = False
        source = Source(path, number)
        if damage:
            yield Skip(source, damage.reason, f"line {number + 1}: {damage.detail}")
        elif text is None:
            detail = f"line {number + 1}: longer than {limits.line_bytes} bytes"
            yield Skip(source, SkipReason.TOO_LARGE, detail)
        elif text.strip():
            yield _page(text, source, limits, keep_original=keep_original)
        elif every_line:
            yield Skip(source, SkipReason.EMPTY, f"line {number + 1} is blank")
    if empty and not every_line:
        yield Skip(Source(path), SkipReason.EMPTY, "the file is empty")


class JsonReader:
    def __init__(self, limits: Limits, keep_original: bool) -> None:
        self._limits = limits
        self._keep_original = keep_original

    def read(self, file: File, content: Chunks) -> Iterator[RawPage | Skip]:
        return read_lines(file.source, content, self._limits, keep_original=self._keep_original)

    def blocks(self, file: File, content: Chunks, first: int = 0) -> Iterator[Block]:
        """The same by blocks of lines; what is left to do for each needs nothing of the others."""
        return line_blocks(file.source, content, self._limits, first)

    def finish(self) -> Iterator[RawPage | Skip]:
        """Nothing to do: lines do not depend on each other."""
        return iter(())


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


def line_blocks(path: str, chunks: Chunks, limits: Limits, first: int = 0) -> Iterator[Block]:
    """The pages of a file, in order, some megabytes of lines at a time."""
    from neardup.pages.raw import gathered, only_skips  # noqa: PLC0415 - pyarrow is heavy

    if any("." in name for name in limits.columns.by_content.values()):
        yield from gathered(read_lines(path, chunks, limits, first=first))  # nested: for Python
        return
    empty = True
    for item in _cut(chunks, limits.line_bytes, first):
        empty = False
        if isinstance(item, Line):
            yield partial(only_skips, [_unread(path, item, limits)])
        else:
            yield partial(read_block, path, item, limits)
    if empty:
        yield partial(only_skips, [Skip(Source(path), SkipReason.EMPTY, "the file is empty")])


class Lines(NamedTuple):
    """Whole lines: the number of the first, how many there are, and their bytes."""

    number: int
    total: int
    text: bytes


def read_block(path: str, lines: Lines, limits: Limits) -> RawBatch:
    """The pages of some lines, by column; lines that are not plain are read one by one."""
    from neardup.pages.json_columns import read_columns  # noqa: PLC0415 - pyarrow is heavy

    def read_odd(number: int, line: bytes) -> RawPage | Skip | None:
        source = Source(path, lines.number + number)
        return _page(line, source, limits, keep_original=False) if line.strip() else None

    return read_columns(path, lines.text, lines.total, lines.number, limits, read_odd)


def _unread(path: str, line: Line, limits: Limits) -> Skip:
    source = Source(path, line.number)
    if line.damage:
        return Skip(source, line.damage.reason, f"line {line.number + 1}: {line.damage.detail}")
    detail = f"line {line.number + 1}: longer than {limits.line_bytes} bytes"
    return Skip(source, SkipReason.TOO_LARGE, detail)


def _cut(chunks: Chunks, limit: int, number: int) -> Iterator[Lines | Line]:
    """Blocks of whole lines, and the lines that cannot be read.

    Chunks are far smaller than the limit of a line, so only a line that is not complete yet can
    exceed it.
    """
    whole, rest = _Pieces(), _Pieces()
    is_first, is_long = True, False
    for chunk, opens, damage in chunks:
        data = chunk
        if damage:
            if whole.size:
                block = whole.lines(number)
                yield block
                number += block.total
            yield Line(number, None, damage)
            number, rest, is_long = number + 1, _Pieces(), False
        if is_first and opens and data.startswith(b"\xef\xbb\xbf"):
            data = data[3:]
        is_first = is_first and not data
        if is_long or rest.size + len(data) > limit:
            end = data.find(b"\n")
            if is_long or rest.size + (end if end >= 0 else len(data)) > limit:
                rest, is_long = _Pieces(), end < 0
                if is_long:
                    continue
                if whole.size:
                    block = whole.lines(number)
                    yield block
                    number += block.total
                yield Line(number, None)
                number, data = number + 1, data[end + 1 :]
        end = data.rfind(b"\n") + 1
        if end:
            whole.take(rest)
            whole.add(data[:end])
            data = data[end:]
        rest.add(data)
        if whole.size >= BLOCK_BYTES:
            block = whole.lines(number)
            yield block
            number += block.total
    if is_long:
        if whole.size:
            block = whole.lines(number)
            yield block
            number += block.total
        yield Line(number, None)
        return
    whole.take(rest)
    if whole.size:
        yield whole.lines(number)


class _Pieces:
    """Bytes in pieces."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.size = 0

    def add(self, piece: bytes) -> None:
        if piece:
            self._pieces.append(piece)
            self.size += len(piece)

    def take(self, other: _Pieces) -> None:
        """Add the pieces of another, which is empty then."""
        self._pieces += other._pieces
        self.size += other.size
        other._pieces, other.size = [], 0

    def lines(self, number: int) -> Lines:
        """All of it as lines, with padding for the kernel; nothing is left."""
        from neardup.pages.json_columns import PADDING, line_count  # noqa: PLC0415 - numba is heavy

        text = b"".join([*self._pieces, bytes(PADDING)])
        self._pieces, self.size = [], 0
        return Lines(number, line_count(text), text)


def _lines(chunks: Chunks, limit: int, number: int) -> Iterator[Line]:
    """Lines of at most `limit` bytes; longer ones come without their text."""
    rest = _Rest(limit)
    for data, opens, damage in chunks:
        if damage:
            yield Line(number, None, damage)
            number, rest = number + 1, _Rest(limit)
        start = 3 if opens and number == 0 and data.startswith(b"\xef\xbb\xbf") else 0
        while (end := data.find(b"\n", start)) >= 0:
            rest.add(data[start:end])
            yield Line(number, rest.take())
            number, start = number + 1, end + 1
        rest.add(data[start:])
    if rest.size:
        yield Line(number, rest.take())


class _Rest:
    """The beginning of a line that is not complete yet."""

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
        line = b"".join(self._pieces) if self.size <= self._limit else None
        self._pieces, self.size = [], 0
        return line
