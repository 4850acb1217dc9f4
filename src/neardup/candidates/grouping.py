"""Candidates: pages that share a key.

A key shared by very many pages is hot. What makes a key hot is either a mirror (pages that are
copies of each other) or boilerplate (a line that unrelated pages share). Pairing each page of a
hot key with the next few only keeps the work linear and loses nothing that matters: copies form a
chain that is joined all the same, and near-duplicates that share boilerplate share their own keys
as well.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.grouping import pairs_within_groups

Rows = NDArray[np.int64]

HOT = 256  # pages that share a key before it is hot: then 32,640 pairs become 4,080
REACH = 16  # how many pages after it, by number, a page of a hot key is paired with


def pairs_sharing_keys(rows: Rows, keys: NDArray[np.uint64]) -> tuple[Rows, Rows]:
    """Every pair of rows that shares a key, once, smaller row first, in order.

    Of hot keys only some: see above.
    """
    rows, starts = _groups(rows, keys)
    left, right = pairs_within_groups(rows, starts, HOT, REACH)
    return distinct_pairs(left, right)


def pairs_with_first(rows: Rows, keys: NDArray[np.uint64]) -> tuple[Rows, Rows]:
    """Each row with the smallest row it shares a key with.

    For methods whose key is already the verdict: a group of n pages is told by n - 1 pairs.
    """
    rows, starts = _groups(rows, keys)
    firsts = np.repeat(rows[starts[:-1]], np.diff(starts))
    return distinct_pairs(firsts[firsts != rows], rows[firsts != rows])


def _groups(rows: Rows, keys: NDArray[np.uint64]) -> tuple[Rows, Rows]:
    """Rows sorted by (key, row), and where each key's rows start, with the end of all as last.

    Only keys that several rows have: most have one, and are not worth the second sort.
    """
    order = np.argsort(keys)
    repeats = np.flatnonzero(np.diff(keys[order]) == 0)
    shared = np.zeros(keys.size, bool)
    shared[repeats] = shared[repeats + 1] = True
    rows, keys = rows[order[shared]], keys[order[shared]]
    order = np.lexsort((rows, keys))
    changes = np.flatnonzero(np.diff(keys)) + 1
    edges = [0, *([] if keys.size == 0 else [keys.size])]
    starts = np.concatenate([edges[:1], changes, edges[1:]]).astype(np.int64)
    return rows[order], starts


def distinct_pairs(left: Rows, right: Rows) -> tuple[Rows, Rows]:
    """Each pair once, in order; rows are below 2 ** 31."""
    pairs = np.unique(left << 32 | right)
    return pairs >> 32, pairs & 0xFFFFFFFF
