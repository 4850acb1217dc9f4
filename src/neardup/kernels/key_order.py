"""Numbers in the order of their keys, in time that grows as they do.

Keys are hashes for the most part, evenly spread over 64 bits: each falls into one of equal ranges.
There are few ranges, so that writing to all of them in turn stays in the cache. A range is cut into
small ones, about four keys to each, and these are soon in order. Where many fall into one (a key
that many pages have, numbers that are no hashes) it is sorted as any numbers are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel

Keys = NDArray[np.uint64]
Numbers = NDArray[np.int64]

MOST_RANGES = 256
A_RANGE = 4096  # keys at least, about, unless there are fewer
A_SMALL_RANGE = 4  # keys, about
FEW = 32  # keys that are put in order one by one
SPARE = 4  # starts of small ranges beyond the keys in them


@kernel
def in_order_of_keys(keys: Keys, numbers: Numbers) -> tuple[Keys, Numbers]:
    """Both, by key; numbers of equal keys stay as they stand."""
    sorted_keys, sorted_numbers = np.empty_like(keys), np.empty_like(numbers)
    if len(keys) <= A_RANGE:
        room = np.empty(len(keys) + SPARE, np.int64)
        _put_in_small_ranges(keys, numbers, np.uint64(0), room, sorted_keys, sorted_numbers)
        return sorted_keys, sorted_numbers
    starts = no_ranges(len(keys))
    count_in_ranges(keys, starts)
    places = starts_of_ranges(starts)
    put_in_ranges(keys, numbers, places, sorted_keys, sorted_numbers)
    order_in_ranges(starts, sorted_keys, sorted_numbers)
    return sorted_keys, sorted_numbers


@kernel
def no_ranges(count: int) -> Numbers:
    """Ranges for so many keys, with nothing in them: where each starts, and the end of all."""
    ranges = 2
    while ranges < MOST_RANGES and A_RANGE * ranges < count:
        ranges *= 2
    return np.zeros(ranges + 1, np.int64)


@kernel
def _bits(ranges: int) -> np.uint64:
    """How many of a key's highest bits tell its range; there are as many as a power of two."""
    bits = 0
    while 1 << bits < ranges:
        bits += 1
    return np.uint64(bits)


@kernel
def count_in_ranges(keys: Keys, starts: Numbers) -> None:
    """Count keys, each at the start of the range after its own."""
    shift = np.uint64(64) - _bits(len(starts) - 1)
    for key in keys:
        starts[(key >> shift) + np.uint64(1)] += 1


@kernel
def starts_of_ranges(starts: Numbers) -> Numbers:
    """Make starts of the counts; a copy of them, for `put_in_ranges` to change."""
    for number in range(len(starts) - 1):
        starts[number + 1] += starts[number]
    return starts.copy()


@kernel
def put_in_ranges(
    keys: Keys, numbers: Numbers, places: Numbers, all_keys: Keys, all_numbers: Numbers
) -> None:
    """Write keys and numbers behind those that are in their ranges already."""
    shift = np.uint64(64) - _bits(len(places) - 1)
    for at in range(len(keys)):
        place = places[keys[at] >> shift]
        places[keys[at] >> shift] = place + 1
        all_keys[place] = keys[at]
        all_numbers[place] = numbers[at]


@kernel
def order_in_ranges(starts: Numbers, keys: Keys, numbers: Numbers) -> None:
    """Put each range in order."""
    most = 0
    for number in range(len(starts) - 1):
        most = max(most, starts[number + 1] - starts[number])
    some_keys, some_numbers = np.empty(most, np.uint64), np.empty(most, np.int64)
    small_starts = np.empty(most + SPARE, np.int64)
    known = _bits(len(starts) - 1)
    for number in range(len(starts) - 1):
        first, last = starts[number], starts[number + 1]
        some_keys[: last - first] = keys[first:last]
        some_numbers[: last - first] = numbers[first:last]
        _put_in_small_ranges(
            some_keys[: last - first],
            some_numbers[: last - first],
            known,
            small_starts,
            keys[first:last],
            numbers[first:last],
        )


