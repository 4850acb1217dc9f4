"""The papers' experiments: what is claimed, and ours set beside it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from neardup.errors import UsageError
from neardup.evaluation.papers import EXPERIMENTS, _falls_short, cells, reproduce
from neardup.evaluation.runs import Contender


def test_the_experiments_have_the_papers_sizes_and_known_methods() -> None:
    sizes = {name: {trial.pages for trial in each.trials} for name, each in EXPERIMENTS.items()}
    assert sizes["edit-distance"] == {998}
    assert sizes["two-phase"] == {50, 45, 35}
    assert sizes["news-clusters"] == {928_518 + 1_545}
    assert sizes["word-table"] == {100}
    assert sizes["feature-code"] == {100, 500, 1000, 1500, 2000, 3000, 4000, 5000}
    inputs = [trial.input for trial in EXPERIMENTS["edit-distance"].trials]
    assert inputs == ["pages", "texts", "pages without template stops"]
    for experiment in EXPERIMENTS.values():
        for name in experiment.contenders:
            assert Contender.named(name).name == name


def test_a_contender_for_templates_is_left_out_on_texts() -> None:
    news = EXPERIMENTS["news-clusters"]
    pages, texts = news.trials
    assert set(news.contending(pages)) - set(news.contending(texts)) == set(news.pages_only)
    assert set(news.pages_only) < set(news.contenders)


def test_less_precision_and_more_seconds_fall_short() -> None:
    ours = {"precision": 0.9, "total_seconds": 2.0}
    assert _falls_short("precision", 0.95, ours)
    assert not _falls_short("precision", 0.9, ours)
    assert _falls_short("total_seconds", 1.0, ours)
    assert not _falls_short("total_seconds", 3.0, ours)
    assert _falls_short("recall", 0.1, {"error": "no"})


@pytest.mark.slow
def test_an_experiment_is_run_and_set_beside_the_paper(tmp_path: Path) -> None:
    (tmp_path / ".papers" / "left").mkdir(parents=True)  # by a run that was killed
    rows = reproduce(["word-table"], tmp_path, fraction=0.3)
    assert [(row["method"], row["pages"], row["texts"]) for row in rows] == [
        ("word-table:paper", 30, False),
        ("word-table", 30, False),
        ("word-table:paper", 30, True),
        ("word-table", 30, True),
    ]
    assert rows[0]["claimed"] == {"precision": 0.92}
    assert all(bool(row["why"]) == bool(row["short_of"]) for row in rows)
    assert cells(rows[0])[:3] == ["word-table:paper", "30", "pages"]
    assert cells(rows[0])[5].endswith("(0.92)")
    report = json.loads((tmp_path / "papers.json").read_text())
    assert report["results"] == rows
    assert re.search(r"\d cores, \d+ GiB", report["machine"])
    page = (tmp_path / "papers.html").read_text()
    assert "Santha Sheela &amp; Jaya Kumar" in page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["papers.html", "papers.json"]


def test_bad_requests_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no paper's experiment for 'exact'"):
        reproduce(["exact"], tmp_path)
    with pytest.raises(UsageError, match="--fraction must be above 0"):
        reproduce(None, tmp_path, fraction=0)
