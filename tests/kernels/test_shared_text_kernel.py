"""Kernel == reference for what two own texts share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from neardup.kernels import shared_text
from neardup.kernels.reference import own_text as plain_own
from neardup.kernels.reference import shared_text as plain
from neardup.kernels.reference.own_text import Line

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
    samples = [plain_own.heaviest_lines([line.mass for line in page], 3) for page, _ in pairs]
    shared, example, difference = shared_of(pairs, samples, size)
    wanted = [
        plain.shared(page, other, chosen, size)
        for (page, other), chosen in zip(pairs, samples, strict=True)
    ]
    assert shared.tolist() == pytest.approx([each.weight for each in wanted])
    assert example.tolist() == [each.example for each in wanted]
    assert difference.tolist() == [each.difference for each in wanted]


@given(pages, st.integers(2, 9))
def test_a_page_shares_all_with_itself(page: list[Line], size: int) -> None:
    shared, _, difference = shared_of([(page, page)], [[0] if page else []], size)
    assert shared[0] == pytest.approx(plain_own.own_mass(page)[0])
    assert difference.tolist() == [shared_text.NONE]


def test_a_changed_word_costs_itself_and_no_more() -> None:
    before = [Line(1.0, False, [list(range(20))])]
    after = [Line(1.0, False, [[*range(10), 99, *range(11, 20)]])]
    shared, _, _ = shared_of([(before, after)], [[]], 8)
    assert shared[0] == 2 * 19


@given(st.sets(st.integers(0, 2**20), max_size=60), st.lists(st.integers(0, 2**20)))
def test_the_table_is_a_set(numbers: set[int], others: list[int]) -> None:
    """Shingles are odd; the bits that choose their place may be the same for all of them."""
    shingles = np.array([number << 9 | 1 for number in sorted(numbers)], np.uint32)
    table = shared_text._table(shingles, 0, shingles.size)
    for number in [*numbers, *others]:
        found = shared_text._is_in(table, np.uint32(number << 9 | 1))
        assert found == (number in numbers)


def shared_of(
    pairs: Sequence[tuple[list[Line], list[Line]]], samples: list[list[int]], size: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """The kernel, from pages whose lines are all kept."""
    kept = [page for page, _ in pairs]
    runs = list(chain.from_iterable(kept))
    return shared_text.shared_weights(
        *ragged([plain_own.shingles(page, size) for page in kept]),
        *ragged([plain_own.shingles(other, size) for _, other in pairs]),
        np.array([len(line.tokens) for line in runs], np.uint32),
        np.array([line.unit for line in runs], np.uint8),
        np.array([line.unit * line.weight for line in runs], np.float32),
        places(kept),
        *ragged(samples),
        size,
    )


def ragged(rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    return np.array(list(chain.from_iterable(rows)), np.uint32), places(rows)


def places(rows: Sequence[Sequence[object]]) -> NDArray[np.int64]:
    return np.cumsum([0, *map(len, rows)], dtype=np.int64)
