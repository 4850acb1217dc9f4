"""Kernel == reference for joining and pairing."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference import grouping as plain_grouping
from kernels.reference import union_find as plain_union_find
from neardup.kernels import grouping

nodes = st.integers(0, 30)


@given(st.lists(st.tuples(nodes, nodes), max_size=60))
def test_components_are_what_walking_the_graph_finds(pairs: list[tuple[int, int]]) -> None:
    left = np.array([a for a, _ in pairs], np.int64)
    right = np.array([b for _, b in pairs], np.int64)
    found = grouping.connected_components(31, left, right)
    expected = plain_union_find.connected_components(31, left.tolist(), right.tolist())
    assert found.tolist() == expected


def test_a_long_chain_is_one_component_named_by_its_smallest() -> None:
    count = 100_000
    order = np.random.default_rng(1).permutation(count - 1)
    labels = grouping.connected_components(count, order, order + 1)
    assert not labels.any()


@given(
    st.lists(st.lists(nodes | st.integers(0, 1000), max_size=8).map(sorted), max_size=8),
    st.integers(1, 9),
    st.integers(1, 4),
)
def test_pairs_within_groups(groups: list[list[int]], largest: int, reach: int) -> None:
    rows = np.array([row for group in groups for row in group], np.int64)
    starts = np.cumsum([0, *map(len, groups)]).astype(np.int64)
    pairs, counts = grouping.pairs_within_groups(rows, starts, largest, reach)
    expected = plain_grouping.pairs_within_groups(rows.tolist(), starts.tolist(), largest, reach)
    assert list(zip(pairs.tolist(), counts.tolist(), strict=True)) == expected


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2**64 - 1), st.booleans()), max_size=30),
    st.integers(0, 4),
)
def test_the_first_entries_of_each_row(entries: list[tuple[int, int, bool]], most: int) -> None:
    entries = list({turn: (row, turn, counts) for row, turn, counts in entries}.values())
    rows, turns, counts = zip(*entries, strict=True) if entries else ((), (), ())
    found = grouping.among_first(
        np.array(rows, np.int64), np.array(turns, np.uint64), np.array(counts, np.bool_), most
    )
    assert found.tolist() == plain_grouping.among_first(rows, turns, counts, most)
