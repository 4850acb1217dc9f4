"""Candidates for a resemblance of sets over a threshold, without missing one.

Two filters that lose nothing when |A n B| / |A u B| >= t is asked for (Theobald et al. 2008, 4;
known since as prefix filtering):

* Sizes: |A| >= t |B|, else the intersection is too small. This is the partitioning by length,
  taken to its end: each set has a partition of its own.
* Prefixes: put all values in one order. A and B share t |A| values or more, so the first
  |A| - ceil(t |A|) + 1 values of A cannot all be missing in B, nor the other way round: some value
  is in both prefixes. Only prefixes are indexed; with rare values first, they meet seldom.

All pairs of multisets that have enough in common, without looking at all pairs.

With n <= m the sizes of two multisets and c of their members in common, a pair is wanted when
`c / n >= alpha` and `c / m >= beta`. Nothing that fits is lost:

* Sizes: c <= n, so `n / m >= beta`. Records come in the order of size, and what has become too
  short for the record at hand is too short for all later ones.
* Prefixes: members are ranked once for all records. Where c >= T, the first `size - T + 1`
  members of both records, in the order of rank, have one in common (of what is after them there
  is too little for T). So only prefixes are looked up, and rare members are ranked first.
* Pairs that meet there are counted exactly, until the count cannot be reached any more.
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


@kernel
def least_common(size: int, share: float) -> int:
    """The smallest whole c, at least 1, with `c / size >= share`."""
    least = max(1, int(share * size))
    while least > 1 and (least - 1) / size >= share:
        least -= 1
    while least / size < share:
        least += 1
    return least


@kernel
def overlap_join(
    members: NDArray[np.int64], offsets: NDArray[np.int64], alpha: float, beta: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of records (smaller row, larger row) that have enough members in common.

    Record r is `members[offsets[r]:offsets[r + 1]]`: whole numbers (room is made up to the highest
    of them), each once and in ascending order, so that a member that occurs twice is two numbers.
    Records come in ascending order of size and none is empty.
    """
    records = len(offsets) - 1
    heads, fills, postings = _room_for_postings(members, offsets, max(alpha, beta))
    left, right = np.empty(1024, np.int64), np.empty(1024, np.int64)
    found = 0
    seen = np.full(records, -1, np.int64)
    for record in range(records):
        begin, end = offsets[record], offsets[record + 1]
        size = end - begin
        needed = least_common(size, beta)
        for place in range(begin, end - needed + 1):
            member = members[place]
            head = heads[member]
            while head < fills[member] and _size(offsets, postings[head]) / size < beta:
                head += 1
            heads[member] = head
            for posting in range(head, fills[member]):
                other = postings[posting]
                if seen[other] == record:
                    continue
                seen[other] = record
                least = max(needed, least_common(_size(offsets, other), alpha))
                if _have_in_common(members, offsets, other, record, least):
                    if found == len(left):
                        left, right = _doubled(left), _doubled(right)
                    left[found] = other
                    right[found] = record
                    found += 1
        needed = least_common(size, max(alpha, beta))
        for place in range(begin, end - needed + 1):
            member = members[place]
            postings[fills[member]] = record
            fills[member] += 1
    return left[:found].copy(), right[:found].copy()


@kernel
def _room_for_postings(
    members: NDArray[np.int64], offsets: NDArray[np.int64], share: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Where the list of each member begins, twice (it moves and it fills), and the lists."""
    highest = np.int64(-1)
    for member in members:
        highest = max(highest, member)
    starts = np.zeros(highest + 2, np.int64)
    for record in range(len(offsets) - 1):
        begin, end = offsets[record], offsets[record + 1]
        for place in range(begin, end - least_common(end - begin, share) + 1):
            starts[members[place] + 1] += 1
    for member in range(1, len(starts)):
        starts[member] += starts[member - 1]
    return starts[:-1].copy(), starts[:-1].copy(), np.empty(starts[-1], np.int64)


@kernel
def _size(offsets: NDArray[np.int64], record: int) -> int:
    return int(offsets[record + 1] - offsets[record])


@kernel
def _have_in_common(
    members: NDArray[np.int64], offsets: NDArray[np.int64], one: int, two: int, least: int
) -> bool:
    i, i_end = offsets[one], offsets[one + 1]
    j, j_end = offsets[two], offsets[two + 1]
    common = 0
    while common < least and common + min(i_end - i, j_end - j) >= least:
        if members[i] == members[j]:
            common += 1
            i += 1
            j += 1
        elif members[i] < members[j]:
            i += 1
        else:
            j += 1
    return common >= least


@kernel
def _doubled(values: NDArray[np.int64]) -> NDArray[np.int64]:
    larger = np.empty(2 * len(values), np.int64)
    larger[: len(values)] = values
    return larger
