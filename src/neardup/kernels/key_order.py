"""Sorts numbers by 64-bit keys in linear time: a bucket sort in two levels.

Keys are mostly hashes, evenly spread over 64 bits, so they fall evenly into ranges of equal width.
There are few ranges, so that writing to all of them in turn stays in the cache. Each range is then
cut into small ranges of about one key, and insertion sort puts the last few in order. A small range
with many keys (a key shared by many pages, or numbers that are not hashes) is sorted by a general
algorithm before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import Numbers, borrowing_kernel, kernel

Keys = NDArray[np.uint64]

MOST_RANGES = 256
A_RANGE = 4096  # approximate keys per range, at least
A_SMALL_RANGE = 1  # approximate keys per small range
FEW = 32  # up to so many keys insertion sort is used
SPARE = 4  # room for starts of small ranges, in addition to two per key


@kernel
def in_order_of_keys(keys: Keys, numbers: Numbers) -> tuple[Keys, Numbers]:
    """Keys and numbers sorted by key; the sort is stable."""
    sorted_keys, sorted_numbers = np.empty_like(keys), np.empty_like(numbers)
    if len(keys) <= A_RANGE:
        room = np.empty(2 * len(keys) + SPARE, np.int64)
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
    """Zeroed counters for the ranges of `count` keys, one more than there are ranges."""
    ranges = 2
    while ranges < MOST_RANGES and A_RANGE * ranges < count:
        ranges *= 2
    return np.zeros(ranges + 1, np.int64)


@kernel
def _bits(ranges: int) -> np.uint64:
    """How many of the highest bits of a key select its range; `ranges` is a power of two."""
    bits = 0
    while 1 << bits < ranges:
        bits += 1
    return np.uint64(bits)


@kernel
def count_in_ranges(keys: Keys, starts: Numbers) -> None:
    """Count the keys of each range, in the counter after its own."""
    shift = np.uint64(64) - _bits(len(starts) - 1)
    for key in keys:
        starts[(key >> shift) + np.uint64(1)] += 1


@kernel
def starts_of_ranges(starts: Numbers) -> Numbers:
    """Turn counts into starts, in place; returns a copy for `put_in_ranges` to advance."""
    for number in range(len(starts) - 1):
        starts[number + 1] += starts[number]
    return starts.copy()


@kernel
def put_in_ranges(
    keys: Keys, numbers: Numbers, places: Numbers, all_keys: Keys, all_numbers: Numbers
) -> None:
    """Append keys and numbers to their ranges; `places` are the next free positions."""
    shift = np.uint64(64) - _bits(len(places) - 1)
    for at in range(len(keys)):
        place = places[keys[at] >> shift]
        places[keys[at] >> shift] = place + 1
        all_keys[place] = keys[at]
        all_numbers[place] = numbers[at]


@kernel
def order_in_ranges(starts: Numbers, keys: Keys, numbers: Numbers) -> None:
    """Sort each range."""
    most = 0
    for number in range(len(starts) - 1):
        most = max(most, starts[number + 1] - starts[number])
    some_keys, some_numbers = np.empty(most, np.uint64), np.empty(most, np.int64)
    small_starts = np.empty(2 * most + SPARE, np.int64)
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
    """Sort one range, whose keys agree in their `known` highest bits, into the output arrays."""
    ranges = 2
    while A_SMALL_RANGE * ranges < len(keys):
        ranges *= 2
    shift = np.uint64(64) - _bits(ranges)
    # starts[r + 1] is where the next key of range r goes, and finally where range r + 1 starts.
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
        if last - first > FEW:
            order = np.argsort(all_keys[first:last], kind="mergesort")
            all_keys[first:last] = all_keys[first:last][order]
            all_numbers[first:last] = all_numbers[first:last][order]
    _put_in_order(all_keys, all_numbers)


@borrowing_kernel
def _put_in_order(keys: Keys, numbers: Numbers) -> None:
    """Insertion sort of all small ranges: none leaves its own, since those before are smaller."""
    for at in range(1, len(keys)):
        key, place = keys[at], at
        if keys[at - 1] <= key:
            continue
        number = numbers[at]
        while place > 0 and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            numbers[place] = numbers[place - 1]
            place -= 1
        keys[place] = key
        numbers[place] = number


@borrowing_kernel
def sort_few(numbers: Numbers, first: int, last: int) -> None:
    """Sort the numbers from the place `first` on and before `last` by insertion."""
    for at in range(first + 1, last):
        number, place = numbers[at], at
        while place > first and numbers[place - 1] > number:
            numbers[place] = numbers[place - 1]
            place -= 1
        numbers[place] = number


@kernel
def sums_of_keys(keys: Keys, counts: Numbers) -> tuple[Keys, Numbers]:
    """The distinct keys with the sums of their counts; `keys` must be sorted.

    Both arrays are overwritten; the result is a view of them.
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
def counts_of_keys(keys: Keys) -> tuple[Keys, Numbers]:
    """The distinct keys and how often each is there; `keys` must be sorted and is overwritten."""
    counts = np.empty(len(keys), np.int64)
    found, first = np.uint64(0), np.uint64(0)
    for at in range(np.uint64(len(keys))):  # without a branch, which could not be foretold
        following = at + np.uint64(1)
        key = keys[at]
        keys[found] = key
        counts[found] = following - first
        is_last = following == np.uint64(len(keys)) or keys[following] != key
        first = following if is_last else first
        found += np.uint64(is_last)
    return keys[:found], counts[:found]


@kernel
def more_than_once(keys: Keys, counts: Numbers) -> tuple[Keys, Numbers]:
    """The keys that are counted more than once, and how many times more."""
    most = 0
    for count in counts:
        most += count > 1
    repeated, more = np.empty(most + 1, np.uint64), np.empty(most + 1, np.int64)
    found = np.uint64(0)
    for at in range(np.uint64(len(keys))):  # without a branch, which could not be foretold
        repeated[found] = keys[at]
        more[found] = counts[at] - 1
        found += np.uint64(counts[at] > 1)
    return repeated[:most], more[:most]


@kernel
def add_by_key(keys: Keys, counts: Numbers, some_keys: Keys, some_counts: Numbers) -> None:
    """Add to the counts of some keys; all keys are sorted, and each of the some is there."""
    at = 0
    for some in range(len(some_keys)):
        while keys[at] != some_keys[some]:
            at += 1
        counts[at] += some_counts[some]


@kernel
def shared_keys(keys: Keys, rows: Numbers) -> tuple[Numbers, Numbers]:
    """`(rows, starts)`: the sorted rows of each key that several rows share, and where the rows of
    each such key start, followed by the end; `keys` must be sorted."""
    shared = np.empty_like(rows)
    starts = np.zeros(len(keys) // 2 + 2, np.int64)
    filled, groups, goes_on = np.uint64(0), np.uint64(0), False
    for at in range(np.uint64(len(keys))):  # without a branch, which could not be foretold
        following = at + np.uint64(1)
        continues = bool(following < np.uint64(len(keys)) and keys[following] == keys[at])
        shared[filled] = rows[at]
        starts[groups] = filled if continues and not goes_on else starts[groups]
        groups += np.uint64(continues and not goes_on)
        filled += np.uint64(continues or goes_on)
        goes_on = continues
    starts[groups] = filled
    for group in range(groups):
        first, last = starts[group], starts[group + np.uint64(1)]
        if last - first > FEW:
            shared[first:last] = np.sort(shared[first:last])
        else:
            sort_few(shared, first, last)
    return shared[:filled], starts[: groups + np.uint64(1)]
