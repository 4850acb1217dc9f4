"""Kernel == reference for lists that are copied to their places."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference.list_copy import copied
from neardup.kernels.memory import copy_lists

lists = st.lists(st.lists(st.integers(0, 255), max_size=70), min_size=1, max_size=6)


@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.uint64])
@given(lists, st.data())
def test_copy_lists(kind: type[np.generic], lists: list[list[int]], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=8))
    gaps = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    places, room = [], 0
    for row, gap in zip(rows, gaps, strict=True):
        places.append(room + gap)
        room += gap + len(lists[row])
    target = np.full(room + 1, 99, kind)
    expected = copied(lists, rows, places, target.tolist())
    copy_lists(
        np.array(list(chain.from_iterable(lists)), kind).view(np.uint8),
        np.cumsum([0, *map(len, lists)]).astype(np.int32),
        target.itemsize,
        np.array(rows, np.int64),
        target.view(np.uint8),
        np.array(places, np.int64),
    )
    assert target.tolist() == expected
