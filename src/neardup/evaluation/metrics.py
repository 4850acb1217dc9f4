"""Scores of a clustering against the truth, and their curve over similarity thresholds.

Pairs are counted by unit, which is an article or a labelled pair. Precision is correct / joined and
recall correct / true, summed over units. A false pair belongs to two articles and counts half for
each, so the sums over all units are the plain pair counts, and whole units can be resampled
(bootstrap) or left out (cross-validation).

`score_rule` scores the pairs that a method's own rule joins, before clustering, which also joins
two pages that are both close to a third.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.arrays import Floats, Mask, Numbers
from neardup.errors import InputError
from neardup.evaluation.sets import ClusterTruth, PairTruth, Truth
from neardup.kernels.grouping import connected_components
from neardup.local.pipeline import BY_SIMILARITY, joining_relations
from neardup.local.prior import method_of, read_features
from neardup.local.result import Result
from neardup.methods.base import InOrder, Method, SharedKeys
from neardup.methods.identical import content_keys
from neardup.methods.registry import method_class

RATES = ("precision", "recall", "f1")
REDRAWS = 1000  # bootstrap samples
STEPS = 41  # thresholds of a curve
# Pairs, a row for each unit: those that are correct (both of the others), that are joined (share a
# cluster), and that are true (duplicates).
Counts = Floats


@dataclass(frozen=True)
class Labels:
    """The pages that count, as arrays: article number, cluster number and kind of each."""

    articles: Numbers
    clusters: Numbers
    kinds: NDArray[np.object_]


def number_labels(truth: ClusterTruth, clusters: Mapping[str, str]) -> Labels:
    """Number articles and clusters. A page missing from the clustering is a cluster of its own."""
    judged = truth.judged
    articles = _numbers([truth.articles[page] for page in judged])
    numbers = _numbers([clusters.get(page, "") for page in judged])
    absent = np.array([page not in clusters for page in judged], bool)
    numbers[absent] = numbers.max(initial=0) + 1 + np.arange(absent.sum())
    kinds = np.array([truth.kinds[page] or "original" for page in judged], object)
    return Labels(articles, numbers, kinds)


def _numbers(names: list[str]) -> Numbers:
    known: dict[str, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], np.int64)


def count(truth: Truth, clusters: Mapping[str, str]) -> Counts:
    """The pair counts of a clustering (page to cluster), by unit of the truth."""
    if not isinstance(truth, PairTruth):
        return count_labels(number_labels(truth, clusters))
    joined = np.array(
        [a in clusters and clusters[a] == clusters.get(b) for a, b in truth.pairs], bool
    )
    true = np.array(truth.labels, bool)
    return np.column_stack([joined & true, joined, true]).astype(float)


def count_labels(labels: Labels) -> Counts:
    """Pair counts by article."""
    articles = int(labels.articles.max(initial=-1)) + 1
    sizes = np.bincount(labels.articles, minlength=articles)
    (cell_article, cell_cluster), in_cell = cells(labels.articles, labels.clusters)
    in_cluster = np.bincount(labels.clusters)[cell_cluster]
    correct: Floats = np.bincount(cell_article, pairs_of(in_cell), articles).astype(float)
    false = np.bincount(cell_article, in_cell * (in_cluster - in_cell) / 2, articles)
    return np.column_stack([correct, correct + false, pairs_of(sizes)])


def cells(left: Numbers, right: Numbers) -> tuple[tuple[Numbers, Numbers], Numbers]:
    """The combinations that occur, and the size of each."""
    width = int(right.max(initial=0)) + 1
    codes, sizes = np.unique(left * width + right, return_counts=True)
    return (codes // width, codes % width), sizes


def pairs_of(sizes: Numbers) -> Floats:
    """The number of pairs in groups of these sizes."""
    pairs: Floats = sizes * (sizes - 1) / 2.0
    return pairs


def score(truth: Truth, clusters: Mapping[str, str]) -> dict[str, Any]:
    """All scores of a clustering (page to cluster), rounded for display.

    Pages of kind excerpt or partial do not count, and a page missing from the clustering is a
    cluster of its own.
    """
    counts = count(truth, clusters)
    scores = {**pairwise(counts), "intervals": intervals(counts)}
    if isinstance(truth, PairTruth):
        return {**scores, "labelled_pairs": len(truth.pairs), **_pairs_by_kind(truth, counts)}
    if unknown := sorted(set(clusters) - set(truth.articles)):
        raise InputError(f"{len(unknown)} pages are not in the truth, such as {unknown[0]!r}")
    labels = number_labels(truth, clusters)
    sizes = Counter(clusters[page] for page in truth.judged if page in clusters)
    return {
        **scores,
        **_pages_by_kind(labels),
        "by_page": by_page(labels),
        "b_cubed": b_cubed(labels),
        "adjusted_rand": round(adjusted_rand(labels), 4),
        "largest_cluster": max(sizes.values(), default=0),
    }


def pairwise(counts: Counts) -> dict[str, Any]:
    """Precision, recall and F1 over pairs."""
    correct, joined, true = counts.sum(axis=0)
    scores = rounded_rates(correct, joined, true)
    return {**scores, "true_pairs": round(true), "said_pairs": round(joined)}


def rounded_rates(correct: float, joined: float, true: float) -> dict[str, float]:
    """Precision, recall and F1 by name, rounded for display."""
    return {
        name: round(float(rate), 4)
        for name, rate in zip(RATES, rates(correct, joined, true), strict=True)
    }


def rates(correct: Any, joined: Any, true: Any) -> tuple[Any, Any, Any]:
    """Precision, recall and F1, element by element. If no pair is joined, precision is 1."""
    correct, joined, true = (np.asarray(each, float) for each in (correct, joined, true))
    precision = np.divide(correct, joined, out=np.ones_like(correct), where=joined > 0)
    recall = np.divide(correct, true, out=np.ones_like(correct), where=true > 0)
    both = precision + recall
    f1 = np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both > 0)
    return precision, recall, f1


def intervals(counts: Counts) -> dict[str, list[float]]:
    """95 % bootstrap intervals of precision, recall and F1 over units."""
    if not len(counts):
        return {}
    samples = rates(*redraw(counts).T)
    return {
        name: [round(float(bound), 4) for bound in np.percentile(values, [2.5, 97.5])]
        for name, values in zip(RATES, samples, strict=True)
    }


def redraw(units: Floats) -> Floats:
    """Column sums of REDRAWS bootstrap samples of the units.

    Units with equal counts are drawn together, so the cost does not grow with the set.
    """
    distinct, sizes = np.unique(units, axis=0, return_counts=True)
    times = np.random.default_rng(0).multinomial(len(units), sizes / len(units), REDRAWS)
    sums: Floats = times @ distinct
    return sums


def _pages_by_kind(labels: Labels) -> dict[str, dict[str, float]]:
    """Recall over the true pairs that involve each kind of copy, and the number of false pairs.

    In the recall, a pair of two originals counts for `original`; any other counts for its other
    kinds. A page of kind `edited+late` is of both.
    """
    together = _together_numbers(labels)
    recalls: dict[str, float] = {}
    false: dict[str, float] = {}
    for kind, of_kind in _by_kind(labels):
        only = kind == "original"
        if true := _pairs_with(labels.articles, of_kind, only=only):
            recalls[kind] = round(_pairs_with(together, of_kind, only=only) / true, 3)
        joined, correct = (
            _pairs_with(groups, of_kind, only=False) for groups in (labels.clusters, together)
        )
        if joined > correct:
            false[kind] = joined - correct
    return {"recall_by_kind": recalls, "false_pairs_by_kind": false}


def _pairs_by_kind(truth: PairTruth, counts: Counts) -> dict[str, dict[str, float]]:
    """Recall and false pairs by kind, of labelled pairs that have kinds."""
    recalls: dict[str, float] = {}
    false: dict[str, float] = {}
    kinds = np.array(truth.kinds, object)
    for kind in sorted(filter(None, set(truth.kinds))):
        correct, joined, true = map(int, counts[kinds == kind].sum(axis=0))
        if true:
            recalls[kind] = round(correct / true, 3)
        if joined > correct:
            false[kind] = joined - correct
    return {"recall_by_kind": recalls, "false_pairs_by_kind": false} if recalls or false else {}


def by_language(
    truth: Truth, clusters: Mapping[str, str], languages: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """Precision, recall and F1 over the pairs that involve a page in each language."""
    sums: dict[str, tuple[float, ...]] = {}
    if isinstance(truth, PairTruth):
        counts = count(truth, clusters)
        by_pair = [{languages.get(page, "unknown") for page in pair} for pair in truth.pairs]
        for name in sorted(set().union(*by_pair)):
            sums[name] = tuple(counts[[name in each for each in by_pair]].sum(axis=0))
    else:
        labels = number_labels(truth, clusters)
        by_page = np.array([languages.get(page, "unknown") for page in truth.judged], object)
        for name in sorted(set(by_page.tolist())):
            groups = (_together_numbers(labels), labels.clusters, labels.articles)
            sums[name] = tuple(_pairs_with(each, by_page == name, only=False) for each in groups)
    return {
        name: {**rounded_rates(correct, joined, true), "true_pairs": round(true)}
        for name, (correct, joined, true) in sums.items()
    }


def _together_numbers(labels: Labels) -> Numbers:
    """A number for each combination of article and cluster."""
    width = int(labels.clusters.max(initial=0)) + 1
    together: Numbers = np.unique(labels.articles * width + labels.clusters, return_inverse=True)[1]
    return together


def _by_kind(labels: Labels) -> Iterator[tuple[str, Mask]]:
    """Each kind, and a mask of its pages."""
    combined = labels.kinds.tolist()
    distinct = [set(kinds.split("+")) for kinds in dict.fromkeys(combined)]
    numbers = _numbers(combined)
    for kind in sorted(set().union(*distinct)):
        yield kind, np.array([kind in kinds for kinds in distinct], bool)[numbers]


def _pairs_with(groups: Numbers, of_kind: Mask, *, only: bool) -> int:
    """Pairs within a group with at least one page of the kind; with `only`, both pages."""
    inside = np.bincount(groups[of_kind], minlength=int(groups.max(initial=0)) + 1)
    if only:
        return int(pairs_of(inside).sum())
    sizes = np.bincount(groups, minlength=inside.size)
    return int((pairs_of(sizes) - pairs_of(sizes - inside)).sum())


def by_page(labels: Labels) -> dict[str, float]:
    """Precision and recall over the pages that would be dropped, all of a cluster but one.

    Dropping a page is right if the cluster keeps another page of its article; all pages beyond the
    first of each article should be dropped. Some papers count this way; it equals the MUC score.
    Accuracy is the share of all pages that are rightly dropped or rightly kept.
    """
    (article, cluster), _ = cells(labels.articles, labels.clusters)
    pages = labels.articles.size
    right, dropped = pages - article.size, pages - np.unique(cluster).size
    to_drop = pages - np.unique(article).size
    wrong = dropped + to_drop - 2 * right  # wrongly dropped or wrongly kept
    accuracy = round(1 - wrong / max(pages, 1), 4)
    return {**rounded_rates(right, dropped, to_drop), "accuracy": accuracy}


def b_cubed(labels: Labels) -> dict[str, float]:
    """B-cubed: precision over each page's cluster and recall over its article, averaged."""
    (article, cluster), sizes = cells(labels.articles, labels.clusters)
    pages = max(labels.articles.size, 1)
    of_article, of_cluster = np.bincount(labels.articles), np.bincount(labels.clusters)
    precision = float((sizes**2 / of_cluster[cluster]).sum() / pages)
    recall = float((sizes**2 / of_article[article]).sum() / pages)
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {"precision": round(precision, 4), "recall": round(recall, 4), "f1": round(f1, 4)}


