"""Scores of a clustering against the truth, and their curve over similarity thresholds.

Pairs are counted by unit, which is an article or a labelled pair. Precision is found / said and
recall found / true, summed over units. A false pair belongs to two articles and counts half for
each, so the sums over all units are the plain pair counts, and whole units can be resampled
(bootstrap) or left out (cross-validation).

`score_rule` scores the pairs that a method's own rule joins, before they become clusters;
clustering also joins two pages that are both close to a third.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.arrays import Mask
from neardup.errors import InputError
from neardup.evaluation.sets import ClusterTruth, PairTruth, Truth
from neardup.kernels.grouping import connected_components
from neardup.local.pipeline import BY_SIMILARITY, joining_relations
from neardup.local.prior import method_of, read_features
from neardup.local.result import Result
from neardup.methods.base import InOrder, Method, SharedKeys
from neardup.methods.identical import content_keys
from neardup.methods.registry import method_class

REDRAWS = 1000  # bootstrap samples
STEPS = 41  # thresholds of a curve

Numbers = NDArray[np.int64]
Amounts = NDArray[np.float64]


@dataclass(frozen=True)
class Counts:
    """Pairs by unit: `said` share a cluster, `true` are duplicates, `found` are both."""

    found: Amounts
    said: Amounts
    true: Amounts


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
    placed = _numbers([clusters.get(page, "") for page in judged])
    absent = np.array([page not in clusters for page in judged], bool)
    placed[absent] = placed.max(initial=0) + 1 + np.arange(absent.sum())
    kinds = np.array([truth.kinds[page] or "original" for page in judged], object)
    return Labels(articles, placed, kinds)


def _numbers(names: list[str]) -> Numbers:
    known: dict[str, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], np.int64)


def count(truth: Truth, clusters: Mapping[str, str]) -> Counts:
    """The pair counts of a clustering (page to cluster), by unit of the truth."""
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
    """Pair counts by article."""
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
    """The combinations that occur, and the size of each."""
    width = int(right.max(initial=0)) + 1
    codes, sizes = np.unique(left * width + right, return_counts=True)
    return (codes // width, codes % width), sizes


def pairs_of(sizes: Numbers) -> Amounts:
    """The number of pairs in groups of these sizes."""
    pairs: Amounts = sizes * (sizes - 1) / 2.0
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
    placed = [clusters[page] for page in truth.judged if page in clusters]
    return {
        **scores,
        "recall_by_kind": recall_by_kind(labels),
        "false_pairs_by_kind": false_pairs_by_kind(labels),
        "by_page": by_page(labels),
        "b_cubed": b_cubed(labels),
        "adjusted_rand": round(adjusted_rand(labels), 4),
        "largest_cluster": max(Counter(placed).values(), default=0),
    }


def pairwise(counts: Counts) -> dict[str, Any]:
    """Precision, recall and F1 over pairs."""
    found, said, true = (float(each.sum()) for each in (counts.found, counts.said, counts.true))
    scores = rounded_rates(*rates(found, said, true))
    return {**scores, "true_pairs": round(true), "said_pairs": round(said)}


def rounded_rates(precision: float, recall: float, f1: float) -> dict[str, float]:
    scores = {"precision": precision, "recall": recall, "f1": f1}
    return {name: round(float(score), 4) for name, score in scores.items()}


def rates(found: Any, said: Any, true: Any) -> tuple[Any, Any, Any]:
    """Precision, recall and F1, element by element. Without a pair said, precision is 1."""
    found, said, true = (np.asarray(each, float) for each in (found, said, true))
    precision = np.divide(found, said, out=np.ones_like(found), where=said > 0)
    recall = np.divide(found, true, out=np.ones_like(found), where=true > 0)
    both = precision + recall
    f1 = np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both > 0)
    return precision, recall, f1


def intervals(counts: Counts, seed: int = 0) -> dict[str, list[float]]:
    """95 % bootstrap intervals of precision, recall and F1 over units."""
    if not counts.true.size:
        return {}
    drawn = rates(*redraw(np.stack([counts.found, counts.said, counts.true], axis=1), seed).T)
    return {
        name: [round(float(bound), 4) for bound in np.percentile(values, [2.5, 97.5])]
        for name, values in zip(("precision", "recall", "f1"), drawn, strict=True)
    }


def redraw(units: Amounts, seed: int = 0) -> Amounts:
    """Column sums of REDRAWS bootstrap samples of the units.

    Units with equal counts are drawn together, so the cost does not grow with the set.
    """
    kinds, sizes = np.unique(units, axis=0, return_counts=True)
    random = np.random.default_rng(seed)
    times = random.multinomial(len(units), sizes / len(units), REDRAWS)
    sums: Amounts = times @ kinds
    return sums


def recall_by_kind(labels: Labels) -> dict[str, float]:
    """Recall over the true pairs that involve each kind of copy.

    A pair of two originals counts for `original`; any other counts for its other kinds. A page of
    kind `edited+late` is of both.
    """
    together = _together_numbers(labels)
    recalls = {}
    for kind, of_kind in _by_kind(labels):
        only = kind == "original"
        if true := _pairs_with(labels.articles, of_kind, only=only):
            recalls[kind] = round(_pairs_with(together, of_kind, only=only) / true, 3)
    return recalls


def false_pairs_by_kind(labels: Labels) -> dict[str, int]:
    """The number of false pairs that involve each kind, where there are any."""
    together = _together_numbers(labels)
    counts = {
        kind: _pairs_with(labels.clusters, of_kind, only=False)
        - _pairs_with(together, of_kind, only=False)
        for kind, of_kind in _by_kind(labels)
    }
    return {kind: count for kind, count in counts.items() if count}


def _pairs_by_kind(truth: PairTruth, counts: Counts) -> dict[str, dict[str, float]]:
    """Recall and false pairs by kind, of labelled pairs that have kinds."""
    recalls: dict[str, float] = {}
    false: dict[str, float] = {}
    kinds = np.array(truth.kinds, object)
    for kind in sorted(filter(None, set(truth.kinds))):
        found, said, true = (
            int(each[kinds == kind].sum()) for each in (counts.found, counts.said, counts.true)
        )
        if true:
            recalls[kind] = round(found / true, 3)
        if said > found:
            false[kind] = said - found
    return {"recall_by_kind": recalls, "false_pairs_by_kind": false} if recalls or false else {}


def by_language(
    truth: Truth, clusters: Mapping[str, str], languages: Mapping[str, str]
) -> dict[str, dict[str, float]]:
    """Precision, recall and F1 over the pairs that involve a page in each language."""
    if isinstance(truth, PairTruth):
        counts = count(truth, clusters)
        spoken = [{languages.get(page, "unknown") for page in pair} for pair in truth.pairs]
        return {
            name: _language_scores(counts.found[of], counts.said[of], counts.true[of])
            for name in sorted(set().union(*spoken))
            if (of := np.array([name in each for each in spoken], bool)).any()
        }
    labels = number_labels(truth, clusters)
    together = _together_numbers(labels)
    of_page = np.array([languages.get(page, "unknown") for page in truth.judged], object)
    scores = {}
    for name in sorted(set(of_page.tolist())):
        pairs = [
            np.array(_pairs_with(groups, of_page == name, only=False))
            for groups in (together, labels.clusters, labels.articles)
        ]
        scores[name] = _language_scores(*pairs)
    return scores


def _language_scores(found: Any, said: Any, true: Any) -> dict[str, float]:
    rated = rounded_rates(*rates(found.sum(), said.sum(), true.sum()))
    return {**rated, "true_pairs": round(float(true.sum()))}


def _together_numbers(labels: Labels) -> Numbers:
    """A number for each combination of article and cluster."""
    width = int(labels.clusters.max(initial=0)) + 1
    together: Numbers = np.unique(labels.articles * width + labels.clusters, return_inverse=True)[1]
    return together


def _by_kind(labels: Labels) -> Iterator[tuple[str, Mask]]:
    """Each kind, and which pages are of it."""
    listed = labels.kinds.tolist()
    split = [set(kind.split("+")) for kind in dict.fromkeys(listed)]
    numbers = _numbers(listed)
    for single in sorted(set().union(*split)):
        yield single, np.array([single in kinds for kinds in split], bool)[numbers]


def _pairs_with(groups: Numbers, of_kind: Mask, *, only: bool) -> int:
    """Pairs within a group with at least one page of the kind; with `only`, both pages."""
    inside = np.bincount(groups[of_kind], minlength=int(groups.max(initial=0)) + 1)
    if only:
        return int(pairs_of(inside).sum())
    sizes = np.bincount(groups, minlength=inside.size)
    return int((pairs_of(sizes) - pairs_of(sizes - inside)).sum())


def by_page(labels: Labels) -> dict[str, float]:
    """Precision and recall over the pages that would be dropped, all of a cluster but one.

    A dropped page is right if the cluster keeps another page of its article; all pages beyond the
    first of each article should be dropped. Some papers count this way; it equals the MUC score.
    Accuracy is the share of all pages that are dropped rightly or kept rightly.
    """
    (article, cluster), _ = cells(labels.articles, labels.clusters)
    pages, kept_rightly = labels.articles.size, article.size
    right, dropped = pages - kept_rightly, pages - np.unique(cluster).size
    to_drop = pages - np.unique(article).size
    wrong = dropped + to_drop - 2 * right  # dropped wrongly, and kept wrongly
    scores = rounded_rates(*rates(right, dropped, to_drop))
    return {**scores, "accuracy": round(1 - wrong / max(pages, 1), 4)}


def b_cubed(labels: Labels) -> dict[str, float]:
    """B-cubed: precision over each page's cluster and recall over its article, averaged."""
    (article, cluster), sizes = cells(labels.articles, labels.clusters)
    pages = max(labels.articles.size, 1)
    of_article, of_cluster = np.bincount(labels.articles), np.bincount(labels.clusters)
    precision = float((sizes**2 / of_cluster[cluster]).sum() / pages)
    recall = float((sizes**2 / of_article[article]).sum() / pages)
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return rounded_rates(precision, recall, f1)


