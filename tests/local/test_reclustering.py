"""Another threshold over an earlier result."""

from __future__ import annotations

from pathlib import Path

import pytest

from neardup import InputError, Result, UsageError, dedup
from neardup.api import recluster
from sample_pages import long_html, sample_records, write_jsonl


@pytest.fixture
def earlier(tmp_path: Path) -> Result:
    records: list[dict[str, object]] = [
        {"id": "h1", "url": "http://a.example/1", "html": long_html("harbour")},
        {"id": "h2", "url": "http://b.example/2", "html": long_html("harbour", edited=True)},
        {"id": "h3", "url": "http://c.example/3", "html": long_html("harbour", edited=True)},
        {"id": "r1", "url": "http://a.example/4", "html": long_html("railway")},
        *sample_records(),
    ]
    pages = write_jsonl(tmp_path / "pages.jsonl", records)
    result = dedup(str(pages), tmp_path / "first", method="edit-distance")
    pages.unlink()
    return result


def clusters(result: Result) -> dict[str, tuple[str, ...]]:
    return {c.name: c.members for c in result.clusters() if len(c.members) > 1}


def test_a_stricter_threshold_takes_near_pages_apart(tmp_path: Path, earlier: Result) -> None:
    assert clusters(earlier)["h1"] == ("h1", "h2", "h3")
    stricter = recluster(earlier.folder, tmp_path / "strict", threshold=1.0)
    assert clusters(stricter)["h2"] == ("h2", "h3")
    assert "h1" not in clusters(stricter)
    assert stricter.summary["threshold"] == 1.0
    failed = {(pair["a"], pair["b"]) for pair in stricter.rejected()}
    assert {("h1", "h2"), ("h1", "h3")} <= failed


def test_a_threshold_below_all_pairs_gives_the_same_clusters(
    tmp_path: Path, earlier: Result
) -> None:
    again = recluster(earlier.folder, tmp_path / "again", threshold=0.5)
    assert clusters(again) == clusters(earlier)
    assert list(again.pages()) == list(earlier.pages())
    assert list(again.skipped()) == list(earlier.skipped())
    twice = recluster(again.folder, tmp_path / "twice", threshold=0.5, format="parquet")
    assert list(twice.pages()) == list(again.pages())


def test_the_threshold_holds_for_every_verdict(tmp_path: Path) -> None:
    """Those on members and centres too, which are made while clustering: the default method makes
    them in another way than those on candidates."""

    def half(word: str) -> str:
        own = " ".join(f"{word}{number}" for number in range(300))
        return long_html("harbour").replace("</article>", f"<p>{own}</p></article>")

    records = [
        {"id": word, "url": f"http://{word}.example/", "html": half(word)}
        for word in ("railway", "orchard")
    ]
    pages = write_jsonl(tmp_path / "pages.jsonl", records)
    first = dedup(str(pages), tmp_path / "first")
    assert clusters(first) == {}
    looser = recluster(first.folder, tmp_path / "looser", threshold=0.1)
    assert clusters(looser) == {"orchard": ("orchard", "railway")}
    assert {page["relation"] for page in looser.pages() if page["duplicate_of"]} == {"near"}


def test_new_pages_can_be_set_against_it(tmp_path: Path) -> None:
    records = [
        {"id": f"p{number}", "url": f"http://{number}.example/", "html": long_html(word)}
        for number, word in enumerate(("harbour", "railway", "harbour"))
    ]
    old = write_jsonl(tmp_path / "old.jsonl", records[:2])
    new = write_jsonl(tmp_path / "new.jsonl", records[2:])
    first = dedup(str(old), tmp_path / "first")
    again = recluster(first.folder, tmp_path / "again", threshold=0.9)
    after = dedup(str(new), tmp_path / "after", against=again.folder)
    assert clusters(after) == {"p0": ("p0", "p2")}


def test_bad_requests(tmp_path: Path, earlier: Result) -> None:
    with pytest.raises(UsageError, match="from 0 to 1"):
        recluster(earlier.folder, tmp_path / "o", threshold=1.5)
    with pytest.raises(InputError, match="holds no result"):
        recluster(tmp_path, tmp_path / "o", threshold=0.5)
    with pytest.raises(UsageError, match="unknown keep policy"):
        recluster(earlier.folder, tmp_path / "o", threshold=0.5, keep="best")