def adjusted_rand(labels: Labels) -> float:
    """The adjusted Rand index: 0 for chance, 1 for a perfect clustering."""
    correct, joined, true = count_labels(labels).sum(axis=0)
    everything = _pairs_within(labels.articles.size)
    if joined == true == correct or not everything:
        return 1.0
    expected = joined * true / everything
    return float((correct - expected) / ((joined + true) / 2 - expected))


def curve(result: Result, truth: Truth) -> dict[str, list[float]] | None:
    """Precision, recall and F1 of a run over thresholds from low to high, from its judged pairs;
    None if no threshold could change a verdict.

    As in `recluster`, verdicts by similarity (near, overlap, different) are decided again at each
    threshold, and the others stay. Only candidate pairs can join, so far below the method's own
    threshold the curve understates what a run would find.
    """
    ids = [row["id"] for row in result.pages()]
    numbers = {page: number for number, page in enumerate(ids)}
    rows = list(chain(result.pairs(), result.rejected()))
    left, right = (np.array([numbers[row[side]] for row in rows], np.int64) for side in "ab")
    joins = {str(relation) for relation in method_class(result.summary["method"]).joins}
    movable = np.array([row["relation"] in BY_SIMILARITY for row in rows], bool)
    fixed = np.array([row["relation"] in joins for row in rows], bool) & ~movable
    similarity = np.array(
        [row["similarity"] for row in rows], float
    )  # None becomes NaN: never near
    if np.unique(similarity[movable & (similarity >= 0)]).size < 2:
        return None
    thresholds = np.unique(np.linspace(0, 1, STEPS).round(4)).tolist()
    points = []
    for threshold in thresholds:
        joined = fixed | (movable & (similarity >= threshold))
        labels = connected_components(len(ids), left[joined], right[joined])
        clusters = dict(zip(ids, map(str, labels.tolist()), strict=True))
        points.append(rounded_rates(*count(truth, clusters).sum(axis=0)))
    return {"thresholds": thresholds, **{rate: [each[rate] for each in points] for rate in RATES}}


