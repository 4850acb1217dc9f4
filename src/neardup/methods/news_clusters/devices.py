"""The Selector (section 2, step 2): the cluster that X of a page's fingerprints point to.

With a precision p of a single fingerprint, X of them have 1 - (1 - p)^X: from 90 % to 99 % with
two. When several clusters reach X, the one with more votes wins, then with more weight, then the
older.

The Comparer (section 2, step 3): the recent page most like this one.

Candidates come from the inverted table of title words over the last T days: the pages with most
hits, 50 at most. Alternatives of section 3, point 3: all recent pages, or a small text search (the
rarest words of the text, each hit worth the more the fewer recent pages have the word). Of the
candidates the one with the largest value, when it is above k, gives its cluster.

The Voter (section 2, step 4): elects the head of a new cluster.

The title's fingerprint is the head; without one, the first of the others, which is that of the
longest paragraph. The cluster itself is named after the page that founds it, because two stories
may have one title.

The Updater (section 2, step 5): tells the stores where a page went.

For each fingerprint: (A) unseen, bind it to the cluster with weight a0; (B) bound to another
cluster, lower the weight, and unbind it at 0; (C) bound to this cluster, raise the weight. An
unbound fingerprint, or one whose binding has expired, is free to bind anew.

The devices at work over the stores of one state: steps 2 to 5 for a page.
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

from neardup.methods.base import State
from neardup.methods.news_clusters.extractor import common_subsequences, cosines, unpack
from neardup.methods.news_clusters.options import NewsClustersOptions
from neardup.methods.news_clusters.stores import (
    DAY,
    Binding,
    Document,
    DocumentMap,
    FingerprintMap,
    Found,
    InvertedTable,
    NewsPage,
)
from neardup.model import Relation


class Selector:
    def __init__(
        self, fingerprints: FingerprintMap, documents: DocumentMap, options: NewsClustersOptions
    ) -> None:
        self._fingerprints = fingerprints
        self._documents = documents
        self._options = options

    def select(self, page: NewsPage) -> Found | None:
        """The cluster with at least X votes, if there is one."""
        votes: defaultdict[str, list[int]] = defaultdict(list)
        for fingerprint in page.fingerprints:
            binding = self._fingerprints.get(fingerprint)
            if binding and may_vote(binding, page.time, self._options):
                votes[binding.cluster].append(binding.weight)
        elected = [name for name, weights in votes.items() if len(weights) >= self._options.x]
        if not elected:
            return None
        best = min(elected, key=lambda name: self._rank(name, votes[name]))
        return self._found(page, best, votes[best])

    def _rank(self, cluster: str, weights: list[int]) -> tuple[int, int, int, str]:
        founder = self._documents[cluster]
        return -len(weights), -sum(weights), founder.time, cluster

    def _found(self, page: NewsPage, cluster: str, weights: list[int]) -> Found:
        count, total = len(weights), len(page.fingerprints)
        evidence: dict[str, object] = {
            "why": f"{count} of {total} fingerprints point to the cluster of {cluster}",
            "device": "Selector",
            "votes": count,
            "fingerprints": total,
            "weight": sum(weights),
        }
        return Found(cluster, cluster, count / total, evidence)


def may_vote(binding: Binding, time: int, options: NewsClustersOptions) -> bool:
    """Whether a binding holds at a time, and is none of boilerplate."""
    is_common = options.common and len(binding.seen) > options.common
    return bool(binding.cluster) and not is_common and not has_expired(binding, time, options)


def has_expired(binding: Binding, time: int, options: NewsClustersOptions) -> bool:
    """Whether a binding is older than bindings may be (section 3, point 4)."""
    return options.expiry > 0 and time - binding.time > options.expiry * DAY


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


def elect(page: NewsPage) -> str:
    """The head: the fingerprints stand with the title's first. Empty for a page without any."""
    return f"{page.fingerprints[0]:016x}" if page.fingerprints else ""


class Updater:
    def __init__(
        self,
        fingerprints: FingerprintMap,
        documents: DocumentMap,
        table: InvertedTable,
        options: NewsClustersOptions,
    ) -> None:
        self._fingerprints = fingerprints
        self._documents = documents
        self._table = table
        self._options = options

    def update(self, page: NewsPage, cluster: str, head: str) -> None:
        """Bind the fingerprints, store the page and its head, and list its words."""
        for fingerprint in page.fingerprints:
            binding = self._bound(self._fingerprints.get(fingerprint), cluster, page.time)
            self._fingerprints.put(fingerprint, binding)
        document = Document(head, cluster, page.time, page.digest, page.content)
        self._documents[page.id] = document
        searched = self._options.candidates == "search"
        self._table.add(page.id, page.time, page.text_words if searched else page.title_words)

    def _bound(self, old: Binding | None, cluster: str, time: int) -> Binding:
        seen = self._seen(old, cluster)
        if old is None or not old.cluster or has_expired(old, time, self._options):
            return Binding(cluster, self._options.a0, time, seen)  # (A)
        if old.cluster == cluster:
            return Binding(cluster, old.weight + 1, old.time, seen)  # (C)
        weight = old.weight - 1  # (B)
        return Binding(old.cluster if weight > 0 else "", weight, old.time, seen)

    def _seen(self, old: Binding | None, cluster: str) -> list[str]:
        """The clusters a fingerprint was seen in; one more than the guard asks for is enough."""
        known = old.seen if old else []
        if cluster in known or len(known) > self._options.common:
            return known
        return [*known, cluster]


class Placed(NamedTuple):
    """Where a page went: the earlier page that stands for its cluster, and the verdict on both."""

    match: str | None
    relation: Relation
    similarity: float | None
    evidence: dict[str, object]


UNDECIDED = Placed(None, Relation.UNDECIDED, None, {"why": "too little text to tell"})


class Newsroom:
    """All devices and stores."""

    def __init__(self, state: State, options: NewsClustersOptions) -> None:
        self.options = options
        self.fingerprints = FingerprintMap(state)
        self.documents = DocumentMap(state)
        self.table = InvertedTable(state)
        self.selector = Selector(self.fingerprints, self.documents, options)
        self.comparer = Comparer(self.documents, self.table, options)
        self.updater = Updater(self.fingerprints, self.documents, self.table, options)

    def place(self, page: NewsPage) -> Placed:
        """The page joins the cluster that Selector or Comparer finds, or founds its own."""
        found = self.selector.select(page) or self.comparer.compare(page)
        if found is None:
            return self._found_cluster(page)
        self.updater.update(page, found.cluster, self.documents[found.cluster].head)
        return Placed(found.match, self._relation(page, found), found.similarity, found.evidence)

    def _found_cluster(self, page: NewsPage) -> Placed:
        head = elect(page)
        self.updater.update(page, page.id, head)
        why = "no cluster has enough of its fingerprints, and no recent page is like it"
        evidence: dict[str, object] = {"why": why, "device": "Voter", "head": head}
        return Placed(None, Relation.DIFFERENT, None, evidence)

    def _relation(self, page: NewsPage, found: Found) -> Relation:
        same = self.documents[found.match].digest == page.digest
        return Relation.SAME if same else Relation.NEAR
