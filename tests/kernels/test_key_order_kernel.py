"""Kernel == reference for numbers in the order of their keys."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference import key_order as plain
from neardup.kernels import key_order

hashes = st.integers(0, 2**64 - 1)
keyed = st.lists(st.tuples(hashes | st.integers(0, 3), st.integers(0, 9)), max_size=60)


def columns(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    keys = np.array([key for key, _ in pairs], np.uint64)
    return keys, np.array([number for _, number in pairs], np.int64)


@given(keyed)
def test_in_order_of_keys(pairs: list[tuple[int, int]]) -> None:
    keys, numbers = key_order.in_order_of_keys(*columns(pairs))
    found = list(zip(keys.tolist(), numbers.tolist(), strict=True))
    assert found == plain.in_order_of_keys(*zip(*pairs, strict=True)) if pairs else not found


@pytest.mark.parametrize("spread", [1, 2**10, 2**40, 2**64 - 1])
def test_many_keys_spread_in_any_way(spread: int) -> None:
    source = np.random.default_rng(1)
    keys = source.integers(0, spread, 50_000, np.uint64, endpoint=True)
    found, numbers = key_order.in_order_of_keys(keys, np.arange(50_000))
    order = np.argsort(keys, kind="stable")
    assert np.array_equal(numbers, order)
    assert np.array_equal(found, keys[order])


@given(keyed)
def test_sums_of_keys(pairs: list[tuple[int, int]]) -> None:
    keys, sums = key_order.sums_of_keys(*key_order.in_order_of_keys(*columns(pairs)))
    assert keys.tolist() == sorted(keys.tolist())
    wanted = plain.sums_of_keys([key for key, _ in pairs], [number for _, number in pairs])
    assert dict(zip(keys.tolist(), sums.tolist(), strict=True)) == wanted


@given(st.lists(hashes | st.integers(0, 3), max_size=60))
def test_counts_of_keys(keys: list[int]) -> None:
    found, counts = key_order.counts_of_keys(np.sort(np.array(keys, np.uint64)))
    assert found.tolist() == sorted({*keys})
    wanted = plain.sums_of_keys(keys, [1] * len(keys))
    assert dict(zip(found.tolist(), counts.tolist(), strict=True)) == wanted


@given(keyed)
def test_more_than_once(pairs: list[tuple[int, int]]) -> None:
    keys, more = key_order.more_than_once(*columns(pairs))
    found = list(zip(keys.tolist(), more.tolist(), strict=True))
    assert found == [(key, count - 1) for key, count in pairs if count > 1]


@given(keyed)
def test_add_by_key(pairs: list[tuple[int, int]]) -> None:
    some = key_order.in_order_of_keys(*columns(pairs))
    keys, counts = key_order.counts_of_keys(some[0].copy())
    key_order.add_by_key(keys, counts, *some)
    more = [(key, 1) for key, _ in pairs]
    every = [*pairs, *more]
    wanted = plain.sums_of_keys([key for key, _ in every], [number for _, number in every])
    assert dict(zip(keys.tolist(), counts.tolist(), strict=True)) == wanted


@given(keyed)
def test_shared_keys(pairs: list[tuple[int, int]]) -> None:
    rows, starts = key_order.shared_keys(*key_order.in_order_of_keys(*columns(pairs)))
    found = [rows[first:last].tolist() for first, last in pairwise(starts.tolist())]
    assert found == plain.shared_keys([key for key, _ in pairs], [row for _, row in pairs])
