"""The plain truth for `kernels.shared_text`, one pair at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernels.reference.own_text import Line, own_tokens, shingles

NONE = -1
MOSTLY, HARDLY = 0.8, 0.2


@dataclass(frozen=True)
class Shared:
    """What a page shares with another: the weight, and which sample lines show it."""

    weight: float
    example: int
    difference: int


def shared(
    page: Sequence[Line], other: Sequence[Line], samples: Sequence[int], size: int
) -> Shared:
    """The samples are numbers of kept lines of the page."""
    covered = covered_tokens(page, other, size)
    kept = [line for line in page if line.weight > 0]
    shares, weight, at = [], 0.0, 0
    for line in kept:
        in_line = sum(token in covered for token in range(at, at + len(line.tokens)))
        at += len(line.tokens)
        weight += in_line * line.unit * line.weight
        shares.append(in_line / len(line.tokens))
    return Shared(
        weight,
        _first([shares[line] >= MOSTLY for line in samples]),
        _first([shares[line] <= HARDLY for line in samples]),
    )


def covered_tokens(page: Sequence[Line], other: Sequence[Line], size: int) -> set[int]:
    """The places of the page's own tokens that stand in a shingle which the other page has."""
    theirs = set(shingles(other, size))
    units = [unit for _, unit in own_tokens(page)]
    covered: set[int] = set()
    for start, shingle in enumerate(shingles(page, size)):
        if shingle in theirs:
            lengths = range(1, len(units) - start + 1)
            enough = (n for n in lengths if sum(units[start : start + n]) >= size)
            covered |= set(range(start, start + next(enough, len(units) - start)))
    return covered


def _first(flags: Sequence[bool]) -> int:
    return flags.index(True) if True in flags else NONE
