"""Pages with most words in common: the kernel does what the plain function does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference.recent import most_hits
from neardup.kernels.word_vectors import pages_with_most_hits

WORDS = st.lists(st.sets(st.integers(0, 5), max_size=5), min_size=1, max_size=25)


def found(
    words: Sequence[set[int]],
    first_recent: Sequence[int],
    rank: Sequence[int],
    frequent: int,
    most: int,
    first: int = 0,
) -> list[list[int]]:
    """The kernel's answer for the pages from `first` on."""
    having = [[page for page, each in enumerate(words) if word in each] for word in range(6)]
    pages, counts = pages_with_most_hits(
        np.array([word for each in words for word in each], np.int32),
        np.cumsum([0, *map(len, words)]).astype(np.int64),
        np.array([page for pages in having for page in pages], np.int32),
        np.cumsum([0, *map(len, having)]).astype(np.int64),
        np.array(first_recent, np.int64),
        np.array(rank, np.int32),
        np.argsort(rank).astype(np.int32),
        *(frequent, first, len(words), most),
    )
    return [row[:count].tolist() for row, count in zip(pages, counts.tolist(), strict=True)]


@given(WORDS, st.integers(0, 4), st.integers(1, 6), st.data())
def test_as_the_plain_one(
    words: list[set[int]], frequent: int, most: int, data: st.DataObject
) -> None:
    count = len(words)
    rank = data.draw(st.permutations(range(count)))
    recent = [data.draw(st.integers(0, page)) for page in range(count)]
    first = data.draw(st.integers(0, count - 1))
    expected = [
        most_hits(page, words, recent[page], rank, frequent, most) for page in range(first, count)
    ]
    assert found(words, recent, rank, frequent, most, first) == expected


def test_by_hand() -> None:
    words = [{1, 2}, {1}, {2, 3}, {1, 2, 3}]
    nothing = [0, 0, 0, 0]
    assert found(words, nothing, [0, 1, 2, 3], 0, 9) == [[], [0], [0], [0, 2, 1]]
    assert found(words, nothing, [3, 1, 0, 2], 0, 2)[3] == [2, 0]  # of equals the lower rank
    assert found(words, [0, 0, 0, 1], [0, 1, 2, 3], 0, 9)[3] == [2, 1]  # 0 is not recent
    assert found(words, nothing, [0, 1, 2, 3], 1, 9)[3] == [2]  # 1 and 2 are frequent
