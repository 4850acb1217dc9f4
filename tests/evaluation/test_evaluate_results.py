"""An evaluation as files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from neardup.evaluation.charts import draw_charts
from neardup.evaluation.runs import Evaluation, write_page, write_tables

CURVE = {
    "thresholds": [0.0, 0.5, 1.0],
    "precision": [0.2, 0.9, 1.0],
    "recall": [1.0, 0.8, 0.1],
    "f1": [0.33, 0.85, 0.18],
}


def scores(f1: float, curve: object = None) -> dict[str, Any]:
    return {
        "precision": 0.9,
        "recall": 0.8,
        "f1": f1,
        "true_pairs": 10,
        "said_pairs": 9,
        "intervals": {"f1": [f1 - 0.1, f1]},
        "recall_by_kind": {"mirror": 1.0, "<edited>": 0.5},
        "false_pairs_by_kind": {"mirror": 2, "form": 1},
        "by_language": {"zh": {"precision": 0.9, "recall": 0.8, "f1": f1, "true_pairs": 7}},
        "b_cubed": {"precision": 0.9, "recall": 0.9, "f1": 0.9},
        "adjusted_rand": 0.7,
        "largest_cluster": 3,
        "pages": 20,
        "seconds": 1.5,
        "peak_memory_mb": 100.0,
        "curve": curve,
    }


RESULTS = {
    "<b>新闻</b>": {
        "minhash": scores(0.85, CURVE),
        "exact": scores(0.2),
        "word-table": {"error": "more pages than <20,000>", "seconds": 1.0, "peak_memory_mb": 0},
    }
}


def test_tables_hold_every_set_and_method(tmp_path: Path) -> None:
    write_tables(tmp_path, RESULTS)
    assert json.loads((tmp_path / "results.json").read_text()) == RESULTS
    with (tmp_path / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["minhash", "exact", "word-table"]
    assert rows[0]["f1"] == "0.85"
    assert rows[0]["b_cubed_f1"] == "0.9"
    assert rows[2]["error"] == "more pages than <20,000>"


def test_the_page_escapes_names_and_says_when_there_are_no_charts(tmp_path: Path) -> None:
    write_page(tmp_path, RESULTS, [])
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;新闻" in page
    assert "&lt;edited&gt;" in page
    assert "&lt;20,000&gt;" in page
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert "No charts" in page


def test_charts_are_drawn_twice_the_same(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        charts = draw_charts(tmp_path / name, RESULTS)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    kinds = ("comparison-1", "precision-recall-1", "thresholds-1")
    assert names == sorted(f"{kind}.{end}" for kind in kinds for end in ("png", "svg"))
    for name in names:
        first = (tmp_path / "one" / name).read_bytes()
        assert first == (tmp_path / "two" / name).read_bytes()
        if name.endswith(".svg"):
            assert ElementTree.fromstring(first).tag.endswith("svg")
        else:
            assert first.startswith(b"\x89PNG")
    write_page(tmp_path / "one", RESULTS, charts)
    page = (tmp_path / "one" / "index.html").read_text()
    assert 'href="thresholds-1.svg"' in page
    assert page.count('src="data:image/svg+xml;base64,') == 3
    write_page(tmp_path / "one", RESULTS, charts, alone=True)
    assert "href=" not in (tmp_path / "one" / "index.html").read_text()


def test_methods_that_failed_have_no_chart(tmp_path: Path) -> None:
    failed = {"set": {"exact": {"error": "no", "seconds": 0, "peak_memory_mb": 0}}}
    assert draw_charts(tmp_path, failed) == []


def test_records_are_flat_and_say_where_they_belong() -> None:
    evaluation = Evaluation(RESULTS)
    first, _, failed = evaluation.scores()
    assert (first["set"], first["method"], first["f1"]) == ("<b>新闻</b>", "minhash", 0.85)
    assert failed["f1"] is None
    assert failed["error"] == "more pages than <20,000>"
    assert [set(row) for row in evaluation.scores()] == [set(first)] * 3
    assert evaluation.by_kind()[:2] == [
        {
            "set": "<b>新闻</b>",
            "method": "minhash",
            "kind": "<edited>",
            "recall": 0.5,
            "false_pairs": 0,
        },
        {
            "set": "<b>新闻</b>",
            "method": "minhash",
            "kind": "form",
            "recall": None,
            "false_pairs": 1,
        },
    ]
    assert [row["f1"] for row in evaluation.by_language()] == [0.85, 0.2]
    assert [row["threshold"] for row in evaluation.curves()] == [0.0, 0.5, 1.0]


def test_the_page_compares_all_methods_on_all_sets(tmp_path: Path) -> None:
    other = {"minhash": scores(0.95), "exact": scores(0.99), "word-table": scores(0.1)}
    write_page(tmp_path, {**RESULTS, "second": other}, [])
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    overview = page[page.index("F1 by set") : page.index("Recall by kind of change")]
    assert overview.index("minhash") < overview.index("exact") < overview.index("word-table")
    assert "0.900" in overview  # the mean of 0.85 and 0.95
    assert "F1 by language" in page