Keys = frozenset[int]


def score_rule(result: Result, truth: Truth) -> dict[str, Any] | None:
    """Precision, recall and F1 of the pairs that the method's rule joins, before clustering.

    If a shared key is the verdict, all pairs of each key count: a result holds only enough of them
    to connect its clusters. None for methods that place pages in order, which have no pairs.
    """
    method = method_of(result.summary)
    source = method.candidate_source
    if isinstance(source, InOrder):
        return None
    if isinstance(source, SharedKeys) and source.decisive:
        return _score_keys(keys_of_pages(result, method), truth)
    joins = set(joining_relations(method, contained=result.summary["contained"]))
    pairs = {(row["a"], row["b"]) for row in result.pairs() if row["relation"] in joins}
    if isinstance(truth, PairTruth):
        return _score_labelled(truth, [(a, b) in pairs or (b, a) in pairs for a, b in truth.pairs])
    judged = set(truth.judged)
    pairs = {(a, b) for a, b in pairs if a in judged and b in judged}
    correct = sum(truth.articles[a] == truth.articles[b] for a, b in pairs)
    return _score_pairs(truth, correct, len(pairs))


def keys_of_pages(result: Result, method: Method) -> dict[str, Keys]:
    """The keys of each page of a result: the method's, and those that identical pages share."""
    keys: dict[str, Keys] = {}
    ids = [row["id"] for row in result.pages()]
    for numbers, features in read_features(result.folder, method.row_schema):
        own = method.keys(features)
        by_row: list[set[int]] = [set() for _ in range(features.num_rows)]
        for row, key in zip(own["row"].to_pylist(), own["key"].to_pylist(), strict=True):
            by_row[row].add(key)
        for shared in content_keys(features):
            for row_keys, key in zip(by_row, shared.tolist(), strict=True):
                if key:  # 0: a page without text
                    row_keys.add(key)
        pages = (ids[number] for number in numbers.tolist())
        keys.update(zip(pages, map(frozenset, by_row), strict=True))
    return keys


