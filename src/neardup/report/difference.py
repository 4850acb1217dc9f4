"""What two texts share and where they differ: by lines first, then by tokens in changed lines.

Tokens are words, or single characters in scripts without spaces. Text that is equal after folding
(case, width, traditional and simplified characters) but written differently is marked as such.
White space never makes a difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby

import pyarrow as pa
from rapidfuzz.distance import Indel

from neardup.text.tokens import fold_batch

_MARKS = "!-/:-@[-^`{-~\u2010-\u205e\u3000-\u3004\u3008-\u3020\u3030\uff01-\uff0f\uff1a-\uff20"
_ALONE = "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_THAI = "[\u0e00-\u0eff][\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd]*"
_TOKEN = re.compile(
    rf"(?:[{_ALONE}]|{_THAI}|[^\s{_MARKS}{_ALONE}\u0e00-\u0eff]+|[{_MARKS}])\s*|\s+"
)
STRAY_AT_AN_END = 4


class Part(IntEnum):
    """What a run of text is to the other side."""

    SHARED = 0
    LEFT = 1  # only there
    RIGHT = 2
    WRITTEN = 3  # shared, but written differently


_ON_BOTH = (Part.SHARED, Part.WRITTEN)


@dataclass(frozen=True, slots=True)
class Run:
    """A run of text; the two sides may differ in white space, and in letters when `WRITTEN`."""

    part: Part
    left: str
    right: str


Row = list[Run]  # what stands side by side


def difference(left: str, right: str) -> list[Row]:
    """Rows from top to bottom; joined, each side gives its text."""
    return join_shared(line_rows(left, right))


def line_rows(left: str, right: str) -> list[Row]:
    """The same, with shared lines in a row each."""
    lines = left.splitlines(keepends=True), right.splitlines(keepends=True)
    rows: list[Row] = []
    for tag, here, there in _aligned(*(folded_lines(side) for side in lines)):
        hunk = lines[0][here], lines[1][there]
        if tag == "equal":
            for both in zip(*hunk, strict=True):
                rows.extend(_compare_tokens(*both))
        else:
            rows.extend(_compare_tokens("".join(hunk[0]), "".join(hunk[1])))
    return rows


def _aligned(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[str, slice, slice]]:
    """Equal stretches, and between them what each side has instead."""
    hunk: list[tuple[slice, slice]] = []
    for operation in Indel.opcodes(left, right):
        here = slice(operation.src_start, operation.src_end)
        there = slice(operation.dest_start, operation.dest_end)
        if operation.tag != "equal":
            hunk.append((here, there))
            continue
        yield from _one_hunk(hunk)
        hunk = []
        yield "equal", here, there
    yield from _one_hunk(hunk)


def _one_hunk(hunk: Sequence[tuple[slice, slice]]) -> Iterator[tuple[str, slice, slice]]:
    if hunk:
        (left, right), (last_left, last_right) = hunk[0], hunk[-1]
        yield (
            "differs",
            slice(left.start, last_left.stop),
            slice(right.start, last_right.stop),
        )


def folded_lines(texts: Sequence[str]) -> list[str]:
    """Texts that differ only in how they are written become the same."""
    folded: list[str] = fold_batch(
        pa.array([text.strip() for text in texts], pa.string())
    ).to_pylist()
    return folded


def _compare_tokens(left: str, right: str) -> list[Row]:
    if left == right:
        return [[Run(Part.SHARED, left, right)]]
    tokens = _TOKEN.findall(left), _TOKEN.findall(right)
    runs: list[Run] = []
    for tag, here, there in _aligned(*(folded_lines(side) for side in tokens)):
        if tag == "equal":
            runs.extend(map(_same_token, tokens[0][here], tokens[1][there]))
        else:
            runs.append(Run(Part.LEFT, "".join(tokens[0][here]), ""))
            runs.append(Run(Part.RIGHT, "", "".join(tokens[1][there])))
    return _rows(_without_stray_matches(runs))


def _same_token(left: str, right: str) -> Run:
    part = Part.SHARED if left.strip() == right.strip() else Part.WRITTEN
    return Run(part, left, right)


def _without_stray_matches(runs: Iterable[Run]) -> list[Run]:
    """Drop matches that are short next to the differences around them: they are chance."""
    stretches = [
        (shared, list(some)) for shared, some in groupby(runs, lambda run: run.part in _ON_BOTH)
    ]
    lengths = [*(_length(some) for _, some in stretches), 0]
    kept: list[Run] = []
    pending: list[Run] = []
    before = 0  # characters that differ right before; a dropped match counts with them
    for number, (shared, some) in enumerate(stretches):
        if shared and not _is_stray(lengths[number], before, lengths[number + 1]):
            kept.extend([*_as_difference(pending), *some])
            pending, before = [], 0
        else:
            pending.extend(some)
            before += lengths[number]
    return [*kept, *_as_difference(pending)]


def _is_stray(match: int, before: int, after: int) -> bool:
    """Between differences, no longer than both; beside one, much shorter than it."""
    if before and after:
        return match <= min(before, after)
    return STRAY_AT_AN_END * match <= max(before, after)


def _length(runs: Sequence[Run]) -> int:
    """Characters on the longer side."""
    return max(sum(len(run.left) for run in runs), sum(len(run.right) for run in runs))


def _as_difference(runs: Sequence[Run]) -> Iterator[Run]:
    left, right = "".join(run.left for run in runs), "".join(run.right for run in runs)
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
