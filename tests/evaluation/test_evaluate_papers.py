"""The papers' experiments: what is claimed, and ours set beside it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from neardup.errors import UsageError
from neardup.evaluation.papers import EXPERIMENTS, _falls_short, _mean, cells, reproduce
from neardup.evaluation.runs import Contender


def test_the_experiments_have_the_papers_sizes_and_known_methods() -> None:
    sizes = {name: {trial.pages for trial in each.trials} for name, each in EXPERIMENTS.items()}
    assert sizes["edit-distance"] == {998}
    assert sizes["two-phase"] == {50, 45, 35}
    assert sizes["news-clusters"] == {20_000, 928_518 + 1_545}
    few, *_, many = EXPERIMENTS["news-clusters"].trials
    assert few.reprints is not None
    assert round(few.pages * few.reprints) == 1_545
    assert round(many.pages * EXPERIMENTS["news-clusters"].reprints) == 1_545
    assert sizes["word-table"] == {100}
    assert sizes["feature-code"] == {100, 500, 1000, 1500, 2000, 3000, 4000, 5000}
    inputs = [trial.input for trial in EXPERIMENTS["edit-distance"].trials]
    assert inputs == ["pages", "texts", "pages without template stops"]
    for experiment in EXPERIMENTS.values():
        for name in experiment.contenders:
            assert Contender.named(name).name == name


def test_repeats_are_averaged_and_an_error_is_passed_on() -> None:
    repeats = [
        {"precision": 0.5, "recall_by_kind": {"mirror": 1.0}},
        {"precision": 1.0, "rule_precision": 0.2, "recall_by_kind": {"mirror": 0.5, "late": 0.1}},
    ]
    assert _mean(repeats) == {
        "precision": 0.75,
        "rule_precision": 0.2,
        "recall_by_kind": {"mirror": 0.75, "late": 0.1},
    }
    assert _mean([repeats[0], {"error": "no"}]) == {"error": "no"}


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
    contenders = EXPERIMENTS["word-table"].contenders
    assert [(row["method"], row["pages"], row["texts"]) for row in rows] == [
        (name, 30, texts) for texts in (False, True) for name in contenders
    ]
    assert "rule_precision" in rows[0]["measured"]
    assert rows[0]["claimed"] == {"precision": 0.92}
    assert all(bool(row["why"]) == bool(row["short_of"]) for row in rows)
    assert cells(rows[0])[:3] == ["word-table:paper", "30", "pages"]
    assert cells(rows[0])[6].endswith("(0.92)")
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