def _score_keys(keys: Mapping[str, Keys], truth: Truth) -> dict[str, Any]:
    """The scores of all pairs of pages that share a key."""
    none: Keys = frozenset()
    if isinstance(truth, PairTruth):
        share = [bool(keys.get(a, none) & keys.get(b, none)) for a, b in truth.pairs]
        return _score_labelled(truth, share)
    # Pages with the same keys are counted together: a mirror of n pages has n * n / 2 pairs.
    alike: dict[Keys, Counter[str]] = {}
    for page in truth.judged:
        if page_keys := keys.get(page):
            alike.setdefault(page_keys, Counter())[truth.articles[page]] += 1
    holders: dict[int, list[Keys]] = {}
    for page_keys in alike:
        for key in page_keys:
            holders.setdefault(key, []).append(page_keys)
    joined = sum(_pairs_within(pages.total()) for pages in alike.values())
    correct = sum(_pairs_within(count) for pages in alike.values() for count in pages.values())
    linked = {frozenset(pair) for group in holders.values() for pair in combinations(group, 2)}
    for one, other in linked:
        ours, theirs = alike[one], alike[other]
        joined += ours.total() * theirs.total()
        correct += sum(count * theirs[article] for article, count in ours.items())
    return _score_pairs(truth, correct, joined)


def _pairs_within(count: int) -> int:
    return count * (count - 1) // 2


def _score_pairs(truth: ClusterTruth, correct: int, joined: int) -> dict[str, Any]:
    sizes = Counter(truth.articles[page] for page in truth.judged)
    true = sum(_pairs_within(size) for size in sizes.values())
    return {**rounded_rates(correct, joined, true), "said_pairs": joined}


def _score_labelled(truth: PairTruth, joined: list[bool]) -> dict[str, Any]:
    correct = sum(each and label for each, label in zip(joined, truth.labels, strict=True))
    return {**rounded_rates(correct, sum(joined), sum(truth.labels)), "said_pairs": sum(joined)}
