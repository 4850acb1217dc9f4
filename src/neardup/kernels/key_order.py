"""Numbers in the order of their keys, in time that grows as they do.

Keys are hashes for the most part, evenly spread over 64 bits: each falls into one of equal ranges,
about four to a range, and a range is soon in order. Where many fall into one range (a key that many
pages have, numbers that are no hashes) the range is sorted as any numbers are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel

Keys = NDArray[np.uint64]
Numbers = NDArray[np.int64]

A_RANGE = 4  # keys, about
FEW = 32  # keys that are put in order one by one


@kernel
def in_order_of_keys(keys: Keys, numbers: Numbers) -> tuple[Keys, Numbers]:
    """Both, by key; numbers of equal keys stay as they stand."""
    bits = 1
    while A_RANGE << bits < len(keys):
        bits += 1
    shift = np.uint64(64 - bits)
    starts = np.zeros((1 << bits) + 1, np.int64)
    for key in keys:
        starts[(key >> shift) + np.uint64(1)] += 1
    for number in range(1 << bits):
        starts[number + 1] += starts[number]
    places = starts[:-1].copy()
    sorted_keys, sorted_numbers = np.empty_like(keys), np.empty_like(numbers)
    for at in range(len(keys)):
        place = places[keys[at] >> shift]
        places[keys[at] >> shift] = place + 1
        sorted_keys[place] = keys[at]
        sorted_numbers[place] = numbers[at]
    for number in range(1 << bits):
        first, last = starts[number], starts[number + 1]
        if last - first <= FEW:
            _put_in_order(sorted_keys[first:last], sorted_numbers[first:last])
        else:
            order = np.argsort(sorted_keys[first:last], kind="mergesort")
            sorted_keys[first:last] = sorted_keys[first:last][order]
            sorted_numbers[first:last] = sorted_numbers[first:last][order]
    return sorted_keys, sorted_numbers


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
    while highest >> shift > len(numbers) // A_RANGE:
        shift += 1
    starts = np.zeros((highest >> shift) + 2, np.int64)
    for number in numbers:
        starts[(number >> shift) + 1] += 1
    for place in range(len(starts) - 1):
        starts[place + 1] += starts[place]
    places, ordered = starts[:-1].copy(), np.empty_like(numbers)
    for number in numbers:
        place = places[number >> shift]
        places[number >> shift] = place + 1
        ordered[place] = number
    for place in range(len(starts) - 1):
        _sort(ordered[starts[place] : starts[place + 1]])
    return ordered


@kernel
def sums_of_keys(keys: Keys, counts: Numbers) -> tuple[Keys, Numbers]:
    """Each key once, in order, with the sum of its counts; the keys given are in order."""
    distinct, sums = np.empty_like(keys), np.empty_like(counts)
    found = 0
    for at in range(len(keys)):
        if at > 0 and keys[at] == keys[at - 1]:
            sums[found - 1] += counts[at]
        else:
            distinct[found] = keys[at]
            sums[found] = counts[at]
            found += 1
    return distinct[:found], sums[:found]


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
