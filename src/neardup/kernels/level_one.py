"""The first level of `two-phase`: which pairs of pages have features close enough.

A pair scores a point for each count that differs by less than its limit, and one when at least
`share` of the keywords of both pages, repeats included, are words that both have.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import Numbers, kernel
from neardup.kernels.memory import doubled

MOST = 65_536  # pairs that there is room for at first


@kernel
def level_one_pairs(
    counts: NDArray[np.int32],
    limits: NDArray[np.float64],
    words: NDArray[np.uint64],
    frequencies: Numbers,
    offsets: Numbers,
    share: float,
    score: int,
    first: int,
    last: int,
) -> tuple[Numbers, Numbers]:
    """The pairs (i, j), first <= i < last, i < j, that reach `score`.

    Page p has the counts `counts[p]` and the keywords `words[offsets[p]:offsets[p + 1]]`, which
    ascend, each once, with how often each occurs. Keywords are compared only where they decide.
    """
    left, right = np.empty(MOST, np.int64), np.empty(MOST, np.int64)
    pairs = 0
    for i in range(first, last):
        for j in range(i + 1, len(counts)):
            points = 0
            for each in range(counts.shape[1]):
                points += abs(np.int64(counts[i, each]) - counts[j, each]) < limits[each]
            if points == score - 1:
                points += keyword_share(words, frequencies, offsets, i, j) >= share
            if points >= score:
                if pairs == len(left):
                    left, right = doubled(left), doubled(right)
                left[pairs] = i
                right[pairs] = j
                pairs += 1
    return left[:pairs].copy(), right[:pairs].copy()


@kernel
def keyword_shares(
    words: NDArray[np.uint64], frequencies: Numbers, offsets: Numbers, left: Numbers, right: Numbers
) -> NDArray[np.float64]:
    """`keyword_share` of each pair of pages."""
    shares = np.empty(left.size, np.float64)
    for pair in range(left.size):
        shares[pair] = keyword_share(words, frequencies, offsets, left[pair], right[pair])
    return shares


@kernel
def keyword_share(
    words: NDArray[np.uint64], frequencies: Numbers, offsets: Numbers, one: int, other: int
) -> float:
    """Occurrences, in both pages, of words that both have, over all occurrences; 0 without any.

    A merge of two ascending lists: the side with the smaller word moves on, on a match both do.
    """
    a, b = offsets[one], offsets[other]
    a_end, b_end = offsets[one + 1], offsets[other + 1]
    total = frequencies[a:a_end].sum() + frequencies[b:b_end].sum()
    common = 0
    while a < a_end and b < b_end:
        if words[a] == words[b]:
            common += frequencies[a] + frequencies[b]
            a += 1
            b += 1
        elif words[a] < words[b]:
            a += 1
        else:
            b += 1
    return common / total if total else 0.0
