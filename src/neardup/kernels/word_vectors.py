"""Pages as sparse vectors of words: their cosines, and the recent pages that share most words.

Vector r of a set is `words[offsets[r]:offsets[r + 1]]`, distinct and ascending, with the counts
beside them. Words and counts are narrow integers, since there are many of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel

Words = NDArray[np.uint32]
Counts = NDArray[np.uint16]
Offsets = NDArray[np.int64]
Rows = Offsets
Small = NDArray[np.int32]


@kernel
def sparse_cosines(
    left_words: Words,
    left_counts: Counts,
    left_offsets: Offsets,
    right_words: Words,
    right_counts: Counts,
    right_offsets: Offsets,
    left_rows: Rows,
    right_rows: Rows,
) -> NDArray[np.float64]:
    """The cosine of vector `left_rows[p]` of one set and `right_rows[p]` of the other, for each
    pair p; 0 where one of them is empty."""
    cosines = np.zeros(left_rows.size, np.float64)
    for pair in range(left_rows.size):
        a, a_end = left_offsets[left_rows[pair]], left_offsets[left_rows[pair] + 1]
        b, b_end = right_offsets[right_rows[pair]], right_offsets[right_rows[pair] + 1]
        squares = _squares(left_counts, a, a_end) * _squares(right_counts, b, b_end)
        product = 0.0
        while a < a_end and b < b_end:
            if left_words[a] < right_words[b]:
                a += 1
            elif right_words[b] < left_words[a]:
                b += 1
            else:
                product += float(left_counts[a]) * float(right_counts[b])
                a += 1
                b += 1
        if squares > 0:
            cosines[pair] = min(product / np.sqrt(squares), 1.0)
    return cosines


@kernel
def _squares(counts: Counts, start: int, end: int) -> float:
    total = 0.0
    for place in range(start, end):
        total += float(counts[place]) * float(counts[place])
    return total


@kernel
def pages_with_most_hits(
    words: Small,
    offsets: Offsets,
    having: Small,
    starts: Offsets,
    first_recent: Offsets,
    rank: Small,
    of_rank: Small,
    frequent: int,
    first: int,
    last: int,
    most: int,
) -> tuple[Offsets, Offsets]:
    """For each page from `first` up to `last`, the pages before it, from its `first_recent` on,
    that share most words with it: at most `most` of them, ties by lower rank.

    Pages are numbered in the order they come. The pages that have word w are
    `having[starts[w]:starts[w + 1]]`, ascending, so those in the window are a stretch of that list,
    found by binary search. A page costs as much as the stretches of its words are long, and no
    page depends on the result for another.

    Words that more than `frequent` of those pages have do not count (0: all do). The result has a
    row of `most` places per page, and how many of them are filled. `of_rank` is the page of a rank.
    """
    nearest = np.zeros((last - first, most), np.int64)
    counts = np.zeros(last - first, np.int64)
    hits = np.zeros(last, np.int32)
    hit = np.empty(last, np.int32)  # pages with hits: each is before `last`, and here once
    best = np.empty(most + 1, np.int64)  # one place more, for the one that falls out
    for page in range(first, last):
        touched = 0
        for place in range(offsets[page], offsets[page + 1]):
            word = words[place]
            begin = _first_from(having, starts[word], starts[word + 1], first_recent[page])
            end = _first_from(having, begin, starts[word + 1], page)
            if frequent > 0 and end - begin > frequent:
                continue
            for where in range(begin, end):
                other = having[where]
                if hits[other] == 0:
                    hit[touched] = other
                    touched += 1
                hits[other] += 1
        size = 0
        for where in range(touched):
            other = hit[where]
            # More hits first, then lower rank: as one number, the smaller the better.
            value = (-int(hits[other]) << 32) | int(rank[other])
            hits[other] = 0
            if size < most or value < best[size - 1]:
                size = _insert(best, size, most, value)
        for where in range(size):
            nearest[page - first, where] = of_rank[best[where] & 0xFFFF_FFFF]
        counts[page - first] = size
    return nearest, counts


@kernel
def _first_from(having: Small, begin: int, end: int, least: int) -> int:
    """The first place from `begin` up to `end` with a page that is at least `least`."""
    while begin < end:
        middle = (begin + end) // 2
        if having[middle] < least:
            begin = middle + 1
        else:
            end = middle
    return begin


@kernel
def _insert(best: Offsets, size: int, most: int, value: int) -> int:
    """Put a value in its place among the `size` ascending ones, of which `most` are kept."""
    place = size
    while place > 0 and best[place - 1] > value:
        best[place] = best[place - 1]
        place -= 1
    best[place] = value
    return min(size + 1, most)
