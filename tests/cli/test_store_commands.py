"""`neardup status`, `expire` and `recheck`."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from neardup import Index, UsageError, html_page
from neardup.cli.main import app
from neardup.cli.store import parse_age, parse_span
from sample_pages import long_html

TOPICS = ("harbour", "railway", "orchard")


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Three articles, each with an edited copy on another host."""
    url = f"sqlite:///{tmp_path / 'crawl.db'}"
    with Index.open(url) as index:
        for topic in TOPICS:
            index.add(html_page(long_html(topic), url=f"http://a.example/{topic}"))
            index.add(html_page(long_html(topic, edited=True), url=f"http://b.example/{topic}"))
    return url


def printed(*arguments: str) -> str:
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_status_counts_and_weighs(store: str) -> None:
    found = json.loads(printed("status", "--store", store, "--json"))
    assert found["pages"] == 6
    assert (found["clusters"], found["duplicates"], found["hosts"]) == (3, 3, 2)
    with Index.open(store) as index:
        assert found["bytes"] == index.sizes()
    shown = printed("status", "--store", store)
    assert "6 pages of 2 hosts in 3 clusters: 3 duplicates" in shown
    assert "bytes per page" in shown


def test_expire_forgets_what_is_old(store: str) -> None:
    assert "0 pages removed, 6 left" in printed("expire", "--store", store, "--older-than", "1d")
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    shown = printed("expire", "--store", store, "--older-than", tomorrow)
    assert "6 pages removed, 0 left" in shown


def test_recheck_judges_again(store: str) -> None:
    with Index.open(store) as index:
        before = {cluster.name: cluster.members for cluster in index.clusters()}
    assert "6 pages" in printed("recheck", "--store", store)
    with Index.open(store) as index:
        assert {cluster.name: cluster.members for cluster in index.clusters()} == before


@pytest.mark.parametrize("command", ["status", "recheck"])
def test_a_store_that_is_not_there_is_not_made(command: str, tmp_path: Path) -> None:
    file = tmp_path / "none.db"
    done = CliRunner().invoke(app, [command, "--store", f"sqlite:///{file}"])
    assert "there is no store here" in str(done.exception)
    assert not file.exists()


def test_ages() -> None:
    assert parse_age("12h") == timedelta(hours=12)
    assert parse_age(" 30d") == timedelta(days=30)
    assert parse_age("8w") == timedelta(weeks=8)
    assert parse_age("2026-01-31") == datetime(2026, 1, 31, tzinfo=UTC)
    later = parse_age("2026-01-31T12:00+02:00")
    assert later == datetime(2026, 1, 31, 10, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "30", "d", "-3d", "3 days", "2026-13-01", "9999999d"])
def test_what_is_no_age(text: str) -> None:
    with pytest.raises(UsageError, match="is not an age"):
        parse_age(text)


def test_export_writes_files(store: str, tmp_path: Path) -> None:
    out = tmp_path / "files"
    shown = printed("export", "--store", store, "--out", str(out), "--format", "csv")
    with Index.open(store) as index:
        pairs = sum(index.stats().pairs.values())
    assert f"6 pages, {pairs} pairs and 3 kept pages written" in shown
    assert sorted(path.name for path in out.iterdir()) == ["clusters.csv", "kept.csv", "pairs.csv"]


def test_keep_and_window_of_a_new_store(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new.db'}"
    page = tmp_path / "page.html"
    page.write_text(long_html("harbour"))
    printed("check", str(page), "--store", url, "--keep", "newest", "--window", "7d")
    with Index.open(url) as index:
        assert (index.bounds.keep, index.bounds.window) == ("newest", 7 * 86_400_000_000)
    printed("recheck", "--store", url, "--keep", "oldest")
    with Index.open(url) as index:
        assert index.bounds.keep == "oldest"


@pytest.mark.parametrize("text", ["soon", "2026-01-31", "d", ""])
def test_a_window_is_a_length_of_time(text: str) -> None:
    assert parse_span(None) is None
    with pytest.raises(UsageError):
        parse_span(text)
