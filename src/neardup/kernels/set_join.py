"""Candidates for a resemblance of sets over a threshold, without missing one.

Two filters that lose nothing when |A n B| / |A u B| >= t is asked for (Theobald et al. 2008, 4;
known since as prefix filtering):

* Sizes: |A| >= t |B|, else the intersection is too small. This is the partitioning by length,
  taken to its end: each set has a partition of its own.
* Prefixes: put all values in one order. A and B share t |A| values or more, so the first
  |A| - ceil(t |A|) + 1 values of A cannot all be missing in B, nor the other way round: some value
  is in both prefixes. Only prefixes are indexed; with rare values first, they meet seldom.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel

Values = NDArray[np.uint64]
Offsets = NDArray[np.int64]

SLACK = 1e-9  # of the bounds, so that rounding never drops a pair that is just at the threshold


def candidate_pairs(values: Values, offsets: Offsets, threshold: float) -> tuple[Offsets, Offsets]:
    """Pairs of rows, each once, (smaller, larger) and in order, that may reach `threshold`.

    The values of a row are a set. An empty set is in no pair.
    """
    _, ranks, counts = np.unique(values, return_inverse=True, return_counts=True)
    rarest_first = np.empty(counts.size, np.int64)
    rarest_first[np.argsort(counts, kind="stable")] = np.arange(counts.size)
    by_size = np.argsort(np.diff(offsets), kind="stable")
    left, right = _join(rarest_first[ranks], offsets, by_size, counts.size, threshold)
    order = np.lexsort((right, left))
    return left[order], right[order]


@kernel
def prefix_length(size: int, threshold: float) -> int:
    """How many of `size` values are needed to meet one of any set that is near enough."""
    needed = int(np.ceil(threshold * size - SLACK))
    return min(size, size - needed + 1)


@kernel
def prefixes(
    values: Values, offsets: Offsets, wanted: NDArray[np.bool_], threshold: float
) -> tuple[Offsets, Values]:
    """Rows and values of the prefix of each wanted set, in the order of the values themselves.

    For sets that come sorted. Sets that reach the threshold have one of these in common.
    """
    rows = np.empty(values.size, np.int64)
    kept = np.empty(values.size, np.uint64)
    filled = 0
    for row in range(offsets.size - 1):
        begin = offsets[row]
        length = prefix_length(offsets[row + 1] - begin, threshold) if wanted[row] else 0
        rows[filled : filled + length] = row
        kept[filled : filled + length] = values[begin : begin + length]
        filled += length
    return rows[:filled].copy(), kept[:filled].copy()


@kernel
def _join(
    ranks: Offsets, offsets: Offsets, by_size: Offsets, distinct: int, threshold: float
) -> tuple[Offsets, Offsets]:
    """Take the sets from small to large; look each one's prefix up in the sets before it."""
    prefixes = np.empty(ranks.size, np.int64)
    room = np.zeros(distinct + 1, np.int64)
    for row in range(offsets.size - 1):
        begin, end = offsets[row], offsets[row + 1]
        prefixes[begin:end] = np.sort(ranks[begin:end])
        for place in range(begin, begin + prefix_length(end - begin, threshold)):
            room[prefixes[place] + 1] += 1
    for value in range(distinct):
        room[value + 1] += room[value]
    holders = np.empty(room[distinct], np.int64)  # of value v: holders[first[v]:filled[v]]
    first, filled = room[:-1].copy(), room[:-1].copy()
    seen = np.full(offsets.size - 1, -1, np.int64)
    left = np.empty(1024, np.int64)
    right = np.empty(1024, np.int64)
    found = 0
    for row in by_size:
        begin = offsets[row]
        size = offsets[row + 1] - begin
        least = threshold * size - SLACK
        for place in range(begin, begin + prefix_length(size, threshold)):
            value = prefixes[place]
            # Sets come by size: one too small for this set is too small for all that follow.
            while first[value] < filled[value]:
                holder = holders[first[value]]
                if offsets[holder + 1] - offsets[holder] >= least:
                    break
                first[value] += 1
            for at in range(first[value], filled[value]):
                holder = holders[at]
                if seen[holder] == row:
                    continue
                seen[holder] = row
                if found == left.size:
                    left = np.concatenate((left, np.empty_like(left)))
                    right = np.concatenate((right, np.empty_like(right)))
                left[found] = min(row, holder)
                right[found] = max(row, holder)
                found += 1
            holders[filled[value]] = row
            filled[value] += 1
    return left[:found].copy(), right[:found].copy()
