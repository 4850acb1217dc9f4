"""`kernels.hamming` against comparing all pairs."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference import hamming as plain
from neardup.kernels import simhash


@st.composite
def clustered(draw: st.DrawFn) -> list[int]:
    """Values around few centres, so that pairs at every small distance occur."""
    centres = draw(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=3))
    flips = draw(st.lists(st.sets(st.integers(0, 63), max_size=9), max_size=12))
    return [
        centres[i % len(centres)] ^ sum(1 << bit for bit in flipped)
        for i, flipped in enumerate(flips)
    ]


@given(clustered(), st.integers(0, simhash.FARTHEST))
def test_pairs_within(values: list[int], distance: int) -> None:
    left, right = simhash.pairs_within(np.array(values, np.uint64), distance)
    found = list(zip(left.tolist(), right.tolist(), strict=True))
    assert found == plain.pairs_within(values, distance)


@given(clustered(), st.integers(0, 7), st.integers(1, 3))
def test_values_within_the_distance_share_a_key(
    values: list[int], distance: int, spare: int
) -> None:
    masks = simhash.table_masks(distance + spare, distance)
    keys = [set(row) for row in simhash.table_keys(np.array(values, np.uint64), masks).tolist()]
    assert all(keys[i] & keys[j] for i, j in plain.pairs_within(values, distance))


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))))
def test_distances(pairs: list[tuple[int, int]]) -> None:
    left = np.array([a for a, _ in pairs], np.uint64)
    right = np.array([b for _, b in pairs], np.uint64)
    assert simhash.distances(left, right).tolist() == [(a ^ b).bit_count() for a, b in pairs]


@pytest.mark.parametrize(("blocks", "distance"), [(4, 3), (6, 3), (10, 7), (1, 0)])
def test_tables_are_every_choice_of_blocks(blocks: int, distance: int) -> None:
    masks = simhash.table_masks(blocks, distance)
    assert np.bitwise_or.reduce(simhash.block_masks(blocks)) == np.uint64(2**64 - 1)
    assert len(set(masks.tolist())) == comb(blocks, distance)


def test_many_values_need_finer_tables() -> None:
    assert simhash.best_blocks(10**4, 3) < simhash.best_blocks(10**8, 3)


def test_all_pairs_of_a_large_group_are_found() -> None:
    left, right = simhash.pairs_within(np.zeros(100, np.uint64), 3)
    assert left.size == comb(100, 2)
    assert len(set(zip(left.tolist(), right.tolist(), strict=True))) == left.size


@pytest.mark.parametrize("distance", [-1, simhash.FARTHEST + 1])
def test_a_distance_out_of_reach_is_refused(distance: int) -> None:
    with pytest.raises(ValueError, match="distance must be from 0 to 7"):
        simhash.pairs_within(np.zeros(1, np.uint64), distance)
