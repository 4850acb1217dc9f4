"""Scores: against scikit-learn, against plain loops, and against the labelled sets' own scorer."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import pair_confusion_matrix

from neardup.errors import InputError
from neardup.evaluation.metrics import (
    Counts,
    by_language,
    count,
    intervals,
    number_labels,
    rates,
    redraw,
    score,
)
from neardup.evaluation.sets import LEFT_OUT, ClusterTruth, PairTruth

SCORER = Path(__file__).parents[3] / "shared" / "tools" / "score.py"
KINDS = ["original", "mirror", "edited", "excerpt", "partial", "", "edited+late"]

pages = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from(KINDS), st.integers(0, 5) | st.none()),
    min_size=1,
    max_size=24,
)


def labelled(rows: list[tuple[int, str, int | None]]) -> tuple[ClusterTruth, dict[str, str]]:
    truth = ClusterTruth(
        {f"p{n}": f"a{article}" for n, (article, _, _) in enumerate(rows)},
        {f"p{n}": kind for n, (_, kind, _) in enumerate(rows)},
    )
    clusters = {f"p{n}": f"c{c}" for n, (_, _, c) in enumerate(rows) if c is not None}
    return truth, clusters


def plain_scores(truth: ClusterTruth, clusters: dict[str, str]) -> dict[str, Any]:
    """Every pair looked at."""
    judged = [page for page in truth.articles if truth.kinds[page] not in LEFT_OUT]
    found = said = true = 0
    kinds: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    false: Counter[str] = Counter()
    for a, b in combinations(judged, 2):
        is_true = truth.articles[a] == truth.articles[b]
        is_said = a in clusters and clusters.get(a) == clusters.get(b)
        found, said, true = found + (is_true and is_said), said + is_said, true + is_true
        named = {each for page in (a, b) for each in (truth.kinds[page] or "original").split("+")}
        if is_said and not is_true:
            false.update(named)
        if is_true:
            for kind in named - {"original"} or {"original"}:
                kinds[kind] += 1
                hits[kind] += is_said
    precision = found / said if said else 1.0
    recall = found / true if true else 1.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {
        "precision": round(precision, 4),
        "recall": round(recall, 4),
        "f1": round(f1, 4),
        "true_pairs": true,
        "said_pairs": said,
        "recall_by_kind": {kind: round(hits[kind] / kinds[kind], 3) for kind in sorted(kinds)},
        "false_pairs_by_kind": dict(sorted(false.items())),
    }


@given(pages)
def test_pairwise_scores_are_those_of_plain_loops(
    rows: list[tuple[int, str, int | None]],
) -> None:
    truth, clusters = labelled(rows)
    scores = score(truth, clusters)
    expected = plain_scores(truth, clusters)
    assert {name: scores[name] for name in expected} == expected


@given(pages)
def test_pair_counts_and_rand_index_are_those_of_scikit_learn(
    rows: list[tuple[int, str, int | None]],
) -> None:
    truth, clusters = labelled([row for row in rows if row[1] not in LEFT_OUT])
    if not truth.articles:
        return
    labels = number_labels(truth, clusters)
    correct, joined, true = count(truth, clusters).sum(axis=0)
    (_, false), (missed, found) = pair_confusion_matrix(labels.articles, labels.clusters)
    assert correct == found / 2
    assert joined == pytest.approx((found + false) / 2)
    assert true == (found + missed) / 2
    expected = adjusted_rand_score(labels.articles, labels.clusters)
    assert score(truth, clusters)["adjusted_rand"] == pytest.approx(expected, abs=1e-4)


@given(pages)
def test_b_cubed_page_by_page(rows: list[tuple[int, str, int | None]]) -> None:
    truth, clusters = labelled([row for row in rows if row[1] not in LEFT_OUT])
    if not truth.articles:
        return
    labels = number_labels(truth, clusters)
    precision, recall = [], []
    for page in range(labels.articles.size):
        cluster = labels.clusters == labels.clusters[page]
        article = labels.articles == labels.articles[page]
        precision.append((cluster & article).sum() / cluster.sum())
        recall.append((cluster & article).sum() / article.sum())
    found = score(truth, clusters)["b_cubed"]
    assert found["precision"] == pytest.approx(np.mean(precision), abs=1e-4)
    assert found["recall"] == pytest.approx(np.mean(recall), abs=1e-4)


@given(pages)
def test_dropped_pages_one_after_another(rows: list[tuple[int, str, int | None]]) -> None:
    truth, clusters = labelled([row for row in rows if row[1] not in LEFT_OUT])
    labels = number_labels(truth, clusters)
    kept: dict[int, set[int]] = {}  # by cluster, the articles of pages seen
    dropped = right = 0
    for article, cluster in zip(labels.articles.tolist(), labels.clusters.tolist(), strict=True):
        dropped += cluster in kept
        right += article in kept.setdefault(cluster, set())
        kept[cluster].add(article)
    to_drop = len(truth.articles) - len(set(truth.articles.values()))
    found = score(truth, clusters)["by_page"]
    assert found["precision"] == pytest.approx(right / dropped if dropped else 1.0, abs=1e-4)
    assert found["recall"] == pytest.approx(right / to_drop if to_drop else 1.0, abs=1e-4)
    wrong = (dropped - right) + (to_drop - right)
    assert found["accuracy"] == pytest.approx(1 - wrong / max(len(truth.articles), 1), abs=1e-4)


@pytest.mark.skipif(not SCORER.is_file(), reason="the labelled sets' scorer is not here")
def test_the_scorer_of_the_labelled_sets_says_the_same(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    rows = [
        (int(random.integers(40)), str(random.choice(KINDS[:5])), int(random.integers(40)))
        for _ in range(300)
    ]
    rows[:120] = [(article, kind, article) for article, kind, _ in rows[:120]]
    truth, clusters = labelled(list(rows))
    with (tmp_path / "truth.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "article", "kind"])
        writer.writerows([p, truth.articles[p], truth.kinds[p]] for p in truth.articles)
    lines = [json.dumps({"id": page, "cluster": name}) for page, name in clusters.items()]
    (tmp_path / "clusters.jsonl").write_text("\n".join(lines))
    command = [sys.executable, str(SCORER), str(tmp_path / "truth.csv")]
    command.append(str(tmp_path / "clusters.jsonl"))
    said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    scores = score(truth, clusters)
    assert {name: scores[name] for name in said} == said


def test_pages_the_truth_does_not_know_are_an_error() -> None:
    truth, clusters = labelled([(0, "original", 0)])
    with pytest.raises(InputError, match="1 pages are not in the truth, such as 'x'"):
        score(truth, {**clusters, "x": "c"})


def test_labelled_pairs_are_scored_by_what_is_together() -> None:
    truth = PairTruth([("a", "b"), ("a", "c"), ("c", "d"), ("d", "e")], [True, True, False, False])
    scores = score(truth, {"a": "1", "b": "1", "c": "2", "d": "2", "other": "1"})
    assert scores["precision"] == 0.5
    assert scores["recall"] == 0.5
    assert scores["true_pairs"] == 2
    assert scores["said_pairs"] == 2
    assert scores["labelled_pairs"] == 4
    assert "b_cubed" not in scores


def test_nothing_said_is_no_mistake() -> None:
    precision, recall, f1 = rates(0, 0, 5)
    assert (precision, recall, f1) == (1, 0, 0)


def test_intervals_hold_the_score_and_narrow_with_more_articles() -> None:
    random = np.random.default_rng(1)

    def counts(articles: int) -> Counts:
        true = random.integers(1, 4, articles).astype(float)
        found = np.where(random.random(articles) < 0.8, true, 0)
        return np.column_stack([found, found + (random.random(articles) < 0.1), true])

    few, many = intervals(counts(30)), intervals(counts(3000))
    for name, value in (("recall", 0.8), ("precision", 0.94)):
        low, high = many[name]
        assert low - 0.03 < value < high + 0.03
        assert high - low < (few[name][1] - few[name][0]) / 3


def test_redraws_of_equal_units_are_always_the_same() -> None:
    assert (redraw(np.ones((7, 2))) == 7).all()
    assert redraw(np.arange(20.0)[:, None]).std() > 0


def test_languages_count_the_pairs_that_involve_them() -> None:
    articles = {"a": "1", "b": "1", "c": "1", "d": "2"}
    truth = ClusterTruth(articles, dict.fromkeys(articles, ""))
    languages = {"a": "en", "b": "en", "c": "zh"}
    scores = by_language(truth, {"a": "x", "b": "x", "c": "y", "d": "x"}, languages)
    assert {name: each["true_pairs"] for name, each in scores.items()} == {
        "en": 3,
        "unknown": 0,
        "zh": 2,
    }
    assert scores["en"]["recall"] == pytest.approx(1 / 3, abs=1e-4)
    assert scores["en"]["precision"] == pytest.approx(1 / 3, abs=1e-4)
    assert scores["zh"]["recall"] == 0.0
    assert scores["unknown"]["precision"] == 0.0


def test_labelled_pairs_have_kinds_and_languages_too() -> None:
    pairs = [("a", "b"), ("a", "c"), ("c", "d")]
    truth = PairTruth(pairs, [True, True, False], kinds=["edited", "edited", "form"])
    clusters = {"a": "x", "b": "x", "c": "y", "d": "y"}
    scores = score(truth, clusters)
    assert scores["recall_by_kind"] == {"edited": 0.5}
    assert scores["false_pairs_by_kind"] == {"form": 1}
    languages = {"a": "en", "b": "en", "c": "zh", "d": "zh"}
    spoken = by_language(truth, clusters, languages)
    assert spoken["en"]["recall"] == 0.5
    assert spoken["zh"]["precision"] == 0.0
