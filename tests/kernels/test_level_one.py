"""Level 1 of two-phase: kernel against plain Python."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference import level_one as reference
from neardup.kernels.level_one import MOST, level_one_pairs

pages = st.tuples(
    st.lists(st.integers(0, 4), min_size=4, max_size=4),
    st.lists(st.integers(0, 9), max_size=8).map(Counter),
)


def flat(counted: list[Counter[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    entries = [entry for each in counted for entry in sorted(each.items())]
    words, frequencies = np.array(entries, np.int64).reshape(-1, 2).T
    offsets = np.cumsum([0, *map(len, counted)]).astype(np.int64)
    return words.astype(np.uint64), frequencies.copy(), offsets


@given(
    st.lists(pages, max_size=12),
    st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=4, max_size=4),
    st.sampled_from([0.0, 0.4, 0.5, 1.0]),
    st.integers(0, 5),
    st.integers(1, 5),
)
def test_pairs_equal_the_plain_reading(
    drawn: list[tuple[list[int], Counter[int]]],
    limits: list[float],
    share: float,
    score: int,
    step: int,
) -> None:
    counts = [page[0] for page in drawn]
    words = [page[1] for page in drawn]
    array = np.array(counts, np.int32).reshape(-1, 4)
    found = []
    for first in range(0, len(drawn), step):  # in blocks of rows, as the method does
        last = min(first + step, len(drawn))
        left, right = level_one_pairs(
            array, np.array(limits), *flat(words), share, score, first, last
        )
        found += list(zip(left.tolist(), right.tolist(), strict=True))
    assert found == reference.level_one_pairs(counts, limits, words, share, score)


def test_many_pairs_outgrow_the_first_room() -> None:
    count = 400  # 79,800 pairs
    assert count * (count - 1) // 2 > MOST
    keywords = flat([Counter()] * count)
    left, right = level_one_pairs(
        np.zeros((count, 4), np.int32), np.full(4, 2.0), *keywords, 0.5, 3, 0, count
    )
    assert len(set(zip(left.tolist(), right.tolist(), strict=True))) == count * (count - 1) // 2
