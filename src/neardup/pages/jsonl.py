"""Pages in JSON lines: one object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.columns import nested_names, no_content
from neardup.pages.fields import JsonLine, page_from_fields
from neardup.pages.inputs import File
from neardup.pages.limits import Limits
from neardup.pages.streams import Chunks, Damage


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
