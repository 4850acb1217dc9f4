"""Kernel == reference for identical pages."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference import identity as plain
from neardup.kernels import identity

pages = st.lists(st.tuples(*[st.integers(0, 2)] * len(identity.COLUMNS)), max_size=12)


@given(st.lists(pages, min_size=1, max_size=3))
def test_identical_kinds(batches: list[list[tuple[int, ...]]]) -> None:
    width = len(identity.COLUMNS)
    columns = [np.array(batch, np.uint64).reshape(-1, width).T.copy() for batch in batches]
    addresses = [[column.ctypes.data for column in each] for each in columns]
    every = [(batch, row) for batch, rows in enumerate(batches) for row in range(len(rows))]
    pairs = [(left, right) for left in every for right in every]
    sides = np.array(pairs, np.int32).reshape(-1, 4).T.copy()
    found = identity.identical_kinds(np.array(addresses, np.uint64), *sides).tolist()
    assert found == [
        plain.identical_kind(batches[left][row], batches[right][other])
        for (left, row), (right, other) in pairs
    ]
