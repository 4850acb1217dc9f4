"""Cosines of sparse count vectors.

A vector is a run of distinct words in rising order with their counts; vector r of a ragged set is
`words[offsets[r]:offsets[r + 1]]` and the counts beside them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel

Words = NDArray[np.uint32]
Counts = NDArray[np.uint16]
Offsets = NDArray[np.int64]
Rows = NDArray[np.int64]


@kernel
def sparse_cosines(
    left_words: Words,
    left_counts: Counts,
    left_offsets: Offsets,
    right_words: Words,
    right_counts: Counts,
    right_offsets: Offsets,
    left_rows: Rows,
    right_rows: Rows,
) -> NDArray[np.float64]:
    """The cosine of vector `left_rows[p]` of one set and `right_rows[p]` of the other; 0 where
    one of them is empty."""
    cosines = np.zeros(left_rows.size, np.float64)
    for pair in range(left_rows.size):
        a, a_end = left_offsets[left_rows[pair]], left_offsets[left_rows[pair] + 1]
        b, b_end = right_offsets[right_rows[pair]], right_offsets[right_rows[pair] + 1]
        squares = _squares(left_counts, a, a_end) * _squares(right_counts, b, b_end)
        product = 0.0
        while a < a_end and b < b_end:
            if left_words[a] < right_words[b]:
                a += 1
            elif right_words[b] < left_words[a]:
                b += 1
            else:
                product += float(left_counts[a]) * float(right_counts[b])
                a += 1
                b += 1
        if squares > 0:
            cosines[pair] = min(product / np.sqrt(squares), 1.0)
    return cosines


@kernel
def _squares(counts: Counts, start: int, end: int) -> float:
    total = 0.0
    for place in range(start, end):
        total += float(counts[place]) * float(counts[place])
    return total
