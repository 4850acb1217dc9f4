"""The plain truth for `kernels.hamming`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations


def pairs_within(values: Sequence[int], distance: int) -> list[tuple[int, int]]:
    """Every pair of rows whose values differ in at most `distance` bits."""
    return [
        (i, j)
        for (i, a), (j, b) in combinations(enumerate(values), 2)
        if (a ^ b).bit_count() <= distance
    ]
