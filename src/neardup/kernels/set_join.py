"""Set similarity joins: the pairs of sets that have enough in common, without looking at all pairs.

Two joins, for two measures, that rest on the same two filters (Theobald et al. 2008, 4; known since
as prefix filtering). Neither filter loses a pair:

* Sizes. A set that is too small for another cannot share enough with it. Sets are taken from small
  to large, so what is too small for one is too small for all that follow, and is dropped for good.
* Prefixes. All values are put in one order. Two sets that share T values or more have one in common
  among the first `size - T + 1` of each: what comes after these is too little for T. So only
  prefixes are indexed and looked up, and with rare values first they seldom meet.

`candidate_pairs` joins sets A and B by resemblance, |A n B| / |A u B| >= t. They then share t |A|
values or more. It gives candidates: whoever asked verifies them.

`overlap_join` joins multisets of n <= m members, c of them in common, by `c / n >= alpha` and
`c / m >= beta`. It counts what the pairs that meet have in common, and gives the exact answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import Numbers, kernel
from neardup.kernels.memory import doubled

Values = NDArray[np.uint64]

SLACK = 1e-9  # of the bounds, so that rounding never drops a pair that is just at the threshold


def candidate_pairs(values: Values, offsets: Numbers, threshold: float) -> tuple[Numbers, Numbers]:
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
    """How many of the first values of a set of this size are in its prefix."""
    needed = int(np.ceil(threshold * size - SLACK))
    return min(size, size - needed + 1)


@kernel
def prefixes(
    values: Values, offsets: Numbers, wanted: NDArray[np.bool_], threshold: float
) -> tuple[Numbers, Values]:
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
    ranks: Numbers, offsets: Numbers, by_size: Numbers, distinct: int, threshold: float
) -> tuple[Numbers, Numbers]:
    """Take the sets from small to large; look each one's prefix up in the sets before it.

    The index is a list of holders per value. Its room is counted first, so the lists stand one
    after another in one array: those of value v that still matter are
    `holders[first[v]:filled[v]]`.
    """
    prefixes = np.empty(ranks.size, np.int64)
    room = np.zeros(distinct + 1, np.int64)
    for row in range(offsets.size - 1):
        begin, end = offsets[row], offsets[row + 1]
        prefixes[begin:end] = np.sort(ranks[begin:end])
        for place in range(begin, begin + prefix_length(end - begin, threshold)):
            room[prefixes[place] + 1] += 1
    for value in range(distinct):
        room[value + 1] += room[value]
    holders = np.empty(room[distinct], np.int64)
    first, filled = room[:-1].copy(), room[:-1].copy()
    seen = np.full(offsets.size - 1, -1, np.int64)  # the last row that a holder was paired with
    left = np.empty(1024, np.int64)
    right = np.empty(1024, np.int64)
    pairs = 0
    for row in by_size:
        begin = offsets[row]
        size = offsets[row + 1] - begin
        least = threshold * size - SLACK
        for place in range(begin, begin + prefix_length(size, threshold)):
            value = prefixes[place]
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
                if pairs == left.size:
                    left, right = doubled(left), doubled(right)
                left[pairs] = min(row, holder)
                right[pairs] = max(row, holder)
                pairs += 1
            holders[filled[value]] = row
            filled[value] += 1
    return left[:pairs].copy(), right[:pairs].copy()


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
    members: Numbers, offsets: Numbers, alpha: float, beta: float
) -> tuple[Numbers, Numbers]:
    """Pairs of records (smaller row, larger row) that have enough members in common.

    A record looks up a longer prefix than it leaves in the index. Those before it are smaller, so
    for them to be found `beta` of its own size must be shared; those after it are larger, and both
    shares hold for its own size then.

    Record r is `members[offsets[r]:offsets[r + 1]]`: whole numbers (room is made up to the highest
    of them), each once and in ascending order, so that a member that occurs twice is two numbers.
    Records come in ascending order of size and none is empty.
    """
    records = len(offsets) - 1
    heads, fills, postings = _room_for_postings(members, offsets, max(alpha, beta))
    left, right = np.empty(1024, np.int64), np.empty(1024, np.int64)
    pairs = 0
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
                    if pairs == len(left):
                        left, right = doubled(left), doubled(right)
                    left[pairs] = other
                    right[pairs] = record
                    pairs += 1
        needed = least_common(size, max(alpha, beta))
        for place in range(begin, end - needed + 1):
            member = members[place]
            postings[fills[member]] = record
            fills[member] += 1
    return left[:pairs].copy(), right[:pairs].copy()


@kernel
def _room_for_postings(
    members: Numbers, offsets: Numbers, share: float
) -> tuple[Numbers, Numbers, Numbers]:
    """Where the list of each member begins, once to be moved on and once to be filled, and the room
    for all lists."""
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
def _size(offsets: Numbers, record: int) -> int:
    return int(offsets[record + 1] - offsets[record])


@kernel
def _have_in_common(members: Numbers, offsets: Numbers, one: int, two: int, least: int) -> bool:
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