def adjusted_rand(labels: Labels) -> float:
    """The adjusted Rand index: 0 for chance, 1 for a perfect clustering."""
    counts = count_labels(labels)
    found, said, true = (float(each.sum()) for each in (counts.found, counts.said, counts.true))
    everything = float(pairs_of(np.array([labels.articles.size])).sum())
    if said == true == found or not everything:
        return 1.0
    expected = said * true / everything
    return (found - expected) / ((said + true) / 2 - expected)


@dataclass(frozen=True)
class Curve:
    """Precision, recall and F1 at thresholds from low to high."""

    thresholds: list[float]
    precision: list[float]
    recall: list[float]
    f1: list[float]


@dataclass(frozen=True)
class _Judged:
    left: Numbers
    right: Numbers
    similarity: Amounts
    always: Mask  # joined at any threshold
    by_similarity: Mask

    def joined(self, threshold: float) -> Mask:
        near = self.by_similarity & (self.similarity >= threshold)
        return self.always | near


def curve(result: Result, truth: Truth) -> Curve | None:
    """The curve of a run, from its judged pairs; None if no similarity could move a verdict.

    As in `recluster`, verdicts by similarity (near, overlap, different) are decided again at each
    threshold, and the others stay. Only candidate pairs can join, so far below the method's own
    threshold the curve understates what a run would find.
    """
    ids = [row["id"] for row in result.pages()]
    judged = _judged(result, {page: number for number, page in enumerate(ids)})
    measured = judged.similarity[judged.by_similarity]
    if np.unique(measured[measured >= 0]).size < 2:
        return None
    thresholds = np.unique(np.linspace(0, 1, STEPS).round(4))
    points = [_point(truth, ids, judged, float(each)) for each in thresholds]
    columns = [[round(value, 4) for value in column] for column in zip(*points, strict=True)]
    return Curve(thresholds.tolist(), *columns)


