"""The measure of word tables: kernel against the formula."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference import word_table as reference
from neardup.kernels.word_table import ROOM, close_pairs, measures

tables = st.dictionaries(
    st.integers(0, 12), st.tuples(st.integers(1, 5), st.integers(1, 30)), min_size=1, max_size=10
)


def flat(
    drawn: list[reference.Table],
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    entries = [(word, *table[word]) for table in drawn for word in sorted(table)]
    columns = np.array(entries, np.int64).reshape(-1, 3).T
    offsets = np.cumsum([0, *map(len, drawn)]).astype(np.int64)
    return columns[0].astype(np.uint64), columns[1].copy(), columns[2].copy(), offsets


@given(st.lists(tables, min_size=2, max_size=2))
def test_measures_equal_the_formula_and_are_symmetric(drawn: list[reference.Table]) -> None:
    there = np.array([0, 1])
    s1, s2, s3, common = measures(*flat(drawn), there, there[::-1].copy())
    assert (s1[0], s2[0], s3[0], common[0]) == pytest.approx(reference.sums(*drawn))
    assert s1[0] + (s2[0] + s3[0]) == s1[1] + (s2[1] + s3[1])


@given(
    st.lists(tables, max_size=10),
    st.sampled_from([0.0, 3.0, 15.0, 50.0]),
    st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    st.integers(1, 4),
)
def test_close_pairs_are_those_the_formula_finds(
    drawn: list[reference.Table], most: float, share: float, step: int
) -> None:
    found = set()
    for first in range(0, len(drawn), step):
        last = min(first + step, len(drawn))
        left, right = close_pairs(*flat(drawn), most, share, first, last)
        found |= set(zip(left.tolist(), right.tolist(), strict=True))
    for i, j in combinations(range(len(drawn)), 2):
        one, two = drawn[i], drawn[j]
        enough = len(one.keys() & two.keys()) / len(one.keys() | two.keys()) >= share
        measured = reference.measure(one, two)
        if abs(measured - most) > 1e-9 or most == 0:  # sums in another order differ in the last bit
            assert ((i, j) in found) == (enough and measured <= most)


def test_many_pairs_outgrow_the_first_room() -> None:
    count = 100  # 4,950 pairs
    assert count * (count - 1) // 2 > ROOM
    left, right = close_pairs(*flat([{1: (1, 1)}] * count), 0.0, 1.0, 0, count)
    assert len(set(zip(left.tolist(), right.tolist(), strict=True))) == count * (count - 1) // 2
