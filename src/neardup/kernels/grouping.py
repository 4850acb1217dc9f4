"""From groups of rows to the pairs inside each group."""

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
