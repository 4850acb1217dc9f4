"""The Comparer (section 2, step 3): the recent page most like this one.

Candidates come from the inverted table of title words over the last T days: the pages with most
hits, 50 at most. Alternatives of section 3, point 3: all recent pages, or a small text search (the
rarest words of the text, each hit worth the more the fewer recent pages have the word). Of the
candidates the one with the largest value, when it is above k, gives its cluster.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup.methods.news_clusters.content import common_subsequences, cosines, unpack
from neardup.methods.news_clusters.options import NewsClustersOptions
from neardup.methods.news_clusters.page import Found, NewsPage
from neardup.methods.news_clusters.stores import DocumentMap, InvertedTable

QUERY_WORDS = 32  # of a page's text, for the search


class Best(NamedTuple):
    """The candidate most like a page."""

    match: str
    value: float
    candidates: int  # of how many


class Comparer:
    def __init__(
        self, documents: DocumentMap, table: InvertedTable, options: NewsClustersOptions
    ) -> None:
        self._documents = documents
        self._table = table
        self._options = options

    def compare(self, page: NewsPage) -> Found | None:
        """The cluster of the most similar candidate, if it is similar enough."""
        best = self.best(page)
        return self._found(best) if best and best.value > self._options.k else None

    def best(self, page: NewsPage) -> Best | None:
        """The most similar candidate."""
        candidates = self.candidates(page)
        if not candidates:
            return None
        values = self._values(page, candidates)
        chosen = int(np.argmax(values))  # the first of equals, so the best candidate
        return Best(candidates[chosen], float(values[chosen]), len(candidates))

    def candidates(self, page: NewsPage) -> list[str]:
        """The pages to compare with, the most promising first."""
        days = self._table.days(page.time, self._options.t)
        if self._options.candidates == "all":
            return sorted(self._table.pages(days))
        if self._options.candidates == "search":
            return self._search(page, days)
        words = self._telling(page.title_words, days)
        return self._top(Counter(chain.from_iterable(self._table.having(w, days) for w in words)))

    def _search(self, page: NewsPage, days: list[int]) -> list[str]:
        total = self._table.count(days)
        words = self._telling(page.text_words, days)
        frequencies = {word: self._table.frequency(word, days) for word in words}
        known = [word for word in words if frequencies[word]]
        scores: defaultdict[str, float] = defaultdict(float)
        for word in heapq.nsmallest(QUERY_WORDS, known, key=lambda each: frequencies[each]):
            worth = math.log(1 + total / frequencies[word])
            for other in self._table.having(word, days):
                scores[other] += worth
        return self._top(scores)

    def _telling(self, words: Iterable[str], days: list[int]) -> list[str]:
        """Words that not too many recent pages have (a guard), each once."""
        most = self._options.frequent or math.inf
        return [word for word in dict.fromkeys(words) if self._table.frequency(word, days) <= most]

    def _top(self, scores: Mapping[str, float]) -> list[str]:
        """The pages with the best scores, best first; of equals the smaller ids."""
        most = self._options.documents
        least = sorted(scores.values(), reverse=True)[:most][-1] if scores else 0
        better = [page for page, score in scores.items() if score > least]
        better.sort(key=lambda page: (-scores[page], page))
        equal = sorted(page for page, score in scores.items() if score == least)
        return better + equal[: most - len(better)]

    def _values(self, page: NewsPage, candidates: list[str]) -> NDArray[np.float64]:
        contents = [self._documents[each].content for each in candidates]
        if self._options.comparison == "lcs":
            return common_subsequences([page.content] * len(contents), contents)
        rows = range(len(contents))
        return cosines(unpack([page.content]), unpack(contents), [0] * len(contents), list(rows))

    def _found(self, best: Best) -> Found:
        measure = self._options.comparison
        evidence: dict[str, object] = {
            "why": f"{measure} {best.value:.2f} with {best.match}, above {self._options.k:g}, the "
            f"best of {best.candidates} candidates",
            "device": "Comparer",
            measure: round(best.value, 4),
            "candidates": best.candidates,
        }
        return Found(self._documents[best.match].cluster, best.match, best.value, evidence)
