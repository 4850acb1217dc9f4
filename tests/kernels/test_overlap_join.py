"""The overlap join finds what counting every pair finds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference import overlap_join as reference
from neardup.kernels.set_join import least_common, overlap_join

shares = st.sampled_from([0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0])
record_lists = st.lists(st.sets(st.integers(0, 30), min_size=1, max_size=15), max_size=25)


@given(record_lists, shares, shares)
def test_join_equals_counting_every_pair(sets: list[set[int]], alpha: float, beta: float) -> None:
    records = sorted((sorted(each) for each in sets), key=len)
    offsets = np.cumsum([0, *map(len, records)]).astype(np.int64)
    members = np.array([member for record in records for member in record], np.int64)
    left, right = overlap_join(members, offsets, alpha, beta)
    pairs = list(zip(left.tolist(), right.tolist(), strict=True))
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == reference.overlap_join(records, alpha, beta)


@given(st.integers(1, 200), st.floats(0, 1))
def test_least_common_is_the_smallest_that_reaches_the_share(size: int, share: float) -> None:
    least = least_common(size, share)
    assert least == min(c for c in range(1, size + 1) if c / size >= share)


def test_many_pairs_outgrow_the_first_room() -> None:
    records = 60  # 1,770 pairs; there is room for 1,024 at first
    left, right = overlap_join(
        np.zeros(records, np.int64), np.arange(records + 1, dtype=np.int64), 0.8, 0.8
    )
    assert len(set(zip(left.tolist(), right.tolist(), strict=True))) == 1770
