"""Scores of the pairs that a method's rule joins, against every pair judged one by one."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from neardup.api import compare, dedup
from neardup.evaluation.metrics import score, score_rule
from neardup.evaluation.runs import clusters_of
from neardup.evaluation.sets import ClusterTruth, PairTruth
from neardup.local.result import Result
from neardup.methods.base import Joining
from neardup.methods.registry import make_method

WORDS = [f"word{number:03d}" for number in range(120)]


def chain() -> dict[str, str]:
    """Pages of which each shares most of its text with the next: a rule joins neighbours only."""
    texts = {f"p{start:02d}": " ".join(WORDS[start : start + 60]) for start in range(0, 60, 4)}
    return {**texts, "copy": texts["p00"], "excerpt": texts["p08"], "other": "nothing " * 60}


ARTICLES = {page: page[:2] for page in chain()}
TRUTH = ClusterTruth(ARTICLES, {page: "excerpt" if page == "excerpt" else "" for page in ARTICLES})


def run(folder: Path, method: str, **options: object) -> Result:
    for page, text in chain().items():
        (folder / page).with_suffix(".txt").write_text(f"{text}.\n", encoding="utf-8")
    return dedup(str(folder), folder.parent / "result", method=method, options=options)


def plain_scores(method: str, options: dict[str, Any], folder: Path) -> tuple[int, int]:
    """True pairs among those said, and those said: every pair judged on its own."""
    pages = [page for page in ARTICLES if page != "excerpt"]
    said = [
        (a, b)
        for a, b in combinations(pages, 2)
        if compare(
            folder / f"{a}.txt", folder / f"{b}.txt", method=method, options=options
        ).relation
        in ("same", "near")
    ]
    return sum(ARTICLES[a] == ARTICLES[b] for a, b in said), len(said)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("supershingle", {"common": 1, "samples": 1}),  # a shared key is the verdict
        ("exact", {}),
        ("chunk-hash", {"chunk": "word", "threshold": 0.8}),  # every pair of a key is judged
    ],
)
def test_all_pairs_that_the_rule_joins_are_counted(
    method: str, options: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "pages").mkdir()
    result = run(tmp_path / "pages", method, **options)
    truth = ClusterTruth(
        {f"{page}.txt": article for page, article in ARTICLES.items()},
        {f"{page}.txt": kind for page, kind in TRUTH.kinds.items()},
    )
    found, said = plain_scores(method, options, tmp_path / "pages")
    scores = score_rule(result, truth)
    assert scores is not None
    assert scores["said_pairs"] == said
    assert scores["precision"] == round(found / said, 4)
    listed = [(f"{a}.txt", f"{b}.txt") for a, b in combinations(ARTICLES, 2)]
    labels = [truth.articles[a] == truth.articles[b] for a, b in listed]
    by_pairs = score_rule(result, PairTruth(listed, labels))
    assert by_pairs is not None
    assert by_pairs["said_pairs"] >= said  # those with the excerpt, too
    together = score(truth, clusters_of(result))
    if method != "exact":  # the chain is one cluster, and the rule says less than that
        assert together["said_pairs"] > said


def test_pages_placed_in_order_have_no_pairs(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    result = run(tmp_path / "pages", "news-clusters")
    assert score_rule(result, TRUTH) is None


def test_a_repository_says_fewer_pairs_than_its_rule(tmp_path: Path) -> None:
    """The rule's pairs are those before clustering, also where pages join kept pages only."""
    (tmp_path / "pages").mkdir()
    options = {"joining": "repository", "minimum_share": 0.0, "minimum_words": 1}
    assert make_method("word-table", options).joining is Joining.REPOSITORY
    result = run(tmp_path / "pages", "word-table", **options)
    truth = ClusterTruth(
        {f"{page}.txt": article for page, article in ARTICLES.items()},
        {f"{page}.txt": "" for page in ARTICLES},
    )
    rule = score_rule(result, truth)
    assert rule is not None
    assert rule["said_pairs"] == len(list(combinations(ARTICLES, 2))) - len(ARTICLES) + 1
