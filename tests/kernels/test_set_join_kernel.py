"""`kernels.set_join`: its candidates miss no pair over the threshold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.reference import set_join as plain
from neardup.kernels.set_join import candidate_pairs, prefix_length, prefixes

sets = st.lists(st.sets(st.integers(0, 12)).map(sorted), max_size=12)


def ragged(rows: list[list[int]]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    values = np.array([value for row in rows for value in row], np.uint64)
    return values, np.cumsum([0, *map(len, rows)], dtype=np.int64)


def candidates(rows: list[list[int]], threshold: float) -> list[tuple[int, int]]:
    left, right = candidate_pairs(*ragged(rows), threshold)
    return list(zip(left.tolist(), right.tolist(), strict=True))


@given(sets, st.sampled_from([0.1, 0.3, 1 / 3, 0.44, 0.5, 2 / 3, 0.8, 1.0]))
def test_no_pair_over_the_threshold_is_missed(rows: list[list[int]], threshold: float) -> None:
    found = candidates(rows, threshold)
    assert set(plain.pairs_over(rows, threshold)) <= set(found)
    assert found == sorted(set(found))
    assert all(left < right for left, right in found)


@given(sets, st.sampled_from([0.1, 0.44, 0.5, 2 / 3, 1.0]))
def test_near_sets_share_a_value_of_their_prefixes(rows: list[list[int]], threshold: float) -> None:
    wanted = np.ones(len(rows), bool)
    wanted[:1] = False
    where, values = prefixes(*ragged(rows), wanted, threshold)
    keys = [set(values[where == row].tolist()) for row in range(len(rows))]
    assert not any(keys[:1])
    assert all(keys[i] & keys[j] for i, j in plain.pairs_over(rows, threshold) if i > 0)


def test_sizes_and_rare_values_keep_pairs_out() -> None:
    long, short, other = list(range(10)), [0], [0, 20, 21, 22, 23, 24, 25, 26, 27, 28]
    assert candidates([long, short, other, long], 0.8) == [(0, 3)]


@pytest.mark.parametrize(
    ("size", "threshold", "expected"), [(0, 0.5, 0), (1, 0.5, 1), (10, 0.5, 6), (10, 1.0, 1)]
)
def test_prefix_length(size: int, threshold: float, expected: int) -> None:
    assert prefix_length(size, threshold) == expected
