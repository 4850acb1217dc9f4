"""The devices of section 2 that decide about a page (steps 2 to 5), and the `Newsroom` that runs
them over the stores of one state.

`Foresight` is a Comparer whose answers for many pages are computed ahead by kernels. Which recent
pages a page is compared with, and how similar they are, depends on titles, texts and times, not on
the clusters formed so far. So if pages come in order of time and the stores are empty, all
comparisons can run before the first page is placed, without look-ups page by page.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.arrays import Floats, Numbers, distinct, offsets_of
from neardup.kernels.word_vectors import pages_with_most_hits
from neardup.methods.base import State
from neardup.methods.news_clusters.extractor import Vectors, common_subsequences, cosines, unpack
from neardup.methods.news_clusters.stores import (
    DAY,
    Binding,
    Document,
    DocumentMap,
    FingerprintMap,
    InvertedTable,
    Match,
    NewsClustersOptions,
    NewsPage,
)
from neardup.model import Relation


@dataclass
class Selector:
    """Step 2: the cluster that X of a page's fingerprints point to.

    If a single fingerprint has precision p, X of them have 1 - (1 - p)^X: two raise 90 % to 99 %.
    If several clusters reach X, the one with more votes wins, then more weight, then the older.
    """

    fingerprints: FingerprintMap
    documents: DocumentMap
    options: NewsClustersOptions

    def select(self, page: NewsPage) -> Match | None:
        """The winning cluster, if any has at least X votes."""
        votes: defaultdict[str, list[int]] = defaultdict(list)
        for fingerprint in page.fingerprints:
            binding = self.fingerprints.get(fingerprint)
            if binding and may_vote(binding, page.time, self.options):
                votes[binding.cluster].append(binding.weight)
        elected = [name for name, weights in votes.items() if len(weights) >= self.options.x]
        if not elected:
            return None

        def rank(name: str) -> tuple[int, int, int, str]:
            return -len(votes[name]), -sum(votes[name]), self.documents[name].time, name

        cluster = min(elected, key=rank)
        weights, total = votes[cluster], len(page.fingerprints)
        count = len(weights)
        evidence: dict[str, object] = {
            "why": f"{count} of {total} fingerprints point to the cluster of {cluster}",
            "device": "Selector",
            "votes": count,
            "fingerprints": total,
            "weight": sum(weights),
        }
        return Match(cluster, cluster, count / total, evidence)


def may_vote(binding: Binding, time: int, options: NewsClustersOptions) -> bool:
    """Whether a binding is valid at this time and not one of boilerplate."""
    is_common = options.common and len(binding.seen) > options.common
    return bool(binding.cluster) and not is_common and not has_expired(binding, time, options)


def has_expired(binding: Binding, time: int, options: NewsClustersOptions) -> bool:
    """Whether a binding has outlived the option `expiry` (section 3, point 4)."""
    return options.expiry > 0 and time - binding.time > options.expiry * DAY


QUERY_WORDS = 32  # most words of a page in a text search


class Best(NamedTuple):
    """The most similar candidate."""

    match: str
    value: float
    candidates: int  # their number


@dataclass
class Comparer:
    """Step 3: the recent page most similar to this one.

    Candidates are the pages of the last T days with the most words in common with the title, up to
    50, from an inverted table. Alternatives of section 3, point 3: all recent pages, or a small
    text search, in which the rarest words of the text weigh most. The candidate with the largest
    value, if above k, determines the cluster.
    """

    documents: DocumentMap
    table: InvertedTable
    options: NewsClustersOptions

    def compare(self, page: NewsPage) -> Match | None:
        """The cluster of the most similar candidate, if its value is above k."""
        best = self.best(page)
        return self._match(best) if best and best.value > self.options.k else None

    def best(self, page: NewsPage) -> Best | None:
        """The most similar candidate."""
        candidates = self.candidates(page)
        if not candidates:
            return None
        values = self._values(page, candidates)
        chosen = int(np.argmax(values))  # ties go to the first, which has the most hits
        return Best(candidates[chosen], float(values[chosen]), len(candidates))

    def candidates(self, page: NewsPage) -> list[str]:
        """The pages to compare with, best first."""
        days = self.table.days(page.time, self.options.t)
        if self.options.candidates == "all":
            return sorted(self.table.pages(days))
        if self.options.candidates == "search":
            return self._search(page, days)
        words = self._selective(page.title_words, days)
        return self._top(Counter(chain.from_iterable(self.table.having(w, days) for w in words)))

    def _search(self, page: NewsPage, days: list[int]) -> list[str]:
        total = self.table.count(days)
        words = self._selective(page.text_words, days)
        frequencies = {word: self.table.frequency(word, days) for word in words}
        indexed = [word for word in words if frequencies[word]]
        scores: defaultdict[str, float] = defaultdict(float)
        for word in heapq.nsmallest(QUERY_WORDS, indexed, key=lambda each: frequencies[each]):
            worth = math.log(1 + total / frequencies[word])
            for other in self.table.having(word, days):
                scores[other] += worth
        return self._top(scores)

    def _selective(self, words: Iterable[str], days: list[int]) -> list[str]:
        """The words that few enough recent pages have (a guard), each once."""
        most = self.options.frequent or math.inf
        return [word for word in dict.fromkeys(words) if self.table.frequency(word, days) <= most]

    def _top(self, scores: Mapping[str, float]) -> list[str]:
        """The pages with the highest scores, best first; ties go to smaller ids."""
        most = self.options.documents
        least = sorted(scores.values(), reverse=True)[:most][-1] if scores else 0
        better = [page for page, score in scores.items() if score > least]
        better.sort(key=lambda page: (-scores[page], page))  # only few: faster than sorting all
        equal = sorted(page for page, score in scores.items() if score == least)
        return better + equal[: most - len(better)]

    def _values(self, page: NewsPage, candidates: list[str]) -> Floats:
        contents = [self.documents[each].content for each in candidates]
        if self.options.comparison == "lcs":
            return common_subsequences([page.content] * len(contents), contents)
        rows = range(len(contents))
        return cosines(unpack([page.content]), unpack(contents), [0] * len(contents), list(rows))

    def _match(self, best: Best) -> Match:
        measure = self.options.comparison
        evidence: dict[str, object] = {
            "why": f"{measure} {best.value:.2f} with {best.match}, above {self.options.k:g}, the "
            f"best of {best.candidates} candidates",
            "device": "Comparer",
            measure: round(best.value, 4),
            "candidates": best.candidates,
        }
        return Match(self.documents[best.match].cluster, best.match, best.value, evidence)


def elect(page: NewsPage) -> str:
    """The Voter, step 4: the head of a new cluster, or "" for a page without fingerprints.

    It is the first fingerprint: the title's or, without one, that of the longest paragraph. The
    cluster is named after the page that founds it, because two stories may have one title.
    """
    return f"{page.fingerprints[0]:016x}" if page.fingerprints else ""


@dataclass
class Updater:
    """Step 5: update the stores once a page has its cluster.

    For each fingerprint: (A) if unseen, bind it to the cluster with weight a0; (B) if bound to
    another cluster, lower the weight, and unbind it at 0; (C) if bound to this cluster, raise the
    weight. An unbound fingerprint, or one with an expired binding, can be bound again.
    """

    fingerprints: FingerprintMap
    documents: DocumentMap
    table: InvertedTable
    options: NewsClustersOptions

    def update(self, page: NewsPage, cluster: str, head: str) -> None:
        """Bind the fingerprints, store the page and its head, and index its words."""
        for fingerprint in page.fingerprints:
            binding = self._bound(self.fingerprints.get(fingerprint), cluster, page.time)
            self.fingerprints.put(fingerprint, binding)
        document = Document(head, cluster, page.time, page.digest, page.content)
        self.documents[page.id] = document
        searched = self.options.candidates == "search"
        self.table.add(page.id, page.time, page.text_words if searched else page.title_words)

    def _bound(self, old: Binding | None, cluster: str, time: int) -> Binding:
        seen = self._seen(old, cluster)
        if old is None or not old.cluster or has_expired(old, time, self.options):
            return Binding(cluster, self.options.a0, time, seen)  # (A)
        if old.cluster == cluster:
            return Binding(cluster, old.weight + 1, old.time, seen)  # (C)
        weight = old.weight - 1  # (B)
        return Binding(old.cluster if weight > 0 else "", weight, old.time, seen)

    def _seen(self, old: Binding | None, cluster: str) -> list[str]:
        """The clusters a fingerprint was seen in, up to one more than the guard allows."""
        seen = old.seen if old else []
        if cluster in seen or len(seen) > self.options.common:
            return seen
        return [*seen, cluster]


class Placed(NamedTuple):
    """The earlier page that represents the page's cluster, if any, and the verdict on the two."""

    match: str | None
    relation: Relation
    similarity: float | None
    evidence: dict[str, object]


