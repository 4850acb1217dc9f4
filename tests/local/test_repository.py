"""Methods that decide as their papers do: each page against the pages kept so far."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from neardup import Index, Result, UsageError, dedup, recluster
from sample_pages import write_jsonl

WORDS = [f"word{number}" for number in range(40)]


def page(name: str, first: int, year: int) -> dict[str, Any]:
    """Pages with close `first` share most of their sentence ends."""
    ends = [f"The text goes on to {word}." for word in WORDS[first : first + 20]]
    time = f"{year}-01-01T00:00:00Z"
    return {"id": name, "html": f"<p>{' '.join(ends)}</p>", "time": time}


def run(folder: Path, name: str, pages: list[dict[str, Any]], **options: Any) -> Result:
    source = write_jsonl(folder / f"{name}.jsonl", pages)
    options = {"options": {"joining": "repository", "beta": 0.7}, "report": False, **options}
    return dedup(str(source), folder / name, method="edit-distance", **options)


def kept_for(result: Result) -> dict[str, str]:
    return {row["id"]: row["duplicate_of"] or row["id"] for row in result.pages()}


CHAIN = [page("d", 0, 2001), page("c", 2, 2002), page("b", 4, 2003), page("a", 6, 2004)]


def test_a_chain_is_not_joined_and_the_first_page_is_kept(tmp_path: Path) -> None:
    result = run(tmp_path, "chain", CHAIN)
    assert kept_for(result) == {"a": "b", "b": "b", "c": "d", "d": "d"}
    assert result.summary["keep"] == "rule"


def test_new_pages_meet_what_was_kept_before(tmp_path: Path) -> None:
    first = run(tmp_path, "first", CHAIN[:2])
    more = run(tmp_path, "more", [page("e", 2, 1999), page("f", 1, 1998)], against=first.folder)
    assert kept_for(more) == {"c": "d", "d": "d", "e": "d", "f": "d"}
    again = recluster(more.folder, tmp_path / "again", threshold=0.99, report=False)
    assert kept_for(again) == {name: name for name in "cdef"} | {"e": "e", "c": "e"}


def test_a_keep_policy_and_the_index_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="omit keep=newest"):
        run(tmp_path, "chain", CHAIN, keep="newest")
    with pytest.raises(UsageError, match="set joining=components"):
        Index.open("memory://", "edit-distance", {"joining": "repository"})
