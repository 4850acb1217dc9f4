"""Earlier pages that share most words with a page, plainly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def most_hits(
    page: int,
    words: Sequence[set[int]],
    first_recent: int,
    rank: Sequence[int],
    frequent: int,
    most: int,
) -> list[int]:
    """The pages from `first_recent` up to `page`, best first; see `kernels.recent`."""
    recent = range(first_recent, page)
    hits: Counter[int] = Counter()
    for word in words[page]:
        having = [other for other in recent if word in words[other]]
        if not frequent or len(having) <= frequent:
            hits.update(having)
    return sorted(hits, key=lambda other: (-hits[other], rank[other]))[:most]
