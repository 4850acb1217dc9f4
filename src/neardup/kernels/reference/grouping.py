"""The plain truth for `kernels.grouping`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise


def pairs_within_groups(rows: Sequence[int], starts: Sequence[int]) -> list[tuple[int, int]]:
    """All pairs inside each group, as (smaller, larger)."""
    return [
        (min(a, b), max(a, b))
        for start, end in pairwise(starts)
        for a, b in combinations(rows[start:end], 2)
        if a != b
    ]
