"""`kernels.shingles` against its plain truth."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.reference import shingles as plain
from neardup.kernels import shingles

words = st.integers(0, 2**64 - 1) | st.integers(0, 5)
documents = st.lists(st.lists(words, max_size=12), max_size=6)


def ragged(rows: list[list[int]]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    values = np.array([value for row in rows for value in row], np.uint64)
    return values, np.cumsum([0, *map(len, rows)], dtype=np.int64)


def rows_of(values: NDArray[np.uint64], offsets: NDArray[np.int64]) -> list[list[int]]:
    return [values[start:end].tolist() for start, end in pairwise(offsets.tolist())]


@given(st.lists(words))
def test_mix(values: list[int]) -> None:
    array = np.array(values, np.uint64)
    assert shingles.mix_all(array).tolist() == [plain.mix(value) for value in values]


@given(documents)
def test_document_hashes(rows: list[list[int]]) -> None:
    found = shingles.document_hashes(*ragged(rows))
    assert found.tolist() == [plain.document_hash(row) for row in rows]


@given(documents, st.integers(1, 7))
def test_shingle_hashes(rows: list[list[int]], size: int) -> None:
    found = rows_of(*shingles.shingle_hashes(*ragged(rows), size))
    assert found == [plain.shingle_hashes(row, size) for row in rows]


@given(documents)
def test_sort_distinct(rows: list[list[int]]) -> None:
    assert rows_of(*shingles.sort_distinct(*ragged(rows))) == [
        plain.sort_distinct(row) for row in rows
    ]


@given(documents)
def test_number_repeats(rows: list[list[int]]) -> None:
    values, offsets = ragged(rows)
    found = rows_of(shingles.number_repeats(values, offsets), offsets)
    assert found == [plain.number_repeats(row) for row in rows]


@given(st.lists(st.tuples(st.sets(words), st.sets(words)), max_size=6))
def test_common_counts(pairs: list[tuple[set[int], set[int]]]) -> None:
    left = ragged([sorted(a) for a, _ in pairs])
    right = ragged([sorted(b) for _, b in pairs])
    expected = [plain.common_count(sorted(a), sorted(b)) for a, b in pairs]
    assert shingles.common_counts(*left, *right).tolist() == expected


def test_a_run_of_tokens_counts_wherever_it_stands() -> None:
    values, offsets = ragged([[9, 1, 2, 3], [1, 2, 3, 8]])
    first, second = rows_of(*shingles.shingle_hashes(values, offsets, 3))
    assert first[1] == second[0]
    assert first[0] != second[1]
