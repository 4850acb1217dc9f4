"""From groups of rows to the pairs inside each group; and the first entries of each row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel


@kernel
def pairs_within_groups(
    rows: NDArray[np.int64], starts: NDArray[np.int64], largest: int, reach: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs inside each group; group g is rows[starts[g]:starts[g + 1]].

    All pairs of a group of up to `largest` rows; of a larger one each row with the `reach` rows
    after it. A pair comes as (smaller, larger); a row twice in a group makes no pair with itself.
    """
    total = 0
    for group in range(starts.size - 1):
        size = starts[group + 1] - starts[group]
        total += size * (size - 1) // 2 if size <= largest else size * reach
    left = np.empty(total, np.int64)
    right = np.empty(total, np.int64)
    filled = 0
    for group in range(starts.size - 1):
        end = starts[group + 1]
        ahead = end - starts[group] if end - starts[group] <= largest else reach
        for i in range(starts[group], end):
            for j in range(i + 1, min(i + 1 + ahead, end)):
                if rows[i] != rows[j]:
                    left[filled] = min(rows[i], rows[j])
                    right[filled] = max(rows[i], rows[j])
                    filled += 1
    return left[:filled], right[:filled]


@kernel
def among_first(
    rows: NDArray[np.int64],
    turns: NDArray[np.uint64],
    counts: NDArray[np.bool_],
    most: int,
) -> NDArray[np.bool_]:
    """Whether each entry is among the `most` entries of its row with the smallest turns.

    Only entries that count do, and only they are told of. Rows are numbers from 0 on; no two
    entries have the same turn.
    """
    last = np.int64(-1)
    for row in rows:
        last = max(last, row)
    smallest = np.full((last + 1, most), np.uint64(2**64 - 1))
    for entry in range(rows.size):
        if counts[entry]:
            _insert(smallest[rows[entry]], turns[entry])
    found = np.zeros(rows.size, np.bool_)
    for entry in range(rows.size):
        if counts[entry] and most > 0:
            found[entry] = turns[entry] <= smallest[rows[entry], most - 1]
    return found


@kernel
def _insert(smallest: NDArray[np.uint64], turn: np.uint64) -> None:
    """Put a number in its place among the smallest so far."""
    for place in range(smallest.size):
        if turn < smallest[place]:
            turn, smallest[place] = smallest[place], turn
