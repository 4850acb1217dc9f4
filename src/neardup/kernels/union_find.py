"""Joining pairs into groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel


@kernel
def connected_components(
    count: int, left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.int64]:
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