def _point(
    truth: Truth, ids: list[str], judged: _Judged, threshold: float
) -> tuple[float, float, float]:
    joined = judged.joined(threshold)
    labels = connected_components(len(ids), judged.left[joined], judged.right[joined])
    clusters: Mapping[str, str] = dict(zip(ids, map(str, labels.tolist()), strict=True))
    counts = count(truth, clusters)
    sums = rates(counts.found.sum(), counts.said.sum(), counts.true.sum())
    return float(sums[0]), float(sums[1]), float(sums[2])


def _judged(result: Result, numbers: Mapping[str, int]) -> _Judged:
    joins = {str(relation) for relation in method_class(result.summary["method"]).joins}
    left, right, similarity, always, movable = [], [], [], [], []
    for row in chain(result.pairs(), result.rejected()):
        moves = row["relation"] in BY_SIMILARITY
        left.append(numbers[row["a"]])
        right.append(numbers[row["b"]])
        similarity.append(-1.0 if row["similarity"] is None else row["similarity"])  # never near
        always.append(not moves and row["relation"] in joins)
        movable.append(moves)
    return _Judged(
        np.array(left, np.int64),
        np.array(right, np.int64),
        np.array(similarity, float),
        np.array(always, bool),
        np.array(movable, bool),
    )


Keys = frozenset[int]


