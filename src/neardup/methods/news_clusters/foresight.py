"""The Comparer's answers for many pages at once, computed ahead by kernels.

Which recent pages a page is compared with, and how similar they are, depends on titles, texts and
times, not on the clusters formed so far. So if pages come in order of time and the stores are
empty, all comparisons can run before the first page is placed, without look-ups page by page. The
answers are those of `devices.Comparer`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.arrays import Floats, Numbers
from neardup.kernels.word_vectors import pages_with_most_hits
from neardup.methods.news_clusters.devices import Best, Comparer, Newsroom
from neardup.methods.news_clusters.extractor import Vectors, cosines
from neardup.methods.news_clusters.options import NewsClustersOptions
from neardup.methods.news_clusters.stores import DAY, NewsPage

COMPARED_AT_ONCE = 1_000_000  # pairs


class Foresight(Comparer):
    """A Comparer with its answers computed ahead."""

    def __init__(self, room: Newsroom, best: Mapping[str, Best]) -> None:
        super().__init__(room.documents, room.table, room.options)
        self._best = best

    def best(self, page: NewsPage) -> Best | None:
        return self._best.get(page.id)


def can_foresee(room: Newsroom, times: Numbers) -> bool:
    """Whether the stores are empty, the pages in order of time, and the options the usual ones."""
    options = room.options
    usual = options.candidates == "inverted" and options.comparison == "cosine"
    return usual and room.table.is_empty and bool((np.diff(times) >= 0).all())


def foresee(
    ids: pa.Array,
    titles: pa.ListArray,
    vectors: Vectors,
    times: Numbers,
    options: NewsClustersOptions,
) -> dict[str, Best]:
    """The best candidate of each page that has one above k. Pages need title words to be one."""
    words, offsets = _numbered(titles)
    having, starts = _inverted(words, offsets)
    rank, of_rank = _ranks(ids)
    days = times // DAY
    recent = np.searchsorted(days, (times - int(options.t * DAY)) // DAY).astype(np.int64)
    best: dict[str, Best] = {}
    step = max(COMPARED_AT_ONCE // options.documents, 1)
    for first in range(0, len(ids), step):
        last = min(first + step, len(ids))
        others, counts = pages_with_most_hits(
            *(words, offsets, having, starts, recent, rank, of_rank),
            *(options.frequent, first, last, options.documents),
        )
        values = _values(vectors, first, others, counts)
        chosen = values.argmax(axis=1)  # ties go to the first, which has the most hits
        value = values[np.arange(last - first), chosen]
        for row in np.flatnonzero(value > options.k).tolist():
            match = ids[int(others[row, chosen[row]])].as_py()
            best[ids[first + row].as_py()] = Best(match, float(value[row]), int(counts[row]))
    return best


def _values(vectors: Vectors, first: int, others: Numbers, counts: Numbers) -> Floats:
    """The cosine of each page with each of its candidates; -1 in unused places."""
    is_candidate = np.arange(others.shape[1]) < counts[:, None]
    rows = first + np.repeat(np.arange(len(others)), counts)
    values = np.full(others.shape, -1.0)
    values[is_candidate] = cosines(vectors, vectors, rows, others[is_candidate])
    return values


def _numbered(titles: pa.ListArray) -> tuple[NDArray[np.int32], Numbers]:
    """The distinct words of each title, as numbers."""
    codes = titles.flatten().dictionary_encode().indices.to_numpy().astype(np.int64)
    pages = pc.list_parent_indices(titles).to_numpy().astype(np.int64)
    both = np.unique(pages << 32 | codes)
    offsets = np.searchsorted(both >> 32, np.arange(len(titles) + 1)).astype(np.int64)
    return (both & 0xFFFF_FFFF).astype(np.int32), offsets


def _inverted(words: NDArray[np.int32], offsets: Numbers) -> tuple[NDArray[np.int32], Numbers]:
    """The pages of each word, from the words of each page: the inverted table."""
    pages = np.repeat(np.arange(offsets.size - 1, dtype=np.int32), np.diff(offsets))
    order = np.argsort(words, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(words))]).astype(np.int64)
    return pages[order], starts


def _ranks(ids: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The rank of each page in the order of ids, and the page of each rank."""
    of_rank = pc.sort_indices(ids).to_numpy().astype(np.int32)
    rank = np.empty_like(of_rank)
    rank[of_rank] = np.arange(of_rank.size, dtype=np.int32)
    return rank, of_rank
