"""The first level of `two-phase`: which pairs of pages have features close enough.

A pair scores a point for each count that differs by less than its limit, and one when the share of
keywords in common (of all distinct ones) is at least `share`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel
from neardup.kernels.memory import doubled
from neardup.kernels.shingles import count_common

MOST = 65_536  # pairs that there is room for at first


@kernel
def level_one_pairs(
    counts: NDArray[np.int32],
    limits: NDArray[np.float64],
    words: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    share: float,
    score: int,
    first: int,
    last: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs (i, j), first <= i < last, i < j, that reach `score`.

    Page p has the counts `counts[p]` and the keywords `words[offsets[p]:offsets[p + 1]]`, which
    ascend, each once. Keywords are compared only where they decide.
    """
    left, right = np.empty(MOST, np.int64), np.empty(MOST, np.int64)
    found = 0
    for i in range(first, last):
        for j in range(i + 1, len(counts)):
            points = 0
            for each in range(counts.shape[1]):
                points += abs(np.int64(counts[i, each]) - counts[j, each]) < limits[each]
            if points == score - 1:
                points += _are_alike(words, offsets, i, j, share)
            if points >= score:
                if found == len(left):
                    left, right = doubled(left), doubled(right)
                left[found] = i
                right[found] = j
                found += 1
    return left[:found].copy(), right[:found].copy()


@kernel
def _are_alike(
    words: NDArray[np.uint64], offsets: NDArray[np.int64], i: int, j: int, share: float
) -> bool:
    sizes = offsets[i + 1] - offsets[i], offsets[j + 1] - offsets[j]
    if max(sizes) == 0:
        return False
    if min(sizes) / max(sizes) < share:
        return False  # even if all of the smaller set were in the larger
    common = count_common(words, offsets[i], offsets[i + 1], words, offsets[j], offsets[j + 1])
    return bool(common / (sizes[0] + sizes[1] - common) >= share)
