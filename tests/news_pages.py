"""News pages and the devices of `news-clusters`, for its tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from neardup.methods.base import NOTHING_SURVEYED, MemoryState
from neardup.methods.news_clusters import extractor
from neardup.methods.news_clusters.devices import Newsroom
from neardup.methods.news_clusters.method import NewsClusters
from neardup.methods.news_clusters.stores import DAY, NewsClustersOptions, NewsPage

PAPER = NewsClusters.paper_preset


def method(**options: object) -> NewsClusters:
    """The paper's rule as printed, with these options."""
    return NewsClusters(NewsClustersOptions(**{**PAPER, **options}))  # type: ignore[arg-type]


def hashed(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode())


SHORT = "It rained."
FIRST = "The harbour was closed at noon. Ships had to wait far outside for most of the day."
SECOND = "Nobody was hurt, the mayor said, but the old bridge will need a lot of repairs. He left."
THIRD = "Schools stay shut. The trains run again from Monday."
STORY = "\n".join([SHORT, FIRST, SECOND, THIRD])
TITLE = "Storm closes the old harbour"
OTHER = "\n".join(
    [
        "Ministers agreed on a budget that nobody likes after two nights without sleep.",
        "Taxes on fuel go up by a tenth, and those on bread go down a little.",
        "The opposition wants a vote before the summer begins, which few expect to see.",
    ]
)


def news(
    name: str,
    fingerprints: Sequence[int] = (),
    *,
    day: float = 0,
    title: str = "",
    counts: dict[int, int] | None = None,
    text_words: Sequence[str] = (),
) -> NewsPage:
    """A page as the Extractor would give it."""
    vector = sorted((counts or {}).items())
    words = np.array([word for word, _ in vector], np.uint32)
    numbers = np.array([number for _, number in vector], np.uint16)
    return NewsPage(
        id=name,
        time=int(day * DAY),
        fingerprints=tuple(fingerprints),
        title_words=tuple(title.split()),
        content=extractor.pack(words, numbers),
        text_words=tuple(text_words),
        digest=name,
    )


def newsroom(**options: object) -> Newsroom:
    given_options = NewsClustersOptions(**{**PAPER, **options})  # type: ignore[arg-type]
    return Newsroom(MemoryState(), given_options)


def assigned_rows(
    chosen: NewsClusters, pages: pa.RecordBatch, state: MemoryState
) -> list[dict[str, Any]]:
    features = chosen.features(pages, NOTHING_SURVEYED)
    rows: list[dict[str, Any]] = chosen.assign(pages["id"], features, state).to_pylist()
    return rows


EDITED = STORY.replace("at noon", "at midday").replace("Schools stay shut", "Schools are shut")
