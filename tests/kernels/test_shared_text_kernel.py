"""Kernel == reference for what two own texts share."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.reference import own_text as plain_own
from kernels.reference import shared_text as plain
from kernels.reference.own_text import Line
from neardup.kernels import shared_text

# Words from a small vocabulary, so that pages share runs of them; whole lines come again too.
sentences = st.lists(st.integers(1, 3), min_size=1, max_size=8)
lines = st.builds(
    Line, st.sampled_from([0.125, 0.5, 1.0]), st.booleans(), st.lists(sentences, min_size=1)
)
pages = st.lists(lines, max_size=4)


@st.composite
def page_pairs(draw: Callable[..., list[Line]]) -> tuple[list[Line], list[Line]]:
    """Two pages, of which the second may have lines of the first."""
    page, more = draw(pages), draw(pages)
    taken = draw(st.lists(st.sampled_from(page), max_size=3)) if page else []
    return page, taken + more


@given(st.lists(page_pairs(), max_size=4), st.integers(2, 9))
def test_shared_weights(pairs: list[tuple[list[Line], list[Line]]], size: int) -> None:
    shared, example, difference = shared_of(pairs, size)
    wanted = [
        [plain.shared(page, other, samples_of(page), size) for page, other in (pair, pair[::-1])]
        for pair in pairs
    ]
    assert shared.tolist() == [pytest.approx([each.weight for each in sides]) for sides in wanted]
    assert example.tolist() == [[each.example for each in sides] for sides in wanted]
    assert difference.tolist() == [[each.difference for each in sides] for sides in wanted]


@given(page_pairs(), st.integers(2, 9))
def test_pairs_of_one_host_have_their_own_weights(
    pair: tuple[list[Line], list[Line]], size: int
) -> None:
    """Twice the others, here."""
    apart, *examples = shared_of([pair], size)
    together, *examples_together = shared_of([pair], size, same_host=True)
    assert together == pytest.approx(2 * apart)
    assert np.array_equal(examples, examples_together)


@given(pages, st.integers(2, 9))
def test_a_page_shares_all_with_itself(page: list[Line], size: int) -> None:
    shared, _, difference = shared_of([(page, page)], size)
    assert shared[0] == pytest.approx([plain_own.own_mass(page)[0]] * 2)
    assert difference.tolist() == [[shared_text.NONE] * 2]


def test_a_changed_word_costs_itself_and_no_more() -> None:
    before = [Line(1.0, False, [list(range(20))])]
    after = [Line(1.0, False, [[*range(10), 99, *range(11, 20)]])]
    shared, _, _ = shared_of([(before, after)], 8)
    assert shared[0].tolist() == [2 * 19, 2 * 19]


def test_long_pages_of_many_kinds() -> None:
    """Longer than the room there is at first; runs of equal shingles longer than a stride."""
    source = random.Random(1)

    def page(lines: int, dense: float) -> list[Line]:
        return [
            Line(1.0, source.random() < dense, [[source.randrange(50) for _ in range(40)]])
            for _ in range(lines)
        ]

    long, mixed, short = page(60, 0.0), page(70, 0.5), page(3, 1.0)
    pairs = [(short, long), (long, long[7:] + mixed), (mixed, mixed[:40] + short + mixed[41:])]
    shared, _, _ = shared_of(pairs, 8)
    wanted = [
        [plain.shared(page, other, [], 8).weight for page, other in (pair, pair[::-1])]
        for pair in pairs
    ]
    assert shared.tolist() == [pytest.approx(sides) for sides in wanted]


@given(st.lists(st.tuples(pages, st.lists(pages, min_size=1, max_size=4)), max_size=4))
def test_pairs_of_one_left_page(groups: list[tuple[list[Line], list[list[Line]]]]) -> None:
    """Its table is made once; a longer page on the other side must not spoil it."""
    pairs = [(page, other) for page, others in groups for other in [*others, page * 9]]
    left = [number for number, (_, others) in enumerate(groups) for _ in range(len(others) + 1)]
    together, _, _ = shared_of(pairs, 3, left=left)
    alone, _, _ = shared_of(pairs, 3)
    assert together.tolist() == alone.tolist()


@given(st.sets(st.integers(0, 2**20), max_size=60), st.lists(st.integers(0, 2**20)))
def test_the_table_is_a_set(numbers: set[int], others: list[int]) -> None:
    """Shingles are odd; the bits that choose their place may be the same for all of them."""
    shingles = np.array([number << 9 | 1 for number in sorted(numbers)], np.uint32)
    table = np.ones(512, np.uint16), np.ones(512, np.uint32)
    assert shared_text._fill(shingles, table, np.empty(60, np.uint32)) == 0
    slots = shared_text._slots_for(len(shingles))
    tags, places = table[0][:slots], table[1][:slots]
    for number in [*numbers, *others]:
        slot = shared_text._slot(tags, places, shingles, np.uint32(number << 9 | 1))
        assert (tags[slot] != 0) == (number in numbers)
        assert number not in numbers or places[slot] == sorted(numbers).index(number)


def samples_of(page: list[Line]) -> list[int]:
    return plain_own.heaviest_lines([line.mass for line in page], 3)


def shared_of(
    pairs: Sequence[tuple[list[Line], list[Line]]],
    size: int,
    *,
    same_host: bool = False,
    left: list[int] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """The kernel, from pages whose lines are all kept; the left ones are one batch, the right ones
    another. `left` tells which left pages are the same."""
    batches = [batch_columns([pair[side] for pair in pairs], size) for side in range(2)]
    addresses = [[array.ctypes.data for column in batch for array in column] for batch in batches]
    rows = np.arange(len(pairs), dtype=np.int32)
    left_rows = rows if left is None else np.array([left.index(each) for each in left], np.int32)
    return shared_text.shared_weights(
        np.array(addresses, np.uint64),
        0 * rows,
        left_rows,
        0 * rows + 1,
        rows,
        np.full(len(pairs), same_host),
        size,
    )


def batch_columns(
    kept: list[list[Line]], size: int
) -> list[tuple[NDArray[np.int32], NDArray[np.generic]]]:
    """Where the lists of each column start, and their values."""
    runs = [line for page in kept for line in page]
    places_of_runs = places(kept)
    return [
        ragged([plain_own.shingles(page, size) for page in kept]),
        (places_of_runs, np.array([len(line.tokens) for line in runs], np.uint32)),
        (places_of_runs, np.array([line.unit for line in runs], np.uint8)),
        (places_of_runs, np.array([line.unit * line.weight for line in runs], np.float32)),
        (places_of_runs, np.array([2 * line.unit * line.weight for line in runs], np.float32)),
        ragged([samples_of(page) for page in kept]),
    ]


def ragged(rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    return places(rows), np.array(list(chain.from_iterable(rows)), np.uint32)


def places(rows: Sequence[Sequence[object]]) -> NDArray[np.int32]:
    return np.cumsum([0, *map(len, rows)], dtype=np.int32)
