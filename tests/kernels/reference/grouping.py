"""The plain truth for `kernels.grouping`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, pairwise


def pairs_within_groups(
    rows: Sequence[int], starts: Sequence[int], largest: int, reach: int
) -> list[tuple[int, int]]:
    """The pairs inside the groups, in order, and in how many each is; of large groups only those in
    reach. The smaller row is the upper half of a pair's number."""
    pairs = Counter(
        min(rows[i], rows[j]) << 32 | max(rows[i], rows[j])
        for start, end in pairwise(starts)
        for i, j in combinations(range(start, end), 2)
        if rows[i] != rows[j] and (end - start <= largest or j - i <= reach)
    )
    return sorted(pairs.items())


def among_first(
    rows: Sequence[int], turns: Sequence[int], counts: Sequence[bool], most: int
) -> list[bool]:
    """Whether each entry that counts is among the `most` of its row with the smallest turns."""
    first = set()
    for row in set(rows):
        entries = [at for at, other in enumerate(rows) if other == row and counts[at]]
        first |= set(sorted(entries, key=lambda at: turns[at])[:most])
    return [at in first for at in range(len(rows))]


def worth_judging(
    pairs: Sequence[tuple[int, int, int]], turns: Sequence[int], most: int
) -> list[tuple[int, int]]:
    """The pairs (left, right, shared keys) that share several keys, or are among the `most` first
    of those that share one, of both rows."""
    single = [shared == 1 for _, _, shared in pairs]
    of_left = among_first([left for left, _, _ in pairs], turns, single, most)
    of_right = among_first([right for _, right, _ in pairs], turns, single, most)
    return [
        (left, right)
        for (left, right, shared), one, other in zip(pairs, of_left, of_right, strict=True)
        if shared > 1 or (one and other)
    ]
