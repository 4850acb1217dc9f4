"""All pairs of multisets that have enough in common, without looking at all pairs.

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
