"""Curves from the judged pairs of a run."""

from __future__ import annotations

import json
from pathlib import Path

from neardup.evaluation.metrics import curve
from neardup.evaluation.sets import ClusterTruth
from neardup.local.result import Result

TRUTH = ClusterTruth({"a": "1", "b": "1", "c": "2", "d": "2"}, dict.fromkeys("abcd", "original"))


def result(folder: Path, pairs: list[tuple[str, str, str, float | None]]) -> Result:
    def lines(rows: list[dict[str, object]]) -> str:
        return "".join(json.dumps(row) + "\n" for row in rows)

    judged: list[dict[str, object]] = [
        {"a": a, "b": b, "relation": relation, "similarity": similarity, "evidence": {}}
        for a, b, relation, similarity in pairs
    ]
    rejected = [row for row in judged if row["relation"] == "different"]
    accepted = [row for row in judged if row["relation"] != "different"]
    (folder / "clusters.jsonl").write_text(lines([{"id": page} for page in "abcd"]))
    (folder / "pairs.jsonl").write_text(lines(accepted))
    (folder / "rejected.jsonl").write_text(lines(rejected))
    (folder / "summary.json").write_text(json.dumps({"method": "edit-distance"}))
    return Result(folder)


def test_lower_thresholds_join_more(tmp_path: Path) -> None:
    pairs = [("a", "b", "near", 0.9), ("c", "d", "different", 0.6), ("a", "c", "different", 0.3)]
    points = curve(result(tmp_path, list(pairs)), TRUTH)
    assert points is not None
    at = dict(
        zip(
            points["thresholds"],
            zip(points["precision"], points["recall"], strict=True),
            strict=True,
        )
    )
    assert at[1.0] == (1.0, 0.0)
    assert at[0.9] == (1.0, 0.5)
    assert at[0.5] == (1.0, 1.0)
    assert at[0.0] == (0.3333, 1.0)
    assert max(points["f1"]) == 1.0


def test_what_does_not_go_by_similarity_stays(tmp_path: Path) -> None:
    pairs = [
        ("a", "b", "same", 1.0),
        ("a", "c", "contains", 0.9),
        ("c", "d", "near", 0.8),
        ("b", "d", "overlap", 0.2),
        ("b", "c", "near", None),
    ]
    points = curve(result(tmp_path, list(pairs)), TRUTH)
    assert points is not None
    at = dict(
        zip(
            points["thresholds"],
            zip(points["precision"], points["recall"], strict=True),
            strict=True,
        )
    )
    assert at[1.0] == (1.0, 0.5)
    assert at[0.8] == (1.0, 1.0)


def test_no_curve_without_similarities_to_move(tmp_path: Path) -> None:
    assert curve(result(tmp_path, [("a", "b", "same", 1.0)]), TRUTH) is None
    assert curve(result(tmp_path, []), TRUTH) is None
