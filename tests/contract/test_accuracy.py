"""`own-text` at its default setting on the six labelled sets, counted as their scorer counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from neardup.api import dedup
from neardup.evaluation.metrics import score
from neardup.evaluation.runs import clusters_of
from neardup.evaluation.sets import ClusterTruth, read_set
from neardup.local.result import Result

PRECISION = 0.99
F1 = {
    "reprints-en": 0.99,
    "reprints-zh": 0.995,
    "versions-en": 0.995,
    "versions-zh": 0.985,
    "copies-en": 0.99,
    "copies-zh": 0.99,
}
EXCERPTS = 0.9  # of them, those that must be told to be contained in their article
REPRINTS = ["reprints-en", "reprints-zh"]  # only these have excerpts and half-and-half pages

Run = tuple[ClusterTruth, Result]


@pytest.fixture(scope="module")
def run(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    """The truth about a set, and what was found in it; run once, however often asked for."""

    @cache
    def run_on(name: str) -> Run:
        labelled = read_set(shared_data / name)
        assert isinstance(labelled.truth, ClusterTruth)
        out = tmp_path_factory.mktemp("accuracy") / name
        return labelled.truth, dedup(str(labelled.pages), out, method="own-text")

    return run_on


@pytest.mark.parametrize("name", F1)
def test_pairs_are_right_and_found(name: str, run: Callable[[str], Run]) -> None:
    truth, result = run(name)
    scores = score(truth, clusters_of(result))
    assert scores["precision"] >= PRECISION
    assert scores["f1"] >= F1[name]


@pytest.mark.parametrize("name", REPRINTS)
def test_excerpts_are_contained_in_their_article(name: str, run: Callable[[str], Run]) -> None:
    truth, result = run(name)
    judged = chain(result.pairs(), result.rejected())
    relations = {(pair["a"], pair["b"]): pair["relation"] for pair in judged}
    excerpts = _excerpts(truth)
    told = [
        relations.get((excerpt, original)) == "contained"
        or relations.get((original, excerpt)) == "contains"
        for excerpt, original in excerpts
    ]
    assert len(told) > 30
    assert sum(told) >= EXCERPTS * len(told)


@pytest.mark.parametrize("name", REPRINTS)
def test_no_page_in_between_joins_two_articles(name: str, run: Callable[[str], Run]) -> None:
    """A cluster that holds a half-and-half page or an excerpt holds one article beside it."""
    truth, result = run(name)
    judged = set(truth.judged)
    for cluster in result.clusters():
        members = set(cluster.members)
        if members - judged:
            assert len({truth.articles[page] for page in members & judged}) <= 1


def _excerpts(truth: ClusterTruth) -> list[tuple[str, str]]:
    """Each excerpt with the original of its article."""
    original = {
        truth.articles[page]: page for page, kind in truth.kinds.items() if kind == "original"
    }
    return [
        (page, original[truth.articles[page]])
        for page, kind in truth.kinds.items()
        if kind == "excerpt" and truth.articles[page] in original
    ]
