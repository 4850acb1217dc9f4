"""What a clustering gets right, counted by unit: an article, or a labelled pair.

Precision is found / said and recall found / true, summed over units. A false pair belongs to two
articles and counts half for each; so sums over all units are the plain pair counts, and units can
be drawn again (bootstrap) or left out (cross-validation) as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.evaluate.truth import ClusterTruth, PairTruth, Truth

Numbers = NDArray[np.int64]
Amounts = NDArray[np.float64]


@dataclass(frozen=True)
class Counts:
    """Pairs found, said and true, by unit."""

    found: Amounts
    said: Amounts
    true: Amounts


@dataclass(frozen=True)
class Labels:
    """The judged pages as numbers: the article and the cluster of each."""

    articles: Numbers
    clusters: Numbers
    kinds: NDArray[np.object_]


def number_labels(truth: ClusterTruth, clusters: Mapping[str, str]) -> Labels:
    """Pages that a clustering does not have are alone."""
    judged = truth.judged
    articles = _numbers([truth.articles[page] for page in judged])
    placed = _numbers([clusters.get(page, "") for page in judged])
    absent = np.array([page not in clusters for page in judged], bool)
    placed[absent] = placed.max(initial=0) + 1 + np.arange(absent.sum())
    kinds = np.array([truth.kinds[page] or "original" for page in judged], object)
    return Labels(articles, placed, kinds)


def _numbers(names: list[str]) -> Numbers:
    known: dict[str, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], np.int64)


def count(truth: Truth, clusters: Mapping[str, str]) -> Counts:
    """The counts of a clustering (page to cluster) by unit of the truth."""
    if isinstance(truth, PairTruth):
        return _count_pairs(truth, clusters)
    return count_labels(number_labels(truth, clusters))


def _count_pairs(truth: PairTruth, clusters: Mapping[str, str]) -> Counts:
    said = np.array([_together(clusters, a, b) for a, b in truth.pairs], bool)
    true = np.array(truth.labels, bool)
    return Counts((said & true).astype(float), said.astype(float), true.astype(float))


def _together(clusters: Mapping[str, str], a: str, b: str) -> bool:
    return a in clusters and b in clusters and clusters[a] == clusters[b]


def count_labels(labels: Labels) -> Counts:
    """Counts by article."""
    if not labels.articles.size:
        nothing = np.empty(0)
        return Counts(nothing, nothing, nothing)
    articles = int(labels.articles.max()) + 1
    sizes = np.bincount(labels.articles, minlength=articles)
    (cell_article, cell_cluster), in_cell = cells(labels.articles, labels.clusters)
    in_cluster = np.bincount(labels.clusters)[cell_cluster]
    found: Amounts = np.bincount(cell_article, pairs_of(in_cell), articles).astype(float)
    false = np.bincount(cell_article, in_cell * (in_cluster - in_cell) / 2, articles)
    return Counts(found, found + false, pairs_of(sizes))


def cells(left: Numbers, right: Numbers) -> tuple[tuple[Numbers, Numbers], Numbers]:
    """The combinations that occur, and how often each does."""
    width = int(right.max(initial=0)) + 1
    codes, sizes = np.unique(left * width + right, return_counts=True)
    return (codes // width, codes % width), sizes


def pairs_of(sizes: Numbers) -> Amounts:
    """The number of pairs among so many."""
    counted: Amounts = sizes * (sizes - 1) / 2.0
    return counted
