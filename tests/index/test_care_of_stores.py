"""The page that stands for a cluster, windows of time, exports, and room that is given back."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from index_checks import check_whole, groups, stored_keys
from neardup import Index, OutputError, RawPage, StoreError, UsageError, dedup, text_page
from neardup.model import Source
from neardup.rules.keeping import POLICIES
from neardup.stores.session import Session
from neardup.stores.sqlite import SqliteStore
from sample_pages import long_html, write_jsonl

DAY = 86_400_000_000  # microseconds
POSTGRES = pytest.param("postgresql", marks=[pytest.mark.slow, pytest.mark.xdist_group("postgres")])


@pytest.fixture(params=["sqlite", POSTGRES])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        found: str = request.getfixturevalue("postgres").store_url()
        return found
    return f"sqlite:///{tmp_path / 'index.db'}"


def versions() -> list[dict[str, object]]:
    """Five versions of three articles: hosts, lengths, times and canonical links differ."""
    records: list[dict[str, object]] = []
    for topic in ("harbour", "railway", "orchard"):
        for number in range(5):
            host = f"{'dbaec'[number]}.{topic}.example"
            html = long_html(topic, edited=number == 1) + "<p>more</p>" * (number * 3 % 5)
            if number in (2, 4):
                named = f"http://a.{topic}.example/1"
                html = html.replace("<head>", f'<head><link rel="canonical" href="{named}">')
            records.append(
                {
                    "id": f"{topic}-{'cadbe'[number]}",
                    "url": f"http://{host}/1",
                    "html": html,
                    "time": f"2026-01-{10 + number * 7 % 5:02}T00:00:00Z",
                }
            )
    return records


def raw(record: dict[str, object]) -> RawPage:
    when = datetime.fromisoformat(str(record["time"]))
    body = str(record["html"]).encode()
    page = str(record["id"])
    return RawPage(page, body, True, Source("test", 0), str(record["url"]), time=when)


@pytest.mark.parametrize("policy", POLICIES)
def test_kept_pages_are_those_of_a_batch_run(url: str, policy: str, tmp_path: Path) -> None:
    records = versions()
    batch = dedup(
        str(write_jsonl(tmp_path / "pages.jsonl", records)), tmp_path / "out", keep=policy
    )
    expected = {frozenset(each.members): each.kept for each in batch.clusters()}
    assert len(expected) == 3
    with Index.open(url, keep=policy) as index:
        for record in records:
            index.add(raw(record))
        assert {frozenset(each.members): each.kept for each in index.clusters()} == expected
        index.recheck()
        assert {frozenset(each.members): each.kept for each in index.clusters()} == expected
        listed = {each.name: each.kept for each in index.list_clusters()}
        assert listed == {each.name: each.kept for each in index.clusters()}


def article(words: int = 60, extra: str = "") -> str:
    return " ".join(f"word{n} tells of thing{n * 7 % 31}" for n in range(words)) + extra


def kept_events(index: Index) -> list[str]:
    return [event.page for event in index.history("c1") if event.kind == "kept"]


def test_the_history_tells_which_page_is_kept(url: str) -> None:
    with Index.open(url, keep="longest") as index:
        index.add(text_page(article(), id="short", url="http://a.example/"))
        assert kept_events(index) == []
        index.add(text_page(article(extra=" and more"), id="long", url="http://b.example/"))
        assert kept_events(index) == ["long"]
        index.add(text_page(article(extra=" and even more"), id="long", url="http://b.example/"))
        assert kept_events(index) == ["long"]  # another version of the same page
        index.remove("long")
        assert kept_events(index) == ["long", "short"]
        cluster = index.cluster("c1")
        assert cluster is not None
        assert cluster.kept == "short"


def test_the_policy_of_a_store_is_changed_by_a_recheck(url: str) -> None:
    with Index.open(url) as index:
        for name, extra in (("b", ""), ("a", " and more")):
            index.add(text_page(article(extra=extra), id=name, url=f"http://{name}.example/"))
        assert [each.kept for each in index.clusters()] == ["b"]  # arrived first
        index.recheck(keep="longest")
        assert [each.kept for each in index.clusters()] == ["a"]
    with Index.open(url) as index:
        assert index.bounds.keep == "longest"
    with pytest.raises(StoreError, match=r"recheck --store .* --keep newest"):
        Index.open(url, keep="newest")
    with pytest.raises(UsageError, match="longest"):
        Index.open("memory://", keep="longer")


def test_a_large_cluster_compares_newcomers_with_the_page_kept_so_far() -> None:
    with Index.open("memory://", "exact", keep="newest") as index:
        for number in range(210):
            when = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number)
            body = article().encode()
            place = f"http://h{number}.example/"
            index.add(RawPage(f"p{number}", body, False, Source("test", 0), place, time=when))
        [cluster] = index.clusters()
        assert (len(cluster.members), cluster.kept) == (210, "p209")


def test_only_pages_within_the_window_match(url: str) -> None:
    with Index.open(url, window=timedelta(days=7)) as index:
        now = 1_800_000_000_000_000
        answers = []
        for day, name in ((0, "a"), (6, "b"), (14, "c"), (22, "a"), (27, "d")):
            index.clock = lambda day=day: now + day * DAY  # type: ignore[misc]
            answers.append(index.add(text_page(article(), id=name)))
        assert [answer.of for answer in answers] == [None, "a", None, None, "a"]
        assert groups(index) == {frozenset("abd"), frozenset("c")}
        index.recheck()  # by when each page was added last: b long before a
        assert groups(index) == {frozenset("ad"), frozenset("b"), frozenset("c")}
    with Index.open(url) as index:
        assert index.bounds.window == 7 * DAY
    with pytest.raises(StoreError, match="a window of 168 h"):
        Index.open(url, window=timedelta(days=8))
    with pytest.raises(UsageError, match="decides in order"):
        Index.open("memory://", "news-clusters", window=timedelta(days=8))


def test_an_answer_says_that_a_page_was_replaced(url: str) -> None:
    with Index.open(url) as index:
        assert not index.add(text_page(article(), id="a")).replaced
        assert not index.add(text_page(article(), id="a")).replaced  # known, unchanged
        changed = text_page(article(extra=" and more"), id="a")
        assert index.query(changed).replaced
        answer = index.add(changed)
        assert answer.replaced
        assert answer.as_data()["replaced"] is True


@pytest.fixture
def crawled(url: str) -> Iterator[Index]:
    with Index.open(url, keep="longest") as index:
        index.add_many([raw(record) for record in versions()])
        yield index


def test_exports_agree_with_the_index_in_every_format(crawled: Index, tmp_path: Path) -> None:
    counts = {form: crawled.export(tmp_path / form, form) for form in ("jsonl", "csv", "parquet")}
    assert counts["jsonl"] == counts["csv"] == counts["parquet"]
    assert counts["jsonl"]["clusters"] == 15
    for name in ("clusters", "pairs", "kept"):
        lines = (tmp_path / "jsonl" / f"{name}.jsonl").read_text("utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        table = pq.read_table(tmp_path / "parquet" / f"{name}.parquet")
        assert table.drop_columns("time" if name == "kept" else []).to_pylist() == [
            {key: value for key, value in row.items() if key != "time"} for row in rows
        ]
        with (tmp_path / "csv" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            assert [row[0] for row in csv.reader(file)][1:] == [
                next(iter(r.values())) for r in rows
            ]
        if name == "clusters":
            kept_of = {each.name: each.kept for each in crawled.clusters()}
            assert {row["id"] for row in rows if row["kept"]} == {*kept_of.values()}
            for row in rows:
                assert row["duplicate_of"] == (None if row["kept"] else kept_of[row["cluster"]])
                if not row["kept"]:
                    verdict = crawled.explain(row["id"], row["duplicate_of"])
                    assert (row["relation"], row["similarity"]) == (
                        str(verdict.relation),
                        pytest.approx(verdict.similarity),
                    )
        if name == "kept":
            assert all(row["text"] and row["size"] == 5 for row in rows)
            assert all(datetime.fromisoformat(row["time"]).tzinfo for row in rows)


def test_an_export_replaces_nothing(crawled: Index, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(OutputError, match="not an empty folder"):
        crawled.export(tmp_path)
    with pytest.raises(UsageError, match="xml"):
        crawled.export(tmp_path / "new", "xml")
    assert not (tmp_path / "new").exists()


def test_removed_pages_give_their_room_back(tmp_path: Path) -> None:
    file = tmp_path / "index.db"
    with Index.open(f"sqlite:///{file}") as index:
        pages = [
            text_page(article(400, f" number{n} " * 5), id=f"p{n}", url=f"http://h{n}.example/")
            for n in range(60)
        ]
        index.add_many(pages)
        index.store.compact()
        full = file.stat().st_size
        index.remove_many([page.id for page in pages[:30]])
        assert isinstance(index.store, SqliteStore)
        free = index.store._connection().execute("PRAGMA freelist_count").fetchone()[0]
        assert free == 0
        assert index.expire(timedelta(seconds=-1)) == 30
        assert file.stat().st_size < 0.35 * full


def test_pages_judged_again_write_only_the_keys_that_change(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[int, int]] = []
    dropped: list[tuple[int, int]] = []
    put_keys, drop_keys = Session.put_keys, Session.drop_keys

    def put(session: Session, rows: Iterable[tuple[int, int]]) -> None:
        written.extend(some := list(rows))
        put_keys(session, some)

    def drop(session: Session, rows: Iterable[tuple[int, int]]) -> None:
        dropped.extend(some := list(rows))
        drop_keys(session, some)

    monkeypatch.setattr(Session, "put_keys", put)
    monkeypatch.setattr(Session, "drop_keys", drop)
    with Index.open(url) as index:
        for number in range(9):  # as a site grows to 2, 4 and 8 pages, all of them are judged again
            words = " ".join(f"word{number}x{place}" for place in range(80))
            index.add(text_page(words, id=f"p{number}", url=f"http://a.example/{number}"))
        check_whole(index)
        stored = index.store.read(stored_keys)
    assert len(written) == len(stored) > 0
    assert not dropped
