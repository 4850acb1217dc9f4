from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference import grouping as plain
from neardup.kernels.grouping import connected_components
from neardup.rules.candidates import (
    HOT,
    REACH,
    added_up,
    chance_order,
    packed,
    pairs_sharing_keys,
    pairs_with_first,
    unpacked,
    worth_judging,
)

keyed_rows = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2**64 - 1) | st.integers(0, 5)))


def columns(keyed: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    rows = np.array([row for row, _ in keyed], np.int64)
    return rows, np.array([key for _, key in keyed], np.uint64)


@given(keyed_rows)
def test_every_pair_that_shares_a_key_comes_once_and_in_order(
    keyed: list[tuple[int, int]],
) -> None:
    left, right, _ = pairs_sharing_keys(*columns(keyed))
    by_key: dict[int, set[int]] = {}
    for row, key in keyed:
        by_key.setdefault(key, set()).add(row)
    expected = {pair for rows in by_key.values() for pair in combinations(sorted(rows), 2)}
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == sorted(expected)


@given(keyed_rows, st.randoms())
def test_pairs_do_not_depend_on_the_order_of_keys(
    keyed: list[tuple[int, int]], random: np.random.Generator
) -> None:
    shuffled = sorted(keyed, key=lambda _: random.random())
    for pair_up in (pairs_sharing_keys, pairs_with_first):
        one, other = pair_up(*columns(keyed)), pair_up(*columns(shuffled))
        assert np.array_equal(one, other)


@pytest.mark.parametrize("size", [2, 3, 1000])
def test_a_group_of_n_is_told_by_n_minus_one_pairs(size: int) -> None:
    left, right = pairs_with_first(np.arange(size)[::-1], np.full(size, 7, np.uint64))
    assert left.tolist() == [0] * (size - 1)
    assert right.tolist() == list(range(1, size))


def test_a_hot_key_makes_linearly_many_pairs_and_still_joins_all() -> None:
    size = 20 * HOT
    left, right, _ = pairs_sharing_keys(np.arange(size), np.full(size, 7, np.uint64))
    assert left.size < size * REACH
    assert not connected_components(size, left, right).any()


def test_near_duplicates_among_boilerplate_are_found_by_their_own_key() -> None:
    size = 20 * HOT
    rows = np.concatenate([np.arange(size), [3, size - 5]])
    keys = np.concatenate([np.full(size, 7), [9, 9]]).astype(np.uint64)
    left, right, _ = pairs_sharing_keys(rows, keys)
    assert (3, size - 5) in set(zip(left.tolist(), right.tolist(), strict=True))


def test_how_many_keys_a_pair_shares() -> None:
    rows = np.array([1, 2, 3, 1, 2, 5])
    left, right, shared = pairs_sharing_keys(rows, np.array([7, 7, 7, 8, 8, 9], np.uint64))
    assert list(zip(left, right, shared, strict=True)) == [(1, 2, 2), (1, 3, 1), (2, 3, 1)]


pairs_of_rows = st.tuples(st.integers(0, 20), st.integers(1, 20), st.integers(1, 2))


@given(st.lists(pairs_of_rows, unique_by=lambda each: each[:2]), st.integers(1, 4))
def test_pairs_in_ranges_of_rows_are_chosen_as_all_at_once(
    found: list[tuple[int, int, int]], most: int
) -> None:
    ordered = sorted((left, left + apart, shared) for left, apart, shared in found)
    left, right, shared = np.array(ordered, np.int64).reshape(-1, 3).T
    every = packed(left, right)
    ranges = [
        (every[here], shared[here]) for here in (left < 5, (left >= 5) & (left < 9), left >= 9)
    ]
    chosen = unpacked(worth_judging(ranges, 41, most))
    expected = plain.worth_judging(ordered, chance_order(left, right).tolist(), most)
    assert list(zip(*map(np.ndarray.tolist, chosen), strict=True)) == expected


@given(st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1), st.integers(1, 9))))
def test_shared_keys_of_a_pair_are_added_up(found: list[tuple[int, int, int]]) -> None:
    sums: Counter[tuple[int, int]] = Counter()
    for left, right, shared in [*found, *found[::2]]:
        sums[left, right] += shared
    columns = np.array([*found, *found[::2]], np.int64).reshape(-1, 3).T
    pairs, told = added_up(packed(columns[0], columns[1]), columns[2].copy())
    assert list(zip(*map(np.ndarray.tolist, unpacked(pairs)), strict=True)) == sorted(sums)
    assert told.tolist() == [sums[pair] for pair in sorted(sums)]


def test_a_page_is_in_few_pairs_by_chance_and_in_all_others() -> None:
    left, right = (side.ravel() for side in np.triu_indices(40, 1))
    shared = np.where((left + right) % 5 == 0, 3, 1)
    found = unpacked(worth_judging([(packed(left, right), shared)], 40, 2))
    pairs = set(zip(*(side.tolist() for side in found), strict=True))
    many = {(a, b) for a, b in zip(left.tolist(), right.tolist(), strict=True) if (a + b) % 5 == 0}
    assert many < pairs
    few = pairs - many
    assert max(Counter(a for a, _ in few).values()) == 2
    assert max(Counter(b for _, b in few).values()) == 2
    far = unpacked(
        worth_judging([(packed(left + 10_000_000, right + 10_000_000), shared)], 10_000_040, 2)
    )
    assert len(far[0]) < left.size
    everything = unpacked(worth_judging([(packed(left, right), shared)], 40, 40))
    assert np.array_equal(everything, (left, right))
