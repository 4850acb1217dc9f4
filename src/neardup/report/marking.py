"""Two pages side by side as the method sees them: the text that counts, compared; the rest, folded.

The report, the review pages and `neardup compare` show the same rows (`mark_texts`). Text that
counts is compared line by line (`difference`). Menus, links and what a site repeats count nothing
or hardly anything (`Method.line_weights`): they stand where they are in the page, next to each
other, as rows that are not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from neardup.report.difference import Part, Row, Run, folded_lines, join_shared, line_rows
from neardup.report.templates import visible

COUNTS_FROM = 0.25  # of the heaviest line; lines outside the article weigh less,
COUNTED = 0.95  # unless they are needed to reach this share of all that a page counts
LONGEST_TEXT = 12_000  # characters of each side that are compared
LONGEST_SHARED = 3_000  # characters of a stretch that both sides share
LONGEST_FOLDED = 1_000  # characters of each side of a stretch that does not count
MOST_FOLDED = 6_000  # characters of each side of all such stretches


Cell = list[tuple[Part, str]]  # one side of a row


class PageText(NamedTuple):
    """The lines of a page, and what each counts (`Method.line_weights`)."""

    lines: Sequence[str]
    weights: Sequence[float]

    @classmethod
    def of(cls, text: str, weights: Sequence[float]) -> PageText:
        """A page's text, one line a block."""
        return cls(text.split("\n") if weights else [], weights)

    @property
    def characters(self) -> int:
        return sum(map(len, self.lines))


class Kind(StrEnum):
    SHARED = "shared"  # the same on both sides
    AGREES = "agrees"  # the same, but written differently
    DIFFERS = "differs"
    GAP = "gap"  # shared text that is not shown
    FOLDED = "folded"  # text that does not count; not compared


@dataclass(frozen=True)
class MarkedRow:
    """What stands side by side; `omitted` are the characters of each side that are not shown."""

    kind: Kind
    runs: Row
    omitted: tuple[int, int] = (0, 0)

    @property
    def sides(self) -> tuple[Cell, Cell]:
        """The runs of the left side, and those of the right one."""
        return (
            [(run.part, run.left) for run in self.runs if run.left],
            [(run.part, run.right) for run in self.runs if run.right],
        )


@dataclass(frozen=True)
class Marked:
    """Two texts as rows from top to bottom; the tuples hold a number of characters for each."""

    rows: list[MarkedRow]
    characters: tuple[int, int]
    counting: tuple[int, int]
    is_cut: bool  # only the first `longest` characters that count were compared
    longest: int = LONGEST_TEXT

    def bar(self, side: int) -> list[tuple[str, int]]:
        """One text from start to end: shared, own or left-out, and so many characters."""
        parts = []
        for row in self.rows:
            runs = row.sides[side]
            if row.kind is Kind.FOLDED:
                parts.append(("left-out", sum(len(text) for _, text in runs) + row.omitted[side]))
            elif row.kind is Kind.GAP:
                parts.append(("shared", row.omitted[side]))
            else:
                own = (Part.LEFT, Part.RIGHT)
                parts.extend(("own" if part in own else "shared", len(text)) for part, text in runs)
        return parts


def mark_texts(left: PageText, right: PageText) -> Marked:
    """The two texts as rows of what they share, where they differ, and what does not count."""
    counting = _counting(left, right), _counting(right, left)
    sides = [_Side(*both) for both in zip((left, right), counting, strict=True)]
    rows: list[MarkedRow] = []
    shared: list[Row] = []  # rows since the last stretch that does not count
    for row in [*line_rows(sides[0].text, sides[1].text), None]:
        texts: tuple[str | None, ...] = (None, None)
        if row is not None:
            texts = "".join(run.left for run in row), "".join(run.right for run in row)
        if any(side.has_folded(text) for side, text in zip(sides, texts, strict=True)):
            folded = [side.folded_here(at_end=row is None) for side in sides]
            rows.extend(_marked(shared))
            shared = []
            rows.append(_folded_row(*("\n".join(lines) for lines in folded)))
        if row is not None:
            shared.append(row)
            for side, text in zip(sides, texts, strict=True):
                side.pass_by(text or "")
    return Marked(
        [*_bounded([*rows, *_marked(shared)])],
        (left.characters, right.characters),
        (sides[0].counting, sides[1].counting),
        any(side.counting > LONGEST_TEXT for side in sides),
    )