@kernel
def _put_in_small_ranges(
    keys: Keys,
    numbers: Numbers,
    known: np.uint64,
    starts: Numbers,
    all_keys: Keys,
    all_numbers: Numbers,
) -> None:
    """Write the keys of one range, which have their `known` highest bits in common, in order."""
    ranges = 2
    while A_SMALL_RANGE * ranges < len(keys):
        ranges *= 2
    shift = np.uint64(64) - _bits(ranges)
    # Where the next key of a range goes stands one place after its start, which it ends up as.
    starts = starts[: ranges + 2]
    starts[:] = 0
    for key in keys:
        starts[(key << known >> shift) + np.uint64(2)] += 1
    for place in range(2, ranges + 2):
        starts[place] += starts[place - 1]
    for at in range(len(keys)):
        place = (keys[at] << known >> shift) + np.uint64(1)
        all_keys[starts[place]] = keys[at]
        all_numbers[starts[place]] = numbers[at]
        starts[place] += 1
    for place in range(ranges):
        first, last = starts[place], starts[place + 1]
        if last - first <= FEW:
            _put_in_order(all_keys[first:last], all_numbers[first:last])
        else:
            order = np.argsort(all_keys[first:last], kind="mergesort")
            all_keys[first:last] = all_keys[first:last][order]
            all_numbers[first:last] = all_numbers[first:last][order]


@kernel
def _put_in_order(keys: Keys, numbers: Numbers) -> None:
    for at in range(1, len(keys)):
        key, number, place = keys[at], numbers[at], at
        while place > 0 and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            numbers[place] = numbers[place - 1]
            place -= 1
        keys[place] = key
        numbers[place] = number


@kernel
def _sort(rows: Numbers) -> None:
    """In place; few rows, as most keys have, one by one."""
    if len(rows) > FEW:
        rows[:] = np.sort(rows)
        return
    for at in range(1, len(rows)):
        row, place = rows[at], at
        while place > 0 and rows[place - 1] > row:
            rows[place] = rows[place - 1]
            place -= 1
        rows[place] = row


@kernel
def in_order(numbers: Numbers) -> Numbers:
    """Numbers from 0 on, sorted: soon, where those of the highest bits are evenly spread."""
    shift, highest = 0, 0
    for number in numbers:
        highest = max(highest, number)
    while highest >> shift > len(numbers) // A_SMALL_RANGE:
        shift += 1
    starts = np.zeros((highest >> shift) + 2, np.int64)
    for number in numbers:
        starts[(number >> shift) + 1] += 1
    places, ordered = starts_of_ranges(starts), np.empty_like(numbers)
    for number in numbers:
        place = places[number >> shift]
        places[number >> shift] = place + 1
        ordered[place] = number
    for place in range(len(starts) - 1):
        _sort(ordered[starts[place] : starts[place + 1]])
    return ordered


@kernel
def sums_of_keys(keys: Keys, counts: Numbers) -> tuple[Keys, Numbers]:
    """Each key once, in order, with the sum of its counts; the keys given are in order.

    What is given is written over: the answer stands in it.
    """
    found = 0
    for at in range(len(keys)):
        key, count = keys[at], counts[at]
        if at > 0 and key == keys[found - 1]:
            counts[found - 1] += count
        else:
            keys[found] = key
            counts[found] = count
            found += 1
    return keys[:found], counts[:found]


@kernel
def shared_keys(keys: Keys, rows: Numbers) -> tuple[Numbers, Numbers]:
    """`(rows, starts)`: the rows of each key that several have, in order, and where each key's rows
    start, with the end of all as the last; the keys given are in order."""
    shared = np.empty_like(rows)
    starts = np.zeros(len(keys) // 2 + 1, np.int64)
    filled, groups, first = 0, 0, 0
    while first < len(keys):
        last = first + 1
        while last < len(keys) and keys[last] == keys[first]:
            last += 1
        if last - first > 1:
            shared[filled : filled + last - first] = rows[first:last]
            _sort(shared[filled : filled + last - first])
            filled += last - first
            groups += 1
            starts[groups] = filled
        first = last
    return shared[:filled], starts[: groups + 1]
