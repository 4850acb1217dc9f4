"""Cosines of sparse counts: the kernel does what the plain function does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference.cosine import cosine
from neardup.kernels.word_vectors import Counts, Offsets, Words, sparse_cosines

VECTORS = st.lists(st.dictionaries(st.integers(0, 9), st.integers(1, 65535)), min_size=1)


def ragged(vectors: Sequence[dict[int, int]]) -> tuple[Words, Counts, Offsets]:
    items = [sorted(vector.items()) for vector in vectors]
    flat = [item for each in items for item in each]
    return (
        np.array([word for word, _ in flat], np.uint32),
        np.array([count for _, count in flat], np.uint16),
        np.cumsum([0, *map(len, items)]).astype(np.int64),
    )


@given(VECTORS, VECTORS, st.data())
def test_as_the_plain_one(
    left: list[dict[int, int]], right: list[dict[int, int]], data: st.DataObject
) -> None:
    rows = st.tuples(st.integers(0, len(left) - 1), st.integers(0, len(right) - 1))
    pairs = np.array(data.draw(st.lists(rows, min_size=1)), np.int64)
    found = sparse_cosines(*ragged(left), *ragged(right), pairs[:, 0].copy(), pairs[:, 1].copy())
    expected = [cosine(left[a], right[b]) for a, b in pairs.tolist()]
    assert found.tolist() == pytest.approx(expected, abs=1e-12)


def test_by_hand() -> None:
    one, other = ragged([{1: 3, 2: 4}]), ragged([{2: 5, 7: 12}, {}])
    rows = np.array([0, 0]), np.array([0, 1])
    assert sparse_cosines(*one, *other, *rows).tolist() == [20 / 65, 0.0]