def _counting(page: PageText, other: PageText) -> list[bool]:
    """Which lines count; a faint line does if it counts on the other page."""
    least = _least_weight(page)
    counts = [weight >= least for weight in page.weights]
    faint = [at for at, weight in enumerate(page.weights) if 0.0 < weight < least]
    if faint:
        least = _least_weight(other)
        there = zip(other.lines, other.weights, strict=True)
        known = set(folded_lines([line for line, weight in there if weight >= least]))
        for at, line in zip(faint, folded_lines([page.lines[at] for at in faint]), strict=True):
            counts[at] = line in known
    return counts


def _least_weight(page: PageText) -> float:
    """The weight from which lines count: the lighter ones together are hardly anything. Where a
    site repeats an article, a line that it does not repeat may outweigh all of it by far."""
    masses = [weight * len(line) for line, weight in zip(page.lines, page.weights, strict=True)]
    missing = COUNTED * sum(masses)
    for at in sorted(range(len(masses)), key=lambda at: -page.weights[at]):
        missing -= masses[at]
        if missing <= 0.0 and page.weights[at] > 0.0:
            return min(page.weights[at], COUNTS_FROM)
    return COUNTS_FROM


class _Side:
    """One page on the way down its rows: which of its lines that do not count come next."""

    def __init__(self, page: PageText, counts: Sequence[bool]) -> None:
        self._folded: list[list[str]] = [[]]  # before each line that counts, and after the last
        kept = []
        for line, counted in zip(page.lines, counts, strict=True):
            if counted:
                kept.append(line)
                self._folded.append([])
            elif line.strip():
                self._folded[-1].append(line)
        self.counting = sum(map(len, kept))
        self.text = visible("".join(f"{line}\n" for line in kept)[:LONGEST_TEXT])
        self._line = 0  # the next line that counts
        self._next = 0  # the next of `_folded`

    def has_folded(self, text: str | None) -> bool:
        """Whether lines that do not count stand before this text of a row; None is the end."""
        if text == "":  # the row has nothing on this side
            return False
        end = len(self._folded) if text is None else self._line + 1
        return any(self._folded[self._next : end])

    def folded_here(self, *, at_end: bool) -> list[str]:
        """The lines that do not count and stand before the next one that does."""
        end = len(self._folded) if at_end else self._line + 1
        lines = [line for some in self._folded[self._next : end] for line in some]
        self._next = max(self._next, end)
        return lines

    def pass_by(self, text: str) -> None:
        self._line += text.count("\n")


def _marked(rows: Sequence[Row]) -> Iterator[MarkedRow]:
    for row in join_shared(rows):
        parts = {run.part for run in row}
        if len(row) == 1 and parts == {Part.SHARED} and row[0].left == row[0].right:
            yield from _shared_rows(row[0].left)
        else:
            agrees = parts <= {Part.SHARED, Part.WRITTEN}
            yield MarkedRow(Kind.AGREES if agrees else Kind.DIFFERS, row)


def _shared_rows(text: str) -> Iterator[MarkedRow]:
    """A shared stretch; of a long one its start and end."""
    half = LONGEST_SHARED // 2
    shown = [text] if len(text) <= LONGEST_SHARED else [text[:half], text[-half:]]
    rows = [MarkedRow(Kind.SHARED, [Run(Part.SHARED, each, each)]) for each in shown]
    yield rows[0]
    if len(rows) > 1:
        yield MarkedRow(Kind.GAP, [], (len(text) - 2 * half,) * 2)
        yield rows[1]


def _folded_row(left: str, right: str) -> MarkedRow:
    return MarkedRow(Kind.FOLDED, [Run(Part.LEFT, left, ""), Run(Part.RIGHT, "", right)])


def _bounded(rows: Sequence[MarkedRow]) -> Iterator[MarkedRow]:
    """The rows with only the beginnings of long stretches that do not count."""
    room = [MOST_FOLDED, MOST_FOLDED]
    for row in rows:
        if row.kind is not Kind.FOLDED:
            yield row
            continue
        left, right = row.runs[0].left, row.runs[1].right
        shown = left[: min(LONGEST_FOLDED, room[0])], right[: min(LONGEST_FOLDED, room[1])]
        room = [room[0] - len(shown[0]), room[1] - len(shown[1])]
        omitted = len(left) - len(shown[0]), len(right) - len(shown[1])
        yield replace(_folded_row(*map(visible, shown)), omitted=omitted)
