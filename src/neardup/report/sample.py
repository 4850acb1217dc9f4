"""Which clusters and pairs the report holds: a bounded number, those most worth a look."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.engines.clustering import Clustering
from neardup.engines.deciding import Judged
from neardup.engines.features import Rows
from neardup.report.decisions import Decision

PAIRS_OF_CLUSTERS = 300  # of the largest clusters
PAIRS_OF_A_CLUSTER = 6
DOUBTFUL_PAIRS = 100  # of each decision: those nearest to the other side
MEMBERS_OF_A_CLUSTER = 1_000
LISTED_PAGES = 150_000


def clusters_by_size(clustering: Clustering) -> tuple[Rows, Rows]:
    """The clusters of more than one page, largest first, and the sizes of all by number."""
    sizes = np.bincount(clustering.labels)
    clusters = np.flatnonzero(sizes > 1)
    return clusters[np.argsort(-sizes[clusters], kind="stable")], sizes


def listed_members(clustering: Clustering) -> list[Rows]:
    """The pages of each cluster worth listing, largest cluster first, the kept page first."""
    clusters, sizes = clusters_by_size(clustering)
    listed = np.minimum(sizes[clusters], MEMBERS_OF_A_CLUSTER)
    clusters = clusters[np.cumsum(listed) <= LISTED_PAGES]
    rank = np.full(sizes.size, clusters.size)
    rank[clusters] = np.arange(clusters.size)
    pages = np.flatnonzero(rank[clustering.labels] < clusters.size)
    order = np.lexsort((pages, ~clustering.is_kept[pages], rank[clustering.labels[pages]]))
    ends = np.cumsum(sizes[clusters])
    members = np.split(pages[order], ends)[:-1]
    return [some[:MEMBERS_OF_A_CLUSTER] for some in members]


def sampled_pairs(judged: Judged, clustering: Clustering, decided: NDArray[np.int64]) -> Rows:
    """Numbers of pairs: of the largest clusters, and of each decision the most doubtful."""
    chosen = [_pairs_of_clusters(judged, clustering, decided)]
    for decision in Decision:
        pairs = np.flatnonzero(decided == decision)
        similarity = judged.similarities[pairs]
        nearness = similarity if decision is Decision.JOINED else -similarity
        chosen.append(pairs[np.argsort(nearness, kind="stable")[:DOUBTFUL_PAIRS]])
    return np.unique(np.concatenate(chosen))


def _pairs_of_clusters(judged: Judged, clustering: Clustering, decided: NDArray[np.int64]) -> Rows:
    """Some pairs of each of the largest clusters: those with the kept page, least alike first."""
    clusters, sizes = clusters_by_size(clustering)
    enough = clusters[:PAIRS_OF_CLUSTERS]
    wanted = np.zeros(sizes.size, bool)
    wanted[enough] = True
    pairs = np.flatnonzero(decided == Decision.JOINED)
    pairs = pairs[wanted[clustering.labels[judged.left[pairs]]]]
    left, right = judged.left[pairs], judged.right[pairs]
    cluster = clustering.labels[left]
    apart_from_kept = ~(clustering.is_kept[left] | clustering.is_kept[right])
    order = np.lexsort((judged.similarities[pairs], apart_from_kept, cluster, -sizes[cluster]))
    starts = np.flatnonzero(np.diff(cluster[order], prepend=-1))
    place = np.arange(order.size) - np.repeat(starts, np.diff(np.append(starts, order.size)))
    return pairs[order[place < PAIRS_OF_A_CLUSTER]][:PAIRS_OF_CLUSTERS]
