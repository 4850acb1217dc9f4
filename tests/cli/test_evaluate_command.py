"""`neardup evaluate` as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas
import pytest

import neardup
from neardup.evaluation.runs import Contender, measure
from neardup.evaluation.sets import read_set
from neardup.evaluation.synth import write_set
from sample_pages import sample_records, write_jsonl


def evaluate(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "neardup", "evaluate", *map(str, arguments)]
    return subprocess.run(command, text=True, capture_output=True, check=False)


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    folder = tmp_path / "little"
    folder.mkdir()
    write_jsonl(folder / "pages.jsonl", sample_records())
    rows = ["id,article,kind", "a1,ferry,original", "a2,ferry,mirror", "a3,ferry,mirror"]
    rows += ["b1,tea,original", "b2,tea,mirror", "c1,bridge,original", "d1,none,original"]
    (folder / "truth.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.mark.slow
def test_sets_are_measured_and_written(labelled: Path, tmp_path: Path) -> None:
    write_set(tmp_path / "made", 60, 1, length="short", workers=1)
    out = tmp_path / "out"
    done = evaluate(labelled, tmp_path / "made", "--methods", "exact,edit-distance", "--out", out)
    assert done.returncode == 0, done.stderr
    assert str(out / "index.html") in done.stdout
    results = json.loads((out / "results.json").read_text())
    assert list(results) == ["little", "made"]
    assert list(results["made"]) == ["exact", "edit-distance"]
    exact = results["little"]["exact"]
    assert exact["precision"] == exact["recall"] == exact["f1"] == 1.0
    assert exact["adjusted_rand"] == 1.0
    assert exact["recall_by_kind"] == {"mirror": 1.0}
    assert exact["seconds"] > 0
    assert exact["peak_memory_mb"] > 10
    assert (out / "results.csv").read_text().count("\n") == 5
    assert (out / "index.html").is_file()
    assert not (out / "runs").exists()


@pytest.mark.slow
def test_labelled_pairs_are_a_truth_too(labelled: Path, tmp_path: Path) -> None:
    (labelled / "truth.csv").write_text("a,b,grade\na1,a2,3\na1,c1,0\nb1,b2,2\nb1,c1,1\n")
    out = tmp_path / "out"
    done = evaluate(labelled, "--methods", "exact", "--out", out, "--keep-results")
    assert done.returncode == 0, done.stderr
    exact = json.loads((out / "results.json").read_text())["little"]["exact"]
    assert exact["f1"] == 1.0
    assert exact["duplicate_from"] == 1.5
    assert exact["labelled_pairs"] == 4
    assert (out / "runs" / "little" / "exact" / "clusters.jsonl").is_file()


@pytest.mark.slow
def test_python_gets_records_and_writes_nothing(labelled: Path, tmp_path: Path) -> None:
    (labelled / "truth.csv").rename(tmp_path / "truth.csv")
    pairs = "a,b,label,kind\na1,a2,yes,mirror\na1,c1,no,topic\nb1,b2,yes,mirror\n"
    (labelled / "pairs.csv").write_text(pairs)
    before = sorted(tmp_path.rglob("*"))
    measured = neardup.evaluate(labelled, methods=["exact", "own-text"])
    assert sorted(tmp_path.rglob("*")) == before
    frame = pandas.DataFrame(measured.scores())
    assert frame.groupby("method").f1.max().to_dict() == {"exact": 1.0, "own-text": 1.0}
    assert pandas.DataFrame(measured.by_kind()).kind.tolist() == ["mirror", "mirror"]
    assert {row["language"] for row in measured.by_language()} == {"unknown", "zh"}
    assert {row["method"] for row in measured.curves()} <= {"exact", "own-text"}


def test_results_are_kept_only_where_there_is_a_place(labelled: Path) -> None:
    with pytest.raises(neardup.UsageError, match="name `out`"):
        neardup.evaluate(labelled, methods=["exact"], keep_results=True)


def test_a_method_that_fails_is_told_in_the_results(labelled: Path, tmp_path: Path) -> None:
    impossible = Contender("exact:paper", "exact", "paper")
    scores = measure(read_set(labelled), impossible, tmp_path / "run")
    assert scores["error"] == "exact has no paper preset: its default is its rule"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--methods", "magic"], 2, "unknown method 'magic'"),
        (["--methods", "exact:paper"], 2, "exact has no paper preset"),
        (["--methods", "exact:minimum_text=x"], 2, "is not a value of type int"),
        (["--methods", "two-phase:paper:default"], 2, "at most one preset"),
        (["--methods", ","], 2, "name at least one method"),
        (["nowhere"], 1, "nowhere is not a directory"),
    ],
)
def test_bad_requests_are_told_at_once(
    arguments: list[str], code: int, message: str, labelled: Path, tmp_path: Path
) -> None:
    done = evaluate(labelled, "--out", tmp_path / "out", *arguments)
    assert done.returncode == code
    assert message in done.stderr
    assert not (tmp_path / "out").exists()


def test_floors_are_proposed_written_and_held(labelled: Path, tmp_path: Path) -> None:
    floors, out = tmp_path / "floors.toml", tmp_path / "out"
    arguments = [labelled, "--methods", "exact", "--out", out, "--floors", floors]
    done = evaluate(*arguments)
    assert done.returncode == 0, done.stderr
    assert "floor of exact on little: 0.995" in done.stdout
    assert not floors.exists()
    assert evaluate(*arguments, "--raise-floors").returncode == 0
    assert "f1 = 0.995" in floors.read_text()
    (labelled / "truth.csv").write_text("id,article\na1,1\na2,2\na3,2\nb1,3\nb2,4\nc1,5\nd1,6\n")
    done = evaluate(*arguments)
    assert done.returncode == 1
    assert "exact on little: F1 0.4 is below its floor 0.995" in done.stderr


def test_raising_needs_a_file(labelled: Path, tmp_path: Path) -> None:
    done = evaluate(labelled, "--out", tmp_path / "out", "--raise-floors")
    assert done.returncode == 2
    assert "--raise-floors needs the file" in done.stderr


def test_papers_make_their_own_pages(labelled: Path, tmp_path: Path) -> None:
    done = evaluate(labelled, "--papers", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "name no SET" in done.stderr
    done = evaluate("--out", tmp_path / "out")
    assert done.returncode == 2
    assert "name a labelled set" in done.stderr
    arguments = ["--paper", "word-table", "--fraction", "0.3", "--out", tmp_path / "out"]
    done = evaluate(*arguments)
    assert done.returncode == 0, done.stderr
    assert "Santha Sheela & Jaya Kumar: 100 pages" in done.stdout
    assert "30 pages: paper" in " ".join(done.stdout.split())
    assert "ours default" in done.stdout
    assert "0.920 / -" in done.stdout
    assert (tmp_path / "out" / "papers.html").is_file()
