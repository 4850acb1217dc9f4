"""From groups of rows to the pairs inside each group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel


@kernel
def pairs_within_groups(
    rows: NDArray[np.int64], starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All pairs inside each group; group g is rows[starts[g]:starts[g + 1]].

    A pair comes as (smaller, larger); a row twice in a group makes no pair with itself.
    """
    total = 0
    for group in range(starts.size - 1):
        size = starts[group + 1] - starts[group]
        total += size * (size - 1) // 2
    left = np.empty(total, np.int64)
    right = np.empty(total, np.int64)
    filled = 0
    for group in range(starts.size - 1):
        for i in range(starts[group], starts[group + 1]):
            for j in range(i + 1, starts[group + 1]):
                if rows[i] != rows[j]:
                    left[filled] = min(rows[i], rows[j])
                    right[filled] = max(rows[i], rows[j])
                    filled += 1
    return left[:filled], right[:filled]
