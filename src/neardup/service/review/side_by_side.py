"""Two texts side by side: rows of what they share and where they differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from neardup.report.difference import Part, Row, difference
from neardup.report.listing import LONGEST_SHARED, LONGEST_TEXT
from neardup.report.templates import visible

_LEFT = {Part.SHARED: "", Part.WRITTEN: "u", Part.LEFT: "del"}
_RIGHT = {Part.SHARED: "", Part.WRITTEN: "u", Part.RIGHT: "ins"}
Cell = list[tuple[str, str]]  # the element that marks a run, and its text


@dataclass(frozen=True)
class Line:
    """A row of the two columns; with `left_out`, only how much is not shown."""

    kind: str
    left: Cell
    right: Cell
    left_out: int = 0


@dataclass(frozen=True)
class SideBySide:
    """The two texts; `is_cut` when they are longer than what is compared here."""

    lines: list[Line]
    is_cut: bool
    longest: int = LONGEST_TEXT


def side_by_side(left: str, right: str) -> SideBySide:
    """The difference of the beginnings of two texts."""
    rows = difference(visible(left[:LONGEST_TEXT]), visible(right[:LONGEST_TEXT]))
    lines = [line for row in rows for line in _lines(row)]
    return SideBySide(lines, max(len(left), len(right)) > LONGEST_TEXT)


def _lines(row: Row) -> Iterator[Line]:
    parts = {run.part for run in row}
    if parts == {Part.SHARED} and len(row) == 1 and row[0].left == row[0].right:
        yield from _shared(row[0].left)
        return
    kind = "agrees" if parts <= {Part.SHARED, Part.WRITTEN} else ""
    left = [(_LEFT[run.part], run.left) for run in row if run.part in _LEFT]
    right = [(_RIGHT[run.part], run.right) for run in row if run.part in _RIGHT]
    yield Line(kind, left, right)


def _shared(text: str) -> Iterator[Line]:
    if len(text) <= LONGEST_SHARED:
        yield _agreeing(text)
        return
    half = LONGEST_SHARED // 2
    yield _agreeing(text[:half])
    yield Line("gap", [], [], len(text) - 2 * half)
    yield _agreeing(text[-half:])


def _agreeing(text: str) -> Line:
    return Line("agrees shared", [("", text)], [("", text)])
