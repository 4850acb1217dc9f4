"""Two pages side by side as the method sees them: the text that counts, compared; the rest, folded.

The report, the review pages and `neardup compare` show the same rows (`mark_texts`). Text that
counts is compared by lines first, then by tokens in changed lines (`line_rows`). Tokens are words,
or single characters in scripts without spaces. Text that is equal after folding (case, width,
traditional and simplified characters) but written differently is marked as such; white space never
makes a difference. Menus, links and what a site repeats count little or nothing
(`Method.line_weights`): they keep their place in the page, as rows that are not compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from itertools import accumulate, pairwise
from typing import NamedTuple

import pyarrow as pa
from rapidfuzz.distance import Indel

from neardup.report.templates import visible
from neardup.text.tokens import fold_batch

_MARKS = "!-/:-@[-^`{-~\u2010-\u205e\u3000-\u3004\u3008-\u3020\u3030\uff01-\uff0f\uff1a-\uff20"
_ALONE = "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_THAI = "[\u0e00-\u0eff][\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd]*"
_TOKEN = re.compile(
    rf"(?:[{_ALONE}]|{_THAI}|[^\s{_MARKS}{_ALONE}\u0e00-\u0eff]+|[{_MARKS}])\s*|\s+"
)
_PLAIN = re.compile(r"[!-~]*(?: [!-~]+)*")  # folding changes nothing but case
STRAY_AT_AN_END = 4


class Part(IntEnum):
    """What a run of text is to the other side."""

    SHARED = 0
    LEFT = 1  # only there
    RIGHT = 2
    WRITTEN = 3  # shared, but written differently


_ON_BOTH = (Part.SHARED, Part.WRITTEN)


class Run(NamedTuple):
    """A run of text; the two sides may differ in white space, and in letters when `WRITTEN`."""

    part: Part
    left: str
    right: str


Row = list[Run]  # what stands side by side


def line_rows(left: str, right: str) -> list[Row]:
    """Rows from top to bottom, shared lines in a row each; joined, each side gives its text."""
    lines = left.splitlines(keepends=True), right.splitlines(keepends=True)
    rows: list[Row] = []
    here = there = 0
    for one, other, count in _matches(*_folded_sides(*lines)):
        if here < one or there < other:
            hunk = "".join(lines[0][here:one]), "".join(lines[1][there:other])
            rows.extend(_compare_tokens(*hunk))
        here, there = one + count, other + count
        for both in zip(lines[0][one:here], lines[1][other:there], strict=True):
            rows.extend(_compare_tokens(*both))
    return rows


def _matches(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Stretches that are equal: where they start on both sides, and how long they are. The last is
    empty, at both ends."""
    for block in Indel.opcodes(left, right).as_matching_blocks():
        yield block.a, block.b, block.size


def folded_lines(texts: Iterable[str]) -> list[str]:
    """Texts that differ only in how they are written become the same."""
    stripped = [*map(str.strip, texts)]
    if _PLAIN.fullmatch("".join(stripped)):
        return [*map(str.lower, stripped)]
    distinct = [*dict.fromkeys(stripped)]  # words and characters recur
    folded = fold_batch(pa.array(distinct, pa.string())).to_pylist()
    return [*map(dict(zip(distinct, folded, strict=True)).__getitem__, stripped)]


def _folded_sides(left: Sequence[str], right: Sequence[str]) -> tuple[list[str], list[str]]:
    folded = folded_lines([*left, *right])
    return folded[: len(left)], folded[len(left) :]


class _Match(NamedTuple):
    """Tokens that are equal on both sides, and where their text starts and ends on each."""

    tokens: tuple[Sequence[str], Sequence[str]]
    start: tuple[int, int]
    end: tuple[int, int]


