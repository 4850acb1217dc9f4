"""Groups and pairs of rows: the pairs inside groups, and the groups that pairs connect.

Candidates come as groups (rows that share a key) and leave as pairs; verified pairs become groups
again. In between, `among_first` bounds how many candidates a row may have.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import Numbers, kernel
from neardup.kernels.key_order import in_order, starts_of_ranges

RANGES = 256  # of rows: few, so that writing to all of them in turn stays in the cache


@kernel
def pairs_within_groups(
    rows: Numbers, starts: Numbers, largest: int, reach: int
) -> tuple[Numbers, Numbers]:
    """The distinct pairs inside the groups, ascending, and in how many groups each is.

    Group g is rows[starts[g]:starts[g + 1]]. A group of up to `largest` rows gives all its pairs, a
    larger one each row with the `reach` rows after it. A pair is one number, the smaller row in its
    upper half; a row that is twice in a group makes no pair with itself.

    Pairs are counted by range of the smaller row, written to their ranges, and sorted in each:
    a first digit of a radix sort, made while the pairs are, so that they are written once.
    """
    highest, shift = np.int64(0), 0
    for row in rows:
        highest = max(highest, row)
    while highest >> shift >= RANGES:
        shift += 1
    ranges = np.zeros(RANGES + 1, np.int64)
    _each_pair(rows, starts, largest, reach, shift, ranges[1:], np.empty(0, np.int64))
    places = starts_of_ranges(ranges)
    pairs = np.empty(ranges[RANGES], np.int64)
    _each_pair(rows, starts, largest, reach, shift, places, pairs)
    counts = np.empty(pairs.size, np.int64)
    count = 0
    for number in range(RANGES):
        lowest = number << shift << 32
        for pair in in_order(pairs[ranges[number] : ranges[number + 1]] - lowest):
            if count == 0 or pairs[count - 1] != pair + lowest:
                pairs[count] = pair + lowest
                counts[count] = 0
                count += 1
            counts[count - 1] += 1
    return pairs[:count], counts[:count]


@kernel
def _each_pair(
    rows: Numbers,
    starts: Numbers,
    largest: int,
    reach: int,
    shift: int,
    places: Numbers,
    pairs: Numbers,
) -> None:
    """Write each pair at the place of its range of smaller rows, and move that place on.

    Without room for pairs they are only counted: from zeros the places become the numbers of pairs.
    """
    for group in range(starts.size - 1):
        end = starts[group + 1]
        ahead = end - starts[group] if end - starts[group] <= largest else reach
        for i in range(starts[group], end):
            for j in range(i + 1, min(i + 1 + ahead, end)):
                one, other = min(rows[i], rows[j]), max(rows[i], rows[j])
                if one == other:
                    continue
                if pairs.size:
                    pairs[places[one >> shift]] = one << 32 | other
                places[one >> shift] += 1


@kernel
def among_first(
    rows: Numbers, turns: NDArray[np.uint64], counts: NDArray[np.bool_], most: int
) -> NDArray[np.bool_]:
    """Whether each entry is among the `most` entries of its row with the smallest turns.

    Entries that do not count take no place, and the answer for them is no. Rows are numbers from 0
    on; no two entries have the same turn.
    """
    last = np.int64(-1)
    for row in rows:
        last = max(last, row)
    smallest = no_turns(int(last) + 1, most)
    take_turns(smallest, rows, turns, counts)
    return counts & have_turn(smallest, rows, turns)


NO_TURN = np.uint64(2**64 - 1)


@kernel
def no_turns(count: int, most: int) -> NDArray[np.uint64]:
    """Room for the `most` smallest turns of each of `count` rows."""
    return np.full((count, most), NO_TURN)


@kernel
def take_turns(
    smallest: NDArray[np.uint64],
    rows: Numbers,
    turns: NDArray[np.uint64],
    counts: NDArray[np.bool_],
) -> None:
    """Add the turns of entries that count to the smallest ones of their rows."""
    for entry in range(rows.size):
        if counts[entry]:
            _insert(smallest[rows[entry]], turns[entry])


@kernel
def have_turn(
    smallest: NDArray[np.uint64], rows: Numbers, turns: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """Whether the turn of each entry is among the smallest ones of its row."""
    most = smallest.shape[1]
    is_among = np.zeros(rows.size, np.bool_)
    for entry in range(rows.size):
        if most > 0:
            is_among[entry] = turns[entry] <= smallest[rows[entry], most - 1]
    return is_among


@kernel
def _insert(smallest: NDArray[np.uint64], turn: np.uint64) -> None:
    """Put a number in its place among the smallest so far."""
    for place in range(smallest.size):
        if turn < smallest[place]:
            turn, smallest[place] = smallest[place], turn


@kernel
def connected_components(count: int, left: Numbers, right: Numbers) -> Numbers:
    """For each of `count` nodes the smallest node it is joined to by the pairs (left, right).

    Union-find with path halving; the smaller root wins, so the label is the smallest member
    whatever the order of the pairs.
    """
    parent = np.arange(count)
    for pair in range(left.size):
        a = left[pair]
        b = right[pair]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a < b:
            parent[b] = a
        elif b < a:
            parent[a] = b
    for node in range(count):
        parent[node] = parent[parent[node]]  # parents are smaller and already final
    return parent
