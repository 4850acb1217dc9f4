"""A run from input to output files."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from neardup import InputError, OutputError, Result, UsageError
from neardup import dedup as dedup_by_default
from neardup.local import features, work
from neardup.local.result import read_rows
from neardup.local.run import equal_ranges
from sample_pages import html, sample_records, write_jsonl


def dedup(*arguments: Any, **options: Any) -> Result:
    """What is tested here is the run, so method and policy are plain to see through."""
    return dedup_by_default(*arguments, **{"method": "exact", "keep": "longest", **options})


FILES = ["clusters", "pairs", "rejected", "skipped"]


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "pages.jsonl", sample_records())


def rows(folder: Path, name: str = "clusters") -> list[dict[str, Any]]:
    return list(read_rows(folder, name))


def test_every_page_comes_once_with_its_cluster(pages: Path, tmp_path: Path) -> None:
    result = dedup(str(pages), tmp_path / "out")
    found = {row["id"]: row for row in rows(result.folder)}
    assert list(found) == ["a1", "a2", "a3", "b1", "b2", "c1", "d1"]
    assert [found[id_]["cluster"] for id_ in found] == ["a1", "a1", "a1", "b1", "b1", "c1", "d1"]
    assert [id_ for id_ in found if found[id_]["kept"]] == ["a1", "b1", "c1", "d1"]
    member = found["a2"]
    assert member["duplicate_of"] == "a1"
    assert member["relation"] == "same"
    assert member["similarity"] == 1.0
    assert found["a1"]["duplicate_of"] is None
    assert found["c1"]["relation"] is None
    assert found["d1"]["relation"] == "undecided"


def test_pairs_carry_their_evidence(pages: Path, tmp_path: Path) -> None:
    result = dedup(str(pages), tmp_path / "out")
    pairs = rows(result.folder, "pairs")
    assert [(pair["a"], pair["b"]) for pair in pairs] == [("a1", "a2"), ("a1", "a3"), ("b1", "b2")]
    reasons = ["titles and the texts are the same", "byte for byte", "characters are the same"]
    assert all(any(each in pair["evidence"]["why"] for each in reasons) for pair in pairs)


def test_the_summary_counts(pages: Path, tmp_path: Path) -> None:
    summary = dedup(str(pages), tmp_path / "out").summary
    counts = summary["counts"]
    assert counts["records"] == counts["pages"] == 7
    assert (counts["duplicates"], counts["kept"], counts["clusters"]) == (3, 4, 4)
    assert (counts["clusters_with_duplicates"], counts["largest_cluster"]) == (2, 3)
    assert counts["undecided"] == 1
    assert summary["method"] == "exact"
    assert summary["options"] == {"minimum_text": 50}
    assert set(summary["run"]["seconds"]) >= {"parse", "features", "judge", "cluster", "write"}
    assert summary["bytes"]["parse"] == sum(len(str(r["html"]).encode()) for r in sample_records())


def output_bytes(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {name: (folder / f"{name}.jsonl").read_bytes() for name in FILES}
    summary = json.loads((folder / "summary.json").read_text())
    del summary["run"]
    return {**found, "summary": summary}


@pytest.mark.parametrize("method", ["exact", "own-text", "news-clusters", "edit-distance"])
def test_same_input_same_bytes_whatever_order_workers_or_batches(
    tmp_path: Path, method: str
) -> None:
    records = sample_records()
    records += [{"id": "a1", "html": html("bridge")}, {"id": "c2", "text": ""}]
    seen = []
    for seed, workers, files in [(0, 1, 1), (1, 2, len(records)), (2, 4, 3), (3, 3, 2)]:
        random.Random(seed).shuffle(records)
        for file in range(len(records)):  # each file with a record is a batch of its own
            write_jsonl(tmp_path / f"{file}.jsonl", records[file::files] if file < files else [])
        pages = str(tmp_path / "*.jsonl")
        result = dedup(pages, tmp_path / f"out{seed}", workers=workers, method=method)
        found = output_bytes(result.folder)
        del found["skipped"]  # names the place of each record, which did change
        seen.append(found)
    assert all(found == seen[0] for found in seen)


def test_several_inputs_give_the_same_in_any_order(tmp_path: Path) -> None:
    records = sample_records()
    paths = [write_jsonl(tmp_path / f"{i}.jsonl", records[i::3]) for i in range(3)]
    one = dedup([str(path) for path in paths], tmp_path / "one").folder
    other = dedup([str(path) for path in reversed(paths)], tmp_path / "other").folder
    glob = dedup(str(tmp_path / "[0-9].jsonl"), tmp_path / "glob").folder
    assert (one / "clusters.jsonl").read_bytes() == (other / "clusters.jsonl").read_bytes()
    assert (one / "clusters.jsonl").read_bytes() == (glob / "clusters.jsonl").read_bytes()


def test_parquet_holds_the_same_rows(pages: Path, tmp_path: Path) -> None:
    lines = dedup(str(pages), tmp_path / "lines").folder
    columns = dedup(str(pages), tmp_path / "columns", format="parquet").folder
    for name in FILES:
        assert rows(lines, name) == rows(columns, name)
        assert not (columns / f"{name}.jsonl").exists()
    assert pq.read_table(columns / "clusters.parquet").num_rows == 7


@pytest.mark.parametrize(
    ("keep", "kept"),
    [("original", "b2"), ("longest", "b1"), ("oldest", "b2"), ("newest", "b1"), ("first", "b1")],
)
def test_the_keep_policy_is_followed(pages: Path, tmp_path: Path, keep: str, kept: str) -> None:
    result = dedup(str(pages), tmp_path / "out", keep=keep)
    assert kept in result.kept()
    assert len(result.kept()) == 4


SPAM = "".join(f"<p>Cheap watches at shop {n}.example, order today!</p>" for n in range(3))


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("method", ["own-text", "minhash"])
def test_a_copy_with_some_lines_of_spam_is_not_kept(
    tmp_path: Path, method: str, copies: int
) -> None:
    story = "".join(f"<p>{words}</p>" for words in varied_sentences(60))
    records = [{"id": f"copy{n}", "html": story} for n in range(copies)]
    records.append({"id": "a-spam", "html": story + SPAM})
    pages = write_jsonl(tmp_path / "pages.jsonl", records)
    spam, original = ({"a-spam"}, {"copy0"})
    assert set(dedup(str(pages), tmp_path / "a", method=method, keep="longest").kept()) == spam
    assert set(dedup_by_default(str(pages), tmp_path / "b", method=method).kept()) == original


def test_a_time_that_a_page_states_does_not_make_it_the_original(tmp_path: Path) -> None:
    story = "".join(f"<p>{words}</p>" for words in varied_sentences(30))
    claim = '<meta property="article:published_time" content="2001-01-01T00:00:00Z">'
    records = [
        {"id": "a", "html": claim + story},
        {"id": "b", "html": story, "time": "2024-05-02T00:00:00Z"},
        {"id": "c", "html": story, "time": "2024-05-01T00:00:00Z"},
    ]
    pages = write_jsonl(tmp_path / "pages.jsonl", records)
    assert set(dedup(str(pages), tmp_path / "a", keep="oldest").kept()) == {"a"}
    assert set(dedup_by_default(str(pages), tmp_path / "b", method="exact").kept()) == {"c"}
    more = write_jsonl(tmp_path / "more.jsonl", [{**records[1], "id": "d", "time": "2023-01-01"}])
    later = dedup_by_default(str(more), tmp_path / "c", method="exact", against=tmp_path / "b")
    assert set(later.kept()) == {"d"}


def varied_sentences(count: int) -> list[str]:
    chance = random.Random(4)
    words = ["harbour", "ferry", "council", "winter", "letter", "bridge", "market", "quiet"]
    return [" ".join(chance.choices(words, k=9)).capitalize() + "." for _ in range(count)]


def test_kept_pages_are_written_as_they_came(tmp_path: Path) -> None:
    records = [{**record, "note": "mine"} for record in sample_records()]
    pages = write_jsonl(tmp_path / "pages.jsonl", records)
    kept = tmp_path / "kept.jsonl"
    dedup(str(pages), tmp_path / "out", write_kept=kept)
    written = [json.loads(line) for line in kept.read_text("utf-8").splitlines()]
    assert written == [record for record in records if record["id"] in {"a1", "b1", "c1", "d1"}]


def test_a_second_use_of_an_id_is_skipped_and_listed(tmp_path: Path) -> None:
    pages = write_jsonl(tmp_path / "p.jsonl", [*sample_records(), {"id": "a1", "html": "<p>x"}])
    result = dedup(str(pages), tmp_path / "out")
    assert result.summary["skipped_by_reason"] == {"duplicate-id": 1}
    assert result.summary["counts"]["records"] == 8
    (skip,) = result.skipped()
    assert skip["id"] == "a1"
    assert skip["reason"] == "duplicate-id"


def test_nothing_readable_is_one_clear_error_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text("[1]\n{}\n")
    with pytest.raises(InputError, match="no page could be read; 2 skipped, the first at"):
        dedup(str(path), tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_missing_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        dedup(str(tmp_path / "nowhere"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_earlier_result_is_replaced_and_nothing_else_is(pages: Path, tmp_path: Path) -> None:
    out = dedup(str(pages), tmp_path / "out", format="parquet").folder
    with pytest.raises(OutputError, match="use --force to replace it"):
        dedup(str(pages), out)
    dedup(str(pages), out, force=True)
    assert not (out / "clusters.parquet").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    with pytest.raises(OutputError, match="is not empty"):
        dedup(str(pages), mine)
    with pytest.raises(OutputError, match="is a file"):
        dedup(str(pages), pages)
    assert (mine / "thesis.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "magic"}, "unknown method 'magic'; there are: "),
        ({"options": {"magic": 1}}, "exact has no option 'magic'"),
        ({"keep": "best"}, "unknown keep policy 'best'"),
        ({"preset": "paper"}, "exact has no paper preset"),
        ({"preset": "other"}, "unknown preset 'other'"),
    ],
)
def test_a_bad_request_is_told_before_any_work(
    tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        dedup("never-read.jsonl", tmp_path / "out", **arguments)
    assert message in str(caught.value)


def test_a_result_reads_back_as_clusters(pages: Path, tmp_path: Path) -> None:
    result = dedup(str(pages), tmp_path / "out")
    clusters = {cluster.name: cluster for cluster in result.clusters()}
    assert clusters["a1"].members == ("a1", "a2", "a3")
    assert clusters["b1"].kept == "b1"
    assert len(clusters) == 4


@pytest.mark.parametrize("workers", [1, 2])
def test_where_counts_are_and_how_they_are_cut_changes_nothing(
    pages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """Those of few pages are in memory and added up at once; here every part goes to a file."""
    usual = dedup_by_default(str(pages), tmp_path / "usual", report=False)
    monkeypatch.setattr(work, "ROOM_SHARE", 0.0)
    monkeypatch.setattr(features, "key_ranges", lambda *_: equal_ranges(3))
    other = dedup_by_default(str(pages), tmp_path / "other", report=False, workers=workers)
    names = [path.relative_to(usual.folder) for path in usual.folder.rglob("*.*")]
    assert Path("features/000000000.arrow") in names
    for file in names:
        assert (
            file.stem == "summary"
            or (other.folder / file).read_bytes() == (usual.folder / file).read_bytes()
        )
