"""The plain truth for `kernels.set_join`: the pairs that its candidates must not miss."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations


def resemblance(left: Sequence[int], right: Sequence[int]) -> float:
    """|A n B| / |A u B|; 0 for two empty sets."""
    either = len(set(left) | set(right))
    return len(set(left) & set(right)) / either if either else 0.0


def pairs_over(sets: Sequence[Sequence[int]], threshold: float) -> list[tuple[int, int]]:
    """Every pair of rows whose sets are at least that near."""
    return [
        (i, j)
        for (i, a), (j, b) in combinations(enumerate(sets), 2)
        if resemblance(a, b) >= threshold
    ]
