"""`neardup tune` as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from neardup.config import read_toml
from neardup.evaluation.synth import write_set
from sample_pages import sample_records, write_jsonl


def neardup(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "neardup", *map(str, arguments)]
    return subprocess.run(command, text=True, capture_output=True, check=False)


def test_thresholds_are_chosen_and_dedup_takes_them(tmp_path: Path) -> None:
    pages = write_set(tmp_path / "set", 150, 2, language="zh", length="short", workers=1)
    config = tmp_path / "tuned.toml"
    done = neardup("tune", tmp_path / "set", "--method", "edit-distance", "--out", config)
    assert done.returncode == 0, done.stderr
    assert "on held-out labels: precision" in done.stdout
    assert "take this choice as a guess" not in done.stdout
    stored = read_toml(config)
    assert stored["method"] == "edit-distance"
    assert set(stored["options"]) == {"alpha", "beta"}
    assert "# on held-out labels" in config.read_text()
    out = tmp_path / "out"
    assert neardup("dedup", pages, "--out", out, "--config", config).returncode == 0
    summary = json.loads((out / "summary.json").read_text())
    assert summary["options"]["beta"] == stored["options"]["beta"]


def test_few_labelled_pairs_bring_a_warning(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "pages.jsonl", sample_records())
    (tmp_path / "pairs.csv").write_text("a,b,label\na1,a2,1\na1,c1,0\na2,c1,0\n")
    config = tmp_path / "tuned.toml"
    arguments = ["--method", "word-table", "--precision", "0.98", "--out", config]
    done = neardup("tune", tmp_path, *arguments)
    assert done.returncode == 0, done.stderr
    assert "only 1 labelled duplicate pair: too few" in done.stdout
    assert "only 2 labelled different pairs: too few" in done.stdout
    assert "close = 15, from" in done.stdout  # nothing tells it from others: the default stays
    assert "take this choice as a guess" in config.read_text()


def test_what_cannot_be_tuned_is_told(tmp_path: Path) -> None:
    done = neardup("tune", tmp_path, "--method", "exact")
    assert done.returncode == 2
    assert "exact has no threshold to tune" in done.stderr
    write_jsonl(tmp_path / "pages.jsonl", sample_records())
    (tmp_path / "pairs.csv").write_text("a,b,label\na1,c1,0\n")
    done = neardup("tune", tmp_path, "--method", "edit-distance", "--out", tmp_path / "t.toml")
    assert done.returncode == 2
    assert "has no duplicates among its labels" in done.stderr
    done = neardup("tune", tmp_path, "--method", "edit-distance", "--precision", "1.2")
    assert done.returncode == 2
    assert "--precision must be above 0 and at most 1" in done.stderr