def score_rule(result: Result, truth: Truth) -> dict[str, Any] | None:
    """Precision, recall and F1 of the pairs that the method's rule joins, before clustering.

    Where a shared key is the verdict, all pairs of each key: a result holds only as many as connect
    its clusters. None for methods that place pages in order, which have no pairs.
    """
    method = method_of(result.summary)
    source = method.candidate_source
    if isinstance(source, InOrder):
        return None
    if isinstance(source, SharedKeys) and source.decisive:
        return _score_keys(keys_of_pages(result, method), truth)
    joins = set(joining_relations(method, contained=result.summary["contained"]))
    said = {(row["a"], row["b"]) for row in result.pairs() if row["relation"] in joins}
    if isinstance(truth, PairTruth):
        return _score_labelled(truth, [(a, b) in said or (b, a) in said for a, b in truth.pairs])
    judged = set(truth.judged)
    said = {(a, b) for a, b in said if a in judged and b in judged}
    found = sum(truth.articles[a] == truth.articles[b] for a, b in said)
    return _pair_scores(found, len(said), _true_pairs(truth))


def keys_of_pages(result: Result, method: Method) -> dict[str, Keys]:
    """The keys of each page of a result: those of the method, and what identical pages share."""
    keys: dict[str, Keys] = {}
    ids = (row["id"] for row in result.pages())
    for features in read_features(result.folder, method.row_schema):
        own = method.keys(features)
        by_row: list[set[int]] = [set() for _ in range(features.num_rows)]
        for row, key in zip(own["row"].to_pylist(), own["key"].to_pylist(), strict=True):
            by_row[row].add(key)
        for shared in content_keys(features):
            for found, key in zip(by_row, shared.tolist(), strict=True):
                if key:  # 0: a page without text
                    found.add(key)
        keys.update(zip(ids, map(frozenset, by_row), strict=False))
    return keys


def _score_keys(keys: Mapping[str, Keys], truth: Truth) -> dict[str, Any]:
    """The scores of all pairs of pages that share a key."""
    none: Keys = frozenset()
    if isinstance(truth, PairTruth):
        is_said = [bool(keys.get(a, none) & keys.get(b, none)) for a, b in truth.pairs]
        return _score_labelled(truth, is_said)
    # Pages with the same keys are counted together: a mirror of n pages has n * n / 2 pairs.
    alike: dict[Keys, Counter[str]] = {}
    for page in truth.judged:
        if held := keys.get(page):
            alike.setdefault(held, Counter())[truth.articles[page]] += 1
    holders: dict[int, list[Keys]] = {}
    for held in alike:
        for key in held:
            holders.setdefault(key, []).append(held)
    said = sum(_pairs_within(pages.total()) for pages in alike.values())
    found = sum(_pairs_within(count) for pages in alike.values() for count in pages.values())
    linked = {frozenset(pair) for group in holders.values() for pair in combinations(group, 2)}
    for one, other in linked:
        ours, theirs = alike[one], alike[other]
        said += ours.total() * theirs.total()
        found += sum(count * theirs[article] for article, count in ours.items())
    return _pair_scores(found, said, _true_pairs(truth))


def _pairs_within(count: int) -> int:
    return count * (count - 1) // 2


def _true_pairs(truth: ClusterTruth) -> int:
    sizes = Counter(truth.articles[page] for page in truth.judged)
    return sum(_pairs_within(size) for size in sizes.values())


def _score_labelled(truth: PairTruth, is_said: list[bool]) -> dict[str, Any]:
    found = sum(each and label for each, label in zip(is_said, truth.labels, strict=True))
    return _pair_scores(found, sum(is_said), sum(truth.labels))


def _pair_scores(found: int, said: int, true: int) -> dict[str, Any]:
    return {**rounded_rates(*rates(found, said, true)), "said_pairs": said}
