"""Groups and pairs of rows: the pairs inside groups, and the groups that pairs connect.

Candidates come as groups (rows that share a key) and leave as pairs; verified pairs become groups
again. In between, `among_first` bounds how many candidates a row may have.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import Numbers, kernel
from neardup.kernels.key_order import FEW, sort_few
from neardup.kernels.memory import doubled

FIRST_ROOM = 1024  # pairs


@kernel
def pairs_within_groups(
    rows: Numbers, starts: Numbers, largest: int, reach: int
) -> tuple[Numbers, Numbers]:
    """The distinct pairs inside the groups, ascending, and in how many groups each is.

    Group g is rows[starts[g]:starts[g + 1]], in ascending order. A group of up to `largest` rows
    gives all its pairs, a larger one each row with the `reach` rows after it. A pair is one number,
    the smaller row in its upper half; a row that is twice in a group makes no pair with itself.

    Row by row, smallest first, the rows after it in its groups are counted in an array with a place
    for each row. So pairs come in order, and of a pair that is in many groups nothing is written
    but its count. Rows are numbers from 0 on.
    """
    firsts, begins, ends = _stretches_by_row(rows, starts, largest, reach)
    counts = np.zeros(len(firsts) - 1, np.int64)  # of the pairs of one row, by the other
    others = np.empty(len(firsts), np.int64)
    pairs, shared = np.empty(FIRST_ROOM, np.int64), np.empty(FIRST_ROOM, np.int64)
    filled = 0
    for row in range(len(firsts) - 1):
        found = 0
        for number in range(firsts[row], firsts[row + 1]):
            for place in range(begins[number], ends[number]):
                other = rows[place]
                others[found] = other
                found += counts[other] == 0  # without a branch, which could not be foretold
                counts[other] += 1
        if found > FEW:
            others[:found] = np.sort(others[:found])
        else:
            sort_few(others, 0, found)
        while filled + found > len(pairs):
            pairs, shared = doubled(pairs), doubled(shared)
        for number in range(found):
            other = others[number]
            if other != row:
                pairs[filled] = row << 32 | other
                shared[filled] = counts[other]
                filled += 1
            counts[other] = 0
    return pairs[:filled], shared[:filled]


@kernel
def _stretches_by_row(
    rows: Numbers, starts: Numbers, largest: int, reach: int
) -> tuple[Numbers, Numbers, Numbers]:
    """`(firsts, begins, ends)`: for each place of a row, row by row, the stretch of places whose
    rows it makes pairs with; those of row r are from `firsts[r]` to `firsts[r + 1]`."""
    highest = np.int64(-1)
    for row in rows:
        highest = max(highest, row)
    firsts = np.zeros(highest + 3, np.int64)  # two further on, until all stretches are written
    for row in rows:
        firsts[row + 2] += 1
    for row in range(highest + 1):
        firsts[row + 2] += firsts[row + 1]
    begins, ends = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    for group in range(len(starts) - 1):
        first, last = starts[group], starts[group + 1]
        ahead = reach if last - first > largest else last - first
        for place in range(first, last):
            at = firsts[rows[place] + 1]
            firsts[rows[place] + 1] = at + 1
            begins[at] = place + 1
            ends[at] = min(place + 1 + ahead, last)
    return firsts[:-1], begins, ends


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
