"""The plain truth for `kernels.overlap_join`: every pair, counted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations


def overlap_join(
    records: Sequence[Sequence[int]], alpha: float, beta: float
) -> set[tuple[int, int]]:
    """Pairs (smaller row, larger row) of records, shortest first, with enough in common."""
    found = set()
    for (i, one), (j, two) in combinations(enumerate(records), 2):
        common = len(set(one) & set(two))
        if common and common / len(one) >= alpha and common / len(two) >= beta:
            found.add((i, j))
    return found
