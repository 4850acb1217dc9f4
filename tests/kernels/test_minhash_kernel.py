"""`kernels.minhash` against its plain truth, and against exact resemblance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.reference import minhash as plain
from neardup.kernels import minhash

documents = st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=20), max_size=5)
samples = st.lists(st.integers(0, 3) | st.just(plain.EMPTY), min_size=8, max_size=8)


def ragged(rows: list[list[int]]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    values = np.array([value for row in rows for value in row], np.uint64)
    return values, np.cumsum([0, *map(len, rows)], dtype=np.int64)


def matrix(rows: list[list[int]]) -> NDArray[np.uint32]:
    return np.array(rows, np.uint32).reshape(len(rows), 8)


def one_permutation(
    values: NDArray[np.uint64], offsets: NDArray[np.int64], bins: int
) -> NDArray[np.uint32]:
    """The samples of the high halves."""
    return minhash.one_permutation((values >> minhash.HALF).astype(np.uint32), offsets, bins)


@given(documents, st.integers(1, 40))
def test_one_permutation(rows: list[list[int]], bins: int) -> None:
    found = one_permutation(*ragged(rows), bins)
    assert found.tolist() == [plain.one_permutation(row, bins) for row in rows]


@given(documents, st.integers(1, 12))
def test_permutations(rows: list[list[int]], count: int) -> None:
    found = minhash.permutations(*ragged(rows), count)
    assert found.tolist() == [plain.permutations(row, count) for row in rows]


@given(st.lists(st.tuples(samples, samples), max_size=5))
def test_agreements(pairs: list[tuple[list[int], list[int]]]) -> None:
    found = minhash.agreements(matrix([a for a, _ in pairs]), matrix([b for _, b in pairs]))
    assert found.tolist() == [plain.agreements(a, b) for a, b in pairs]


@given(st.lists(samples, max_size=5), st.integers(1, 8))
def test_group_hashes(rows: list[list[int]], size: int) -> None:
    found = minhash.group_hashes(matrix(rows), size)
    assert found.tolist() == [plain.group_hashes(row, size) for row in rows]


def test_a_value_that_looks_like_an_empty_bin_is_a_sample() -> None:
    ones = np.array([2**64 - 1], np.uint64)
    offsets = np.array([0, 1], np.int64)
    assert minhash.EMPTY not in one_permutation(ones, offsets, 4)
    assert minhash.EMPTY not in minhash.permutations(ones, offsets, 4)


@pytest.mark.parametrize("sampling", [one_permutation, minhash.permutations])
@pytest.mark.parametrize("size", [40, 120, 1000])
@pytest.mark.parametrize("resemblance", [0.2, 0.5, 0.8, 0.95])
def test_estimates_agree_with_exact_resemblance(
    sampling: object, size: int, resemblance: float
) -> None:
    """Planted pairs: the mean error is within three standard errors of zero."""
    pairs, bins = 400, 128
    random = np.random.default_rng(size)
    common = round(resemblance * size)
    own = (size - common) // 2
    size = common + 2 * own  # of the union
    union = random.integers(0, 2**64, (pairs, size), np.uint64)
    left, right = union[:, : common + own], np.delete(union, np.s_[common : common + own], 1)
    offsets = np.arange(pairs + 1, dtype=np.int64) * (common + own)
    take = sampling
    assert callable(take)
    agreed = minhash.agreements(
        take(left.ravel(), offsets, bins), take(np.ascontiguousarray(right).ravel(), offsets, bins)
    )
    errors = agreed / bins - common / size
    assert abs(errors.mean()) < 3 * errors.std(ddof=1) / np.sqrt(pairs)
    if size >= 1000:  # bins are full: the spread is that of independent samples
        exact = common / size
        assert errors.std() < 1.3 * np.sqrt(exact * (1 - exact) / bins)
