"""New pages clustered with those of an earlier run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from neardup import InputError, Result, UsageError
from neardup import dedup as dedup_by_default
from neardup.api import recluster
from neardup.schemas import FORMAT
from sample_pages import html, sample_records, write_jsonl


def dedup(*arguments: Any, **options: Any) -> Result:
    return dedup_by_default(*arguments, **{"method": "exact", **options})


@pytest.fixture
def earlier(tmp_path: Path) -> Result:
    pages = write_jsonl(tmp_path / "first.jsonl", sample_records())
    result = dedup(str(pages), tmp_path / "first")
    pages.unlink()  # its pages are not read again
    return result


def second(tmp_path: Path, earlier: Result, records: list[dict[str, object]]) -> Result:
    pages = write_jsonl(tmp_path / "second.jsonl", records)
    return dedup(str(pages), tmp_path / "second", against=earlier.folder)


def names(result: Result) -> dict[str, str]:
    return {page["id"]: page["cluster"] for page in result.pages()}


def test_new_pages_join_earlier_clusters_which_keep_their_names(
    tmp_path: Path, earlier: Result
) -> None:
    new: list[dict[str, object]] = [
        {"id": "a0", "html": html("ferry")},  # sorts before the cluster's name
        {"id": "c2", "html": html("bridge")},
        {"id": "n1", "html": html("ferry", extra="<p>Another text that is all its own.</p>")},
        {"id": "n2", "html": html("ferry", extra="<p>Another text that is all its own.</p>")},
    ]
    result = second(tmp_path, earlier, new)
    expected = {**names(earlier), "a0": "a1", "c2": "c1", "n1": "n1", "n2": "n1"}
    assert names(result) == dict(sorted(expected.items()))
    assert result.summary["counts"]["pages"] == 11


def test_the_result_holds_the_earlier_verdicts_too_and_can_be_taken_up_in_turn(
    tmp_path: Path, earlier: Result
) -> None:
    result = second(tmp_path, earlier, [{"id": "z", "html": html("茶")}])
    assert list(earlier.pairs()) == [pair for pair in result.pairs() if pair["b"] != "z"]
    third = write_jsonl(tmp_path / "third.jsonl", [{"id": "zz", "html": html("茶")}])
    last = dedup(str(third), tmp_path / "third", against=result.folder)
    assert names(last)["zz"] == names(earlier)["b1"]


def test_an_id_of_the_earlier_run_is_skipped(tmp_path: Path, earlier: Result) -> None:
    new: list[dict[str, object]] = [
        {"id": "a1", "html": html("bridge")},
        {"id": "q", "html": html("bridge")},
    ]
    result = second(tmp_path, earlier, new)
    (skip,) = result.skipped()
    assert (skip["id"], skip["reason"]) == ("a1", "duplicate-id")
    assert names(result)["a1"] == "a1"
    assert names(result)["q"] == "c1"


def test_it_equals_one_run_over_all_pages_where_clusters_did_not_change(
    tmp_path: Path, earlier: Result
) -> None:
    new: list[dict[str, object]] = [{"id": "x", "html": html("bridge")}]
    pages = write_jsonl(tmp_path / "all.jsonl", [*sample_records(), *new])
    whole = dedup(str(pages), tmp_path / "whole")
    assert list(second(tmp_path, earlier, new).pages()) == list(whole.pages())


def test_another_method_or_other_options_are_refused(tmp_path: Path, earlier: Result) -> None:
    pages = write_jsonl(tmp_path / "second.jsonl", sample_records())
    made_with = r"made with method exact on the view whole \(minimum_text=50\)"
    with pytest.raises(UsageError, match=made_with):
        dedup(str(pages), tmp_path / "o", against=earlier.folder, options={"minimum_text": 9})
    with pytest.raises(InputError, match="holds no result of an earlier run"):
        dedup(str(pages), tmp_path / "o", against=tmp_path)


def test_what_another_version_remembers_is_refused(tmp_path: Path, earlier: Result) -> None:
    pages = write_jsonl(tmp_path / "second.jsonl", sample_records())
    summary = json.loads((earlier.folder / "summary.json").read_text("utf-8"))
    older = {**summary, "format": FORMAT - 1}, FORMAT - 1
    oldest = {name: summary[name] for name in summary if name != "format"}, "none"
    for written, told in (older, oldest):
        (earlier.folder / "summary.json").write_text(json.dumps(written), "utf-8")
        refused = f"in format {told} and this neardup reads format {FORMAT}"
        with pytest.raises(InputError, match=refused):
            dedup(str(pages), tmp_path / "o", against=earlier.folder)
        with pytest.raises(InputError, match=refused):
            recluster(earlier.folder, tmp_path / "o", threshold=0.5)
    assert not (tmp_path / "o").exists()
