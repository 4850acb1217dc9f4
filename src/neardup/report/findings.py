"""What the report says about a run: decisions on pairs, cluster sizes, hosts, and a sample.

The numbers cover all pages and pairs. The clusters and pairs that the report lists are a bounded
sample of those most worth a look.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import Mask, Numbers, places_in_runs
from neardup.local.corpus import Corpus
from neardup.local.outcome import REJECTED
from neardup.local.pipeline import Judged, Outcome
from neardup.pages.urls import host

BINS = 20  # of the similarity, each 0.05 wide
HOSTS_SHOWN = 100
SIZE_BOUNDS = [2, 3, 4, 5, 10, 20, 50, 100, 1_000, 10_000]
_AUTHORITY = r"^\s*(?:[A-Za-z]+:)?//(?P<authority>[^/?#\\]*)"


@dataclass(frozen=True)
class Hosts:
    """The hosts of all pages; the name is empty for pages without a URL."""

    names: list[str]
    of_page: Numbers

    def same(self, page: int, other: int) -> bool:
        """Whether two pages have the same host."""
        host = self.of_page[page]
        return bool(host == self.of_page[other] and self.names[host])


def hosts_of(urls: Iterable[pa.StringArray]) -> Hosts:
    """The host of each URL. Many URLs share few authorities: each is parsed once."""
    coded = pa.chunked_array([*map(_authorities, urls)]).unify_dictionaries()
    dictionary = coded.chunk(0).dictionary.to_pylist() if coded.num_chunks else []
    by_authority = [host(f"//{authority}") for authority in dictionary]
    names = sorted(set(by_authority))
    number = {name: place for place, name in enumerate(names)}
    codes = np.array([number[name] for name in by_authority], np.int64)
    return Hosts(names, np.concatenate([codes[each.indices.to_numpy()] for each in coded.chunks]))


def _authorities(urls: pa.StringArray) -> pa.DictionaryArray:
    authorities = pc.struct_field(pc.extract_regex(urls, _AUTHORITY), "authority")
    return pc.fill_null(authorities, "").dictionary_encode()


class Decision(IntEnum):
    JOINED = 0  # in one cluster
    RELATED = 1  # something in common, but in two clusters
    REJECTED = 2  # different, or too little text to judge


@dataclass(frozen=True)
class Pair:
    """One judged pair; `evidence` is JSON."""

    left: int
    right: int
    decision: Decision
    relation: str
    similarity: float | None
    evidence: str


def decisions(judged: Judged, outcome: Outcome) -> Numbers:
    together = outcome.labels[judged.left] == outcome.labels[judged.right]
    related = np.where(together, Decision.JOINED, Decision.RELATED)
    return np.where(np.isin(judged.relations, REJECTED), Decision.REJECTED, related)


def similarity_counts(judged: Judged, decided: Numbers) -> Numbers:
    """How many pairs there are of each decision (row) and similarity (column)."""
    measured = ~np.isnan(judged.similarities)
    bins = np.minimum((judged.similarities[measured] * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(decided[measured] * BINS + bins, minlength=len(Decision) * BINS)
    return counts.reshape(len(Decision), BINS)


def read_pairs(judged: Judged, decided: Numbers, numbers: Numbers) -> Iterator[Pair]:
    """The pairs with these numbers, in ascending order."""
    first = 0
    for part in judged.verdicts.listed:
        here = np.sort(numbers[(numbers >= first) & (numbers < first + part.rows)])
        if here.size:
            batch = judged.verdicts.read(part.number).take(pa.array(here - first))
            for number, verdict in zip(here.tolist(), batch.to_pylist(), strict=True):
                yield Pair(
                    int(judged.left[number]),
                    int(judged.right[number]),
                    Decision(decided[number]),
                    **verdict,
                )
        first += part.rows


@dataclass(frozen=True)
class Room:
    """How much of a run the report holds at most, so that a browser opens it at once.

    Comparing the texts of pairs takes most of the time. So the number of pairs grows with that of
    pages, and the report takes the same small share of every run; a few have room in any case.
    """

    pages_of_a_pair: int = 400
    listed_pages: int = 150_000
    listing_bytes: int = 9_500_000
    members_of_a_cluster: int = 1_000
    pairs_of_clusters: int = 300  # of the largest clusters; half of all pairs, like the doubtful
    pairs_of_a_cluster: int = 6
    doubtful_pairs: int = 100  # of each decision: those nearest to the other side
    joined_text_bytes: int = 2_000_000
    related_text_bytes: int = 800_000
    rejected_text_bytes: int = 1_200_000


ROOM = Room()
FEW = 60  # pairs that the report of any run has room for


def clusters_by_size(outcome: Outcome) -> tuple[Numbers, Numbers]:
    """The clusters of more than one page, largest first, and the sizes of all by number."""
    sizes = np.bincount(outcome.labels)
    clusters = np.flatnonzero(sizes > 1)
    return clusters[np.argsort(-sizes[clusters], kind="stable")], sizes


def listed_members(outcome: Outcome, room: Room) -> tuple[Numbers, Numbers]:
    """The pages of the clusters worth listing, largest cluster first, its kept page first; and how
    many pages of each cluster they are."""
    clusters, sizes = clusters_by_size(outcome)
    counts = np.minimum(sizes[clusters], room.members_of_a_cluster)
    clusters = clusters[np.cumsum(counts) <= room.listed_pages]
    rank = np.full(sizes.size, clusters.size)
    rank[clusters] = np.arange(clusters.size)
    pages = np.flatnonzero(rank[outcome.labels] < clusters.size)
    pages = pages[np.lexsort((pages, ~outcome.is_kept[pages], rank[outcome.labels[pages]]))]
    is_listed = places_in_runs(rank[outcome.labels[pages]]) < room.members_of_a_cluster
    return pages[is_listed], counts[: clusters.size]


def sampled_pairs(judged: Judged, outcome: Outcome, decided: Numbers, room: Room) -> Numbers:
    """Numbers of pairs: from the largest clusters, and the most doubtful of each decision."""
    wanted = max(outcome.labels.size // room.pages_of_a_pair, FEW)
    most, doubtful = min(room.pairs_of_clusters, wanted // 2), min(room.doubtful_pairs, wanted // 6)
    chosen = [pairs_of_clusters(judged, outcome, decided, most, room.pairs_of_a_cluster)]
    for decision in Decision:
        pairs = np.flatnonzero(decided == decision)
        similarity = judged.similarities[pairs]
        nearness = similarity if decision is Decision.JOINED else -similarity
        chosen.append(pairs[np.argsort(nearness, kind="stable")[:doubtful]])
    return np.unique(np.concatenate(chosen))


def pairs_of_clusters(
    judged: Judged, outcome: Outcome, decided: Numbers, most: int, of_a_cluster: int
) -> Numbers:
    """Some pairs of the largest clusters: the first of each, then the second of each, and so on.

    Those with the kept page come first, and of them the least similar.
    """
    clusters, sizes = clusters_by_size(outcome)
    wanted = np.zeros(sizes.size, bool)
    wanted[clusters[:most]] = True
    pairs = np.flatnonzero(decided == Decision.JOINED)
    pairs = pairs[wanted[outcome.labels[judged.left[pairs]]]]
    left, right = judged.left[pairs], judged.right[pairs]
    cluster = outcome.labels[left]
    apart_from_kept = ~(outcome.is_kept[left] | outcome.is_kept[right])
    order = np.lexsort((judged.similarities[pairs], apart_from_kept, cluster, -sizes[cluster]))
    place = places_in_runs(cluster[order])
    in_turn = order[np.argsort(place, kind="stable")][: np.count_nonzero(place < of_a_cluster)]
    return pairs[in_turn[:most]]


@dataclass(frozen=True)
class SizeClass:
    """The clusters with `least` to `most` pages."""

    least: int
    most: int
    clusters: int
    pages: int


@dataclass(frozen=True)
class HostFindings:
    """The pages of one host and what dropping its duplicates saves."""

    name: str
    pages: int
    duplicates: int
    bytes: int
    duplicate_bytes: int


@dataclass(frozen=True)
class Spread:
    """Where the duplicates are."""

    hosts: list[HostFindings]  # those with most duplicates first
    all_hosts: int
    within_host: int  # duplicates of a page on their own host
    across_hosts: int


def cluster_sizes(outcome: Outcome) -> list[SizeClass]:
    """The number of clusters of each size, up to the largest."""
    sizes = np.bincount(outcome.labels)
    largest = int(sizes.max(initial=0))
    bounds = [bound for bound in SIZE_BOUNDS if bound <= largest]
    ends = [*(bound - 1 for bound in bounds[1:]), largest]
    return [_size_class(sizes, *limits) for limits in zip(bounds, ends, strict=False)]


def _size_class(sizes: Numbers, least: int, most: int) -> SizeClass:
    here = sizes[(sizes >= least) & (sizes <= most)]
    return SizeClass(least, most, int(here.size), int(here.sum()))


def spread_over_hosts(corpus: Corpus, outcome: Outcome, hosts: Hosts) -> Spread:
    """Duplicates by host; empty when no page has a URL."""
    duplicate = ~outcome.is_kept
    own = hosts.of_page == hosts.of_page[outcome.kept]
    named = np.array([bool(name) for name in hosts.names])
    known = duplicate & named[hosts.of_page]
    return Spread(
        _hosts_with_duplicates(corpus, duplicate, hosts),
        int(named.sum()),
        int((known & own).sum()),
        int((known & ~own).sum()),
    )


def _hosts_with_duplicates(corpus: Corpus, duplicate: Mask, hosts: Hosts) -> list[HostFindings]:
    bytes_ = corpus.pages.numbers("size")
    weights = [np.ones(bytes_.size), duplicate, bytes_, bytes_ * duplicate]
    count = len(hosts.names)
    columns = [np.bincount(hosts.of_page, each, count).astype(np.int64) for each in weights]
    order = np.lexsort((-columns[0], -columns[3], -columns[1])).tolist()
    return [
        HostFindings(hosts.names[host], *(int(column[host]) for column in columns))
        for host in order
        if hosts.names[host] and columns[1][host]
    ][:HOSTS_SHOWN]