def _compare_tokens(left: str, right: str) -> list[Row]:
    """Matches that are short next to the differences around them are chance, and dropped."""
    if left == right:
        return [[Run(Part.SHARED, left, right)]]
    tokens = _TOKEN.findall(left), _TOKEN.findall(right)
    starts = [[*accumulate(map(len, side), initial=0)] for side in tokens]
    matches = [
        _Match(
            (tokens[0][one : one + count], tokens[1][other : other + count]),
            (starts[0][one], starts[1][other]),
            (starts[0][one + count], starts[1][other + count]),
        )
        for one, other, count in _matches(*_folded_sides(*tokens))
    ]
    runs: list[Run] = []
    here = there = 0  # the text from there on is not in `runs` yet
    end = (0, 0)  # of the match before
    differ = 0  # characters since `here`; a dropped match counts with them
    for match, following in pairwise([*matches, matches[-1]]):
        differ += _length(end, match.start)
        length, end = _length(match.start, match.end), match.end
        if length and not _is_stray(length, differ, _length(end, following.start)):
            runs.extend(_as_difference(left[here : match.start[0]], right[there : match.start[1]]))
            runs.extend(_same_tokens(*match.tokens))
            (here, there), differ = end, 0
        else:
            differ += length
    return _rows([*runs, *_as_difference(left[here:], right[there:])])


def _length(start: tuple[int, int], end: tuple[int, int]) -> int:
    """The characters between two places, on the side that has more."""
    return max(end[0] - start[0], end[1] - start[1])


def _same_tokens(left: Sequence[str], right: Sequence[str]) -> Iterator[Run]:
    """Tokens that are equal when folded; a run of one kind ends where a line ends on both sides."""
    both = "".join(left), "".join(right)
    if both[0] == both[1] and "\n" not in both[0][:-1]:
        yield Run(Part.SHARED, *both)
        return
    kind, here, there = Part.SHARED, "", ""
    for one, other in zip(left, right, strict=True):
        part = Part.SHARED if one == other or one.strip() == other.strip() else Part.WRITTEN
        if part is kind and not (here.endswith("\n") and there.endswith("\n")):
            here, there = here + one, there + other
            continue
        if here:
            yield Run(kind, here, there)
        kind, here, there = part, one, other
    yield Run(kind, here, there)


def _is_stray(match: int, before: int, after: int) -> bool:
    """Between differences, no longer than both; beside one, much shorter than it."""
    if before and after:
        return match <= min(before, after)
    return STRAY_AT_AN_END * match <= max(before, after)


def _as_difference(left: str, right: str) -> Iterator[Run]:
    if left:
        yield Run(Part.LEFT, left, "")
    if right:
        yield Run(Part.RIGHT, "", right)


def _rows(runs: Iterable[Run]) -> list[Row]:
    """A new row begins with shared text that begins a line on both sides."""
    rows: list[Row] = [[]]
    starts_line = [True, True]
    for run in runs:
        if (
            all(starts_line)
            and rows[-1]
            and (run.part in _ON_BOTH or rows[-1][-1].part in _ON_BOTH)
        ):
            rows.append([])
        _append(rows[-1], run)
        for side, text in enumerate((run.left, run.right)):
            if text:
                starts_line[side] = text.endswith("\n")
    return rows


def _append(row: Row, run: Run) -> None:
    """Append a run, joined with the last one if both are of one kind."""
    if row and row[-1].part == run.part:
        last = row.pop()
        run = Run(run.part, last.left + run.left, last.right + run.right)
    row.append(run)


def join_shared(rows: Iterable[Row]) -> list[Row]:
    """Rows that are the same on both sides become one."""
    joined: list[Row] = []
    for row in rows:
        if joined and all(_is_identical(each) for each in (joined[-1], row)):
            _append(joined[-1], row[0])
        elif row:
            joined.append(row)
    return joined


def _is_identical(row: Row) -> bool:
    return len(row) == 1 and row[0].part is Part.SHARED and row[0].left == row[0].right


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
        """A page's text, one line per block."""
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
        """One text from start to end: each part (shared, own or left-out) and its characters."""
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
    """The weight from which lines count: the lighter ones together weigh next to nothing. Where a
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
        if _is_identical(row):
            yield from _shared_rows(row[0].left)
        else:
            agrees = all(run.part in _ON_BOTH for run in row)
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
