"""The plain truth for `kernels.level_one`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations


def level_one_pairs(
    counts: Sequence[Sequence[int]],
    limits: Sequence[float],
    words: Sequence[Counter[int]],
    share: float,
    score: int,
) -> list[tuple[int, int]]:
    """The pairs of pages that reach `score`."""
    found = []
    for i, j in combinations(range(len(counts)), 2):
        near = [abs(a - b) < most for a, b, most in zip(counts[i], counts[j], limits, strict=True)]
        if sum(near) + (keyword_share(words[i], words[j]) >= share) >= score:
            found.append((i, j))
    return found


def keyword_share(one: Counter[int], other: Counter[int]) -> float:
    """Of all words of two pages, repeats included, the share that the other page has, too."""
    everything = [*one.elements(), *other.elements()]
    shared = [word for word in everything if word in one and word in other]
    return len(shared) / len(everything) if everything else 0.0
