"""The similarity measure of `word-table` over sorted tables of words.

A table is a run of three arrays: `words` (hashes, ascending, each once), `frequencies` F and
`positions` pos. For two tables of n and m words, with N = (n + m) / 2:

    S1 = sum over common words    log(F1 * F2) * |pos1 - pos2|
    S2, S3 = sum over the others  log(F) * pos
    SM = (S1 + S2 + S3) / N

The sums are symmetric to the last bit: words are taken in the same order, and S2 and S3 are added
to one another first.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import Numbers, kernel
from neardup.kernels.memory import doubled

Words = NDArray[np.uint64]
ROOM = 4096  # pairs that there is room for at first
ROUNDING = 1 + 1e-9  # a pair is given up a hair late; the exact comparison follows


@kernel
def measures(
    words: Words,
    frequencies: Numbers,
    positions: Numbers,
    offsets: Numbers,
    left: Numbers,
    right: Numbers,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], Numbers]:
    """`(S1, S2, S3, common words)` of the tables `left[p]` and `right[p]`, for each pair p."""
    s1, s2, s3 = np.zeros(len(left)), np.zeros(len(left)), np.zeros(len(left))
    common = np.zeros(len(left), np.int64)
    for pair in range(len(left)):
        s1[pair], s2[pair], s3[pair], common[pair] = _sums(
            words, frequencies, positions, offsets, left[pair], right[pair], np.inf, 0
        )
    return s1, s2, s3, common


@kernel
def close_pairs(
    words: Words,
    frequencies: Numbers,
    positions: Numbers,
    offsets: Numbers,
    most: float,
    share: float,
    first: int,
    last: int,
) -> tuple[Numbers, Numbers]:
    """The pairs (i, j), first <= i < last, i < j, with SM <= `most` and enough words in common.

    Enough is a `share` of all distinct words of the two. No table is empty.
    """
    left, right = np.empty(ROOM, np.int64), np.empty(ROOM, np.int64)
    pairs = 0
    for i in range(first, last):
        n = offsets[i + 1] - offsets[i]
        for j in range(i + 1, len(offsets) - 1):
            m = offsets[j + 1] - offsets[j]
            if min(n, m) / max(n, m) < share:
                continue
            average = (n + m) / 2
            least = int(share * (n + m) / (1 + share) / ROUNDING)
            s1, s2, s3, common = _sums(
                words, frequencies, positions, offsets, i, j, most * average * ROUNDING, least
            )
            if (s1 + (s2 + s3)) / average <= most and common / (n + m - common) >= share:
                if pairs == len(left):
                    left, right = doubled(left), doubled(right)
                left[pairs] = i
                right[pairs] = j
                pairs += 1
    return left[:pairs].copy(), right[:pairs].copy()


@kernel
def _sums(
    words: Words,
    frequencies: Numbers,
    positions: Numbers,
    offsets: Numbers,
    one: int,
    two: int,
    most: float,
    least: int,
) -> tuple[float, float, float, int]:
    """The three sums and the common words.

    They stop where the sums are above `most`, or fewer than `least` words can be common.
    """
    s1, s2, s3, common = 0.0, 0.0, 0.0, 0
    i, i_end = offsets[one], offsets[one + 1]
    j, j_end = offsets[two], offsets[two + 1]
    while (
        (i < i_end or j < j_end)
        and s1 + (s2 + s3) <= most
        and common + min(i_end - i, j_end - j) >= least
    ):
        if j == j_end or (i < i_end and words[i] < words[j]):
            if frequencies[i] > 1:
                s2 += math.log(frequencies[i]) * positions[i]
            i += 1
        elif i == i_end or words[j] < words[i]:
            if frequencies[j] > 1:
                s3 += math.log(frequencies[j]) * positions[j]
            j += 1
        else:
            apart = abs(positions[i] - positions[j])
            if apart:
                s1 += math.log(frequencies[i] * frequencies[j]) * apart
            common += 1
            i += 1
            j += 1
    return s1, s2, s3, common