UNDECIDED = Placed(None, Relation.UNDECIDED, None, {"why": "too little text to tell"})


class Newsroom:
    """All devices and stores: steps 2 to 5 for each page."""

    def __init__(self, state: State, options: NewsClustersOptions) -> None:
        self.options = options
        self.fingerprints = FingerprintMap(state)
        self.documents = DocumentMap(state)
        self.table = InvertedTable(state)
        self.selector = Selector(self.fingerprints, self.documents, options)
        self.comparer = Comparer(self.documents, self.table, options)
        self.updater = Updater(self.fingerprints, self.documents, self.table, options)

    def place(self, page: NewsPage) -> Placed:
        """Add the page to the cluster that Selector or Comparer finds, or to a new one."""
        match = self.selector.select(page) or self.comparer.compare(page)
        if match is None:
            return self._found_cluster(page)
        self.updater.update(page, match.cluster, self.documents[match.cluster].head)
        same = self.documents[match.match].digest == page.digest
        relation = Relation.SAME if same else Relation.NEAR
        return Placed(match.match, relation, match.similarity, match.evidence)

    def _found_cluster(self, page: NewsPage) -> Placed:
        head = elect(page)
        self.updater.update(page, page.id, head)
        why = "no cluster has enough of its fingerprints, and no recent page is like it"
        evidence: dict[str, object] = {"why": why, "device": "Voter", "head": head}
        return Placed(None, Relation.DIFFERENT, None, evidence)


COMPARED_AT_ONCE = 1_000_000  # pairs


@dataclass
class Foresight(Comparer):
    """A Comparer with its answers computed ahead."""

    foreseen: Mapping[str, Best]

    def best(self, page: NewsPage) -> Best | None:
        return self.foreseen.get(page.id)


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
    both = distinct(pages << 32 | codes)
    offsets = np.searchsorted(both >> 32, np.arange(len(titles) + 1)).astype(np.int64)
    return (both & 0xFFFF_FFFF).astype(np.int32), offsets


def _inverted(words: NDArray[np.int32], offsets: Numbers) -> tuple[NDArray[np.int32], Numbers]:
    """The pages of each word, from the words of each page: the inverted table."""
    pages = np.repeat(np.arange(offsets.size - 1, dtype=np.int32), np.diff(offsets))
    order = np.argsort(words, kind="stable")
    return pages[order], offsets_of(np.bincount(words))


def _ranks(ids: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The rank of each page in the order of ids, and the page of each rank."""
    of_rank = pc.sort_indices(ids).to_numpy().astype(np.int32)
    rank = np.empty_like(of_rank)
    rank[of_rank] = np.arange(of_rank.size, dtype=np.int32)
    return rank, of_rank
