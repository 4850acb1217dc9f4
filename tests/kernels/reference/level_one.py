"""The plain truth for `kernels.level_one`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations


def level_one_pairs(
    counts: Sequence[Sequence[int]],
    limits: Sequence[float],
    words: Sequence[set[int]],
    share: float,
    score: int,
) -> list[tuple[int, int]]:
    """The pairs of pages that reach `score`."""
    found = []
    for i, j in combinations(range(len(counts)), 2):
        near = [abs(a - b) < most for a, b, most in zip(counts[i], counts[j], limits, strict=True)]
        everything = words[i] | words[j]
        alike = bool(everything) and len(words[i] & words[j]) / len(everything) >= share
        if sum(near) + alike >= score:
            found.append((i, j))
    return found
