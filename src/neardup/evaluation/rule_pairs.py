"""Scores of the pairs that a method's own rule joins, before they become clusters.

Clustering joins what no rule has joined: two pages that are both close to a third. So these scores
say what the rule does, and those of the clusters what a run does with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from typing import Any

from neardup.evaluation.metrics import rates, rounded_rates
from neardup.evaluation.sets import ClusterTruth, PairTruth, Truth
from neardup.local.pipeline import joining_relations
from neardup.local.prior import method_of, read_features
from neardup.local.result import Result
from neardup.methods.base import InOrder, Method, SharedKeys
from neardup.methods.identical import content_keys

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
