"""`kernels.simhash` against its plain truth."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference import simhash as plain
from neardup.kernels.simhash import simhash

words = st.integers(0, 2**64 - 1)


def fingerprints(rows: list[list[int]]) -> list[int]:
    values = np.array([value for row in rows for value in row], np.uint64)
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return [int(value) for value in simhash(values, offsets)]


@given(st.lists(st.lists(words, max_size=9), max_size=5))
def test_short_documents(rows: list[list[int]]) -> None:
    assert fingerprints(rows) == [plain.simhash(row) for row in rows]


@given(st.lists(st.tuples(words, st.integers(200, 600)), min_size=1, max_size=3))
def test_counters_carry_over_when_their_planes_are_full(weighted: list[tuple[int, int]]) -> None:
    row = [value for value, weight in weighted for _ in range(weight)]
    assert fingerprints([row, [1], row]) == [plain.simhash(row), 1, plain.simhash(row)]


def test_votes_by_hand() -> None:
    # bits 0 and 1 have two votes of three; in the second document every vote is a tie
    assert fingerprints([[0b011, 0b010, 0b101], [0b01, 0b10]]) == [0b011, 0]
