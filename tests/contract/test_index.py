"""The index through one suite: every store, and every method."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import neardup
from index_checks import check_whole, groups, stored_keys
from neardup import Index, RawPage, Relation, StoreError, UsageError, html_page, text_page
from neardup.index.candidates import Bounds
from neardup.index.settings import Request, settle
from neardup.methods.registry import BUILT_IN, make_method
from neardup.model import Source
from neardup.schemas import FORMAT
from neardup.stores.memory import MemoryStore
from postgres import Server
from sample_pages import html, long_html, sample_records, short_html, write_jsonl

POSTGRES = pytest.param("postgresql", marks=pytest.mark.xdist_group("postgres"))
TOPICS = ["harbour", "railway", "orchard", "茶山", "渡口"]


@pytest.fixture(params=["memory", "sqlite", POSTGRES])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        server: Server = request.getfixturevalue("postgres")
        return server.store_url()
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'index.db'}"


@pytest.fixture
def index(url: str) -> Iterator[Index]:
    with Index.open(url) as opened:
        yield opened


def samples() -> dict[str, RawPage]:
    return {
        str(record["id"]): html_page(
            str(record["html"]), id=str(record["id"]), url=str(record["url"])
        )
        for record in sample_records()
    }


def long_pages() -> list[RawPage]:
    """Three versions of each of five texts, each on its own host, at rising times, and a stub."""
    pages = []
    for number, topic in enumerate(topic for topic in TOPICS for _ in range(3)):
        page = html_page(
            long_html(topic, edited=number % 3 == 1),
            id=f"p{number:02d}",
            url=f"http://h{number}.example/{number}",
        )
        when = datetime(2024, 5, 1, tzinfo=UTC) + timedelta(hours=number)
        pages.append(RawPage(page.id, page.body, True, Source("test", number), page.url, time=when))
    stub = html_page(short_html(), id="stub", url="http://stub.example/")
    return [*pages, stub]


def test_new_copy_and_too_short(index: Index) -> None:
    pages = samples()
    first = index.add(pages["a1"])
    assert (first.duplicate, first.of, first.relation, first.known) == (False, None, None, False)
    copy = index.add(pages["a2"])
    assert copy.duplicate
    assert (copy.of, copy.cluster, copy.relation) == ("a1", first.cluster, Relation.SAME)
    assert copy.similarity == 1.0
    assert copy.evidence["why"]
    other = index.add(pages["c1"])
    assert not other.duplicate
    assert other.cluster != first.cluster
    short = index.add(pages["d1"])
    assert (short.duplicate, short.relation) == (False, Relation.UNDECIDED)
    another = html_page("<p>Not found here</p>", id="d2")
    assert not index.add(another).duplicate  # short ones meet only if they are identical
    check_whole(index)


def test_a_query_says_what_adding_would_and_changes_nothing(index: Index) -> None:
    pages = samples()
    index.add_many([pages["a1"], pages["b1"]])
    before = index.stats()
    asked = index.query(pages["a2"])
    assert index.query_many([pages["a2"], pages["c1"]])[0] == asked
    assert index.stats() == before
    assert index.query(pages["c1"]).cluster is None
    assert index.add(pages["a2"]) == asked


def test_adding_again_changes_nothing(index: Index) -> None:
    pages = list(samples().values())
    answers = index.add_many(pages)
    before, whole = index.stats(), groups(index)
    again = index.add_many(pages[::-1])[::-1]
    assert all(answer.known for answer in again)
    for first, second in zip(answers, again, strict=True):
        assert (first.duplicate, first.of, first.cluster) == (
            second.duplicate,
            second.of,
            second.cluster,
        )
    assert (index.stats(), groups(index)) == (before, whole)


def test_one_batch_or_one_by_one(url: str) -> None:
    pages = long_pages()
    with Index.open(url) as index:
        together = {answer.id: (answer.duplicate, answer.of) for answer in index.add_many(pages)}
        clusters = groups(index)
    with Index.open("memory://") as alone:
        single = [alone.add(page) for page in pages]
        assert {answer.id: (answer.duplicate, answer.of) for answer in single} == together
        assert groups(alone) == clusters


def test_a_page_that_has_changed_takes_its_own_place(index: Index) -> None:
    pages = samples()
    index.add_many([pages["a1"], pages["a2"], pages["c1"]])
    changed = html_page(html("bridge"), id="a2", url="http://b.example/2")
    answer = index.add(changed)
    assert (answer.of, answer.known, answer.duplicate) == ("c1", False, True)
    assert groups(index) == {frozenset({"a1"}), frozenset({"c1", "a2"})}
    assert len(index) == 3
    check_whole(index)


def test_a_changed_page_that_is_alone_stays_in_its_cluster(index: Index) -> None:
    first = index.add(samples()["a1"])
    again = index.add(html_page(html("bridge"), id="a1", url="http://a.example/1"))
    assert again.cluster == first.cluster
    assert not again.duplicate


def test_removing(index: Index) -> None:
    pages = samples()
    index.add_many(pages.values())
    assert index.remove("a1")
    assert not index.remove("a1")
    assert index.page("a1") is None
    assert frozenset({"a2", "a3"}) in groups(index)
    assert check_whole(index) == pages.keys() - {"a1"}
    assert index.add(pages["a1"]).of in {"a2", "a3"}
    assert index.remove_many([*pages, "nobody"]) == len(pages)
    assert groups(index) == set()
    assert check_whole(index) == set()


def test_expiring_goes_by_when_a_page_was_last_seen(index: Index) -> None:
    pages = samples()
    day = timedelta(days=1)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    moment = [start]
    index.clock = lambda: round(moment[0].timestamp() * 1e6)
    index.add_many([pages["a1"], pages["b1"]])
    moment[0] = start + 10 * day
    index.add_many([pages["a2"], pages["b1"]])  # b1 was seen once more
    assert index.expire(start + 5 * day) == 1
    assert groups(index) == {frozenset({"a2"}), frozenset({"b1"})}
    moment[0] = start + 20 * day
    assert index.expire(15 * day) == 0
    assert index.expire(5 * day) == 2
    assert len(index) == 0
    check_whole(index)


def test_names_can_always_be_followed(index: Index) -> None:
    """A page between two others joins their clusters; when it goes, they part again."""
    left = " ".join(f"harbour{number} stone{number}" for number in range(60))
    right = " ".join(f"valley{number} bridge{number}" for number in range(60))
    index.add(text_page(left, id="left"))
    index.add(text_page(right, id="right"))
    names = {page: index.page(page).cluster for page in ("left", "right")}  # type: ignore[union-attr]
    assert names["left"] != names["right"]
    index.give_feedback("left", "right", duplicate=True)
    joined = index.cluster(names["left"])
    assert joined == index.cluster(names["right"])
    assert joined is not None
    assert set(joined.members) == {"left", "right"}
    gone = (set(names.values()) - {joined.name}).pop()
    assert [event.kind for event in index.history(gone)][-1] == "merged"
    index.take_back_feedback("left", "right")
    assert groups(index) == {frozenset({"left"}), frozenset({"right"})}
    kinds = [event.kind for event in index.history(joined.name)]
    assert kinds[0] == "created"
    assert "left" in kinds
    parted = {index.page(page).cluster for page in ("left", "right")}  # type: ignore[union-attr]
    assert joined.name in parted
    [new] = parted - {joined.name}
    assert index.history(new)[0].kind == "split"
    assert index.cluster("c999") is None
    assert index.history("nonsense") == []
    check_whole(index)


def test_feedback_overrides_the_verdict(index: Index) -> None:
    pages = samples()
    index.add_many(pages.values())
    index.give_feedback("a2", "a1", duplicate=False, note="not the same")
    together = index.page("a1").cluster == index.page("a2").cluster  # type: ignore[union-attr]
    assert not together
    assert [(each.a, each.b, each.duplicate) for each in index.feedback()] == [("a1", "a2", False)]
    index.recheck()
    assert index.page("a1").cluster != index.page("a2").cluster  # type: ignore[union-attr]
    assert index.take_back_feedback("a1", "a2")
    assert not index.take_back_feedback("a1", "a2")
    assert frozenset({"a1", "a2", "a3"}) in groups(index)
    with pytest.raises(UsageError, match="no page 'x'"):
        index.give_feedback("a1", "x", duplicate=True)
    with pytest.raises(UsageError, match="two different pages"):
        index.give_feedback("a1", "a1", duplicate=True)


def test_a_recheck_says_what_a_batch_run_says(url: str, tmp_path: Path) -> None:
    records = [*sample_records(), *site_records()]
    source = write_jsonl(tmp_path / "pages.jsonl", records)
    batch = neardup.dedup(str(source), tmp_path / "out")
    expected = {frozenset(cluster.members) for cluster in batch.clusters()}
    random.Random(4).shuffle(records)
    with Index.open(url) as index:
        for record in records:
            index.add(html_page(str(record["html"]), id=str(record["id"]), url=str(record["url"])))
        found = index.recheck()
        assert found.pages == len(records)
        assert groups(index) == expected
        assert index.recheck().moved == 0
        check_whole(index)


def site_records() -> list[dict[str, object]]:
    """Pages of one site that are mostly its template, and a mirror of one of them."""
    menu = "".join(f"<p>Read all about section number {n} of our paper today</p>" for n in range(9))
    records: list[dict[str, object]] = []
    for number in range(20):
        own = " ".join(f"word{number}x{place} is told" for place in range(30))
        records.append(
            {
                "id": f"s{number:02d}",
                "url": f"http://paper.example/{number}",
                "html": f"<body>{menu}<p>{own}</p></body>",
            }
        )
    mirror = {**records[3], "id": "mirror", "url": "http://mirror.example/3"}
    return [*records, mirror]


def test_what_a_site_repeats_is_learnt_as_pages_come(index: Index) -> None:
    answers = {}
    for record in site_records():
        page = html_page(str(record["html"]), id=str(record["id"]), url=str(record["url"]))
        answers[page.id] = index.add(page)
    assert [name for name, answer in answers.items() if answer.duplicate] == ["mirror"]
    assert answers["mirror"].of == "s03"
    assert frozenset({"s03", "mirror"}) in groups(index)
    assert len(groups(index)) == 20
    check_whole(index)


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_every_method(name: str, tmp_path: Path) -> None:
    """A batch run and the index agree, whether pages come with keys, to all, or in order."""
    pages = long_pages()
    records = [
        {
            "id": page.id,
            "url": page.url,
            "html": page.body.decode(),
            "time": None if page.time is None else page.time.isoformat(),
        }
        for page in pages
    ]
    source = write_jsonl(tmp_path / "pages.jsonl", records)
    batch = neardup.dedup(str(source), tmp_path / "out", method=name)
    expected = {frozenset(cluster.members) for cluster in batch.clusters()}
    with Index.open("memory://", name) as index:
        answers = [index.add(page) for page in pages]
        assert groups(index) == expected
        firsts = {cluster.kept for cluster in index.clusters()}
        new = {answer.id for answer in answers if not answer.duplicate}
        assert firsts <= new  # two of these may be joined by a page that is near both
        assert name == "simhash" or firsts == new
        index.remove("p00")
        assert check_whole(index) == {page.id for page in pages} - {"p00"}
        index.recheck()
        index.add(pages[0])
        assert groups(index) == expected


@pytest.mark.parametrize("name", ["news-clusters", "feature-code"])
def test_a_state_may_name_pages_that_are_gone(name: str) -> None:
    preset = "paper" if name == "feature-code" else None
    first, second, third, *_ = long_pages()
    with Index.open("memory://", name, preset=preset) as index:
        index.add_many([first, second])
        assert groups(index) == {frozenset({"p00", "p01"})}
        index.remove("p00")
        answer = index.add(third)  # the state still holds p00
        assert (answer.duplicate, answer.of) == (True, "p01")
        index.remove_many(["p01", "p02"])
        assert not index.add(second).duplicate
        assert index.add(third).of == "p01"
        assert groups(index) == {frozenset({"p01", "p02"})}
        assert index.expire(timedelta(0)) == 2
        assert not index.add(first).duplicate


@pytest.mark.parametrize("name", ["own-text", "exact", "i-match", "news-clusters"])
def test_without_the_text(name: str) -> None:
    pages = long_pages()
    with Index.open("memory://", name, keep_text=False) as index:
        index.add_many(pages)
        with_text = Index.open("memory://", name)
        with_text.add_many(pages)
        assert groups(index) == groups(with_text)
        assert index.text("p00") is None
        index.recheck()
        assert groups(index) == groups(with_text)
        assert index.sizes()["text"] < with_text.sizes()["text"]
        check_whole(index)
        with_text.close()


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_store_answers_for_what_it_was_made_for(
    kind: str, tmp_path: Path, postgres: Server
) -> None:
    url = postgres.store_url() if kind == "postgresql" else f"sqlite:///{tmp_path / 'x.db'}"
    Index.open(url, "minhash", {"threshold": 0.6}).close()
    with Index.open(url) as index:
        assert index.method.name == "minhash"
        assert index.method.options.threshold == 0.6
    Index.open(url, "minhash", {"threshold": 0.6}).close()
    with pytest.raises(StoreError, match="method minhash, not own-text: omit the method"):
        Index.open(url, "own-text")
    with pytest.raises(StoreError, match=r"threshold = 0\.6: omit the options"):
        Index.open(url, "minhash", {"threshold": 0.7})
    with pytest.raises(StoreError, match="made with the text"):
        Index.open(url, keep_text=False)
    with pytest.raises(UsageError, match="unknown method"):
        Index.open("memory://", "nonsense")


def test_a_store_in_another_format() -> None:
    expected = f"format {FORMAT} and this neardup reads format {FORMAT + 1}"
    with Index.open("memory://") as index, pytest.raises(StoreError, match=expected):
        settle(index.store, Request(), FORMAT + 1)


def test_methods_that_compare_with_all_have_a_limit() -> None:
    pages = long_pages()
    with Index.open("memory://", "word-table", {"maximum_pages": 5}) as index:
        index.add_many(pages[:5])
        with pytest.raises(UsageError, match="maximum_pages"):
            index.add(pages[6])
        assert len(index) == 5


def test_a_large_cluster_takes_new_members(index: Index) -> None:
    index.bounds = Bounds(component=4)
    copies = [
        html_page(html("ferry"), id=f"copy{n}", url=f"http://h{n}.example/") for n in range(12)
    ]
    answers = [index.add(page) for page in copies]
    assert [answer.duplicate for answer in answers] == [False] + [True] * 11
    assert groups(index) == {frozenset(page.id for page in copies)}
    assert not index.add(samples()["c1"]).duplicate
    check_whole(index)


def test_hot_keys_are_bounded() -> None:
    with Index.open("memory://") as index:
        index.bounds = Bounds(hot=8, reach=3)
        for number in range(40):
            index.add(html_page(html("ferry"), id=f"m{number}", url=f"http://h{number}.example/"))
        assert len(groups(index)) == 1
        pages_of = Counter(key for key, _ in index.store.read(stored_keys))
        assert max(pages_of.values()) <= 9


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x00\x00<p>nul\x00bytes</p>" * 3,
        b"<p>" * 20_000,
        b"<script>alert(1)</script>" * 50,
        "\ufeff<p>\u202eright to left</p>".encode("utf-16"),
        b"\xff\xfe\xfa<p>broken \x80\x81 bytes</p>",
    ],
)
def test_bad_pages_are_pages(index: Index, body: bytes) -> None:
    page = RawPage("bad\0id\ud800", body, True, Source("test"), "http://bad\0.example/")
    first = index.add(page)
    assert not first.duplicate
    assert index.add(page).known
    assert index.query(page).known
    assert check_whole(index) == {first.id}


def test_pages_need_a_name(index: Index) -> None:
    with pytest.raises(UsageError, match="give it an id"):
        index.add(html_page("<p>nobody</p>"))
    assert index.add_many([]) == []


def test_the_last_of_one_id_in_a_batch_counts(index: Index) -> None:
    one, other = samples()["a1"], html_page(html("bridge"), id="a1", url="http://a.example/1")
    answers = index.add_many([one, other, samples()["c1"]])
    assert [answer.id for answer in answers] == ["a1", "a1", "c1"]
    assert groups(index) == {frozenset({"a1", "c1"})}


@pytest.mark.parametrize(
    ("one", "other"), [("a\0", "a\ufffd"), ("a\ud800", "a?"), ("a\0b\0", "a\ufffdb\0")]
)
def test_ids_that_are_stored_as_one(index: Index, one: str, other: str) -> None:
    pages = [html_page(html("ferry"), id=one), html_page(html("bridge"), id=other)]
    answers = index.add_many([*pages, samples()["c1"]])
    assert answers[0].id == answers[1].id
    assert check_whole(index) == {answers[0].id, "c1"}
    assert groups(index) == {frozenset({answers[0].id, "c1"})}


def test_long_ids_and_hosts(index: Index) -> None:
    """Longer than an index entry of PostgreSQL may be, and hard to compress."""
    noise = random.Random(1).randbytes(4_000).hex()
    pages = [
        html_page(html("ferry"), id=f"{noise}{number}", url=f"http://{noise}{number}.example/")
        for number in range(3)
    ]
    assert [answer.duplicate for answer in index.add_many(pages)] == [False, True, True]
    assert index.add(pages[1]).known
    first, second, third = (page.id for page in pages)
    index.give_feedback(first, second, duplicate=False)
    assert index.page(first).cluster != index.page(second).cluster  # type: ignore[union-attr]
    host = index.page(third).host  # type: ignore[union-attr]
    assert [each.kept for each in index.list_clusters(smallest=1, host=host)]
    assert index.remove(third)
    assert check_whole(index) == {first, second}


def test_a_page_that_the_store_refuses_is_skipped() -> None:
    """The rest of its batch is stored."""
    noise = random.Random(2)
    too_long = " ".join(noise.choice(TOPICS) + noise.randbytes(9).hex() for _ in range(20_000))
    pages = [*samples().values(), html_page(f"<p>{too_long}</p>", id="long")]
    with Index.open("memory://") as index:
        assert isinstance(index.store, MemoryStore)
        index.store._connection().setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000)
        answers = {answer.id: answer for answer in index.add_many(pages)}
        assert "too big" in (answers["long"].refused or "")
        assert not any(answer.refused for name, answer in answers.items() if name != "long")
        assert check_whole(index) == samples().keys()


def test_parsed_pages(index: Index, tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "pages.jsonl", sample_records())
    pages = list(neardup.read_pages(str(source)))
    index.add_many(pages)
    assert frozenset({"a1", "a2", "a3"}) in groups(index)
    text = index.text("a1")
    assert text is not None
    assert "harbour ferry" in text.text


def test_search_over_texts(url: str) -> None:
    texts = {
        "ferry": "The harbour ferry will run every twenty minutes from Monday, it was announced.",
        "tea": "今年的春茶比往年晚了十天，茶農說山上氣溫一直偏低。",
        "odd": 'don\'t MATCH "quoted" AND (this) OR NOT near*',
    }
    with Index.open(url, search_text=True) as index:
        index.add_many([neardup.text_page(text, id=id_) for id_, text in texts.items()])

        def found(words: str) -> set[str]:
            return {each.kept for each in index.list_clusters(smallest=1, search=words)}

        assert found("TWENTY ferry") == {"ferry"}
        assert found("twenty quoted") == set()
        for words in ("春茶", "茶农", "气温", "茶"):  # two characters, one; another script variant
            assert found(words) == {"tea"}
        assert found("茶春") == set()
        assert found('don\'t "quoted" AND (this)') == {"odd"}
        assert found("tea") == {"tea"}  # its id
        index.add(neardup.text_page("Something else entirely, with other words.", id="ferry"))
        assert found("twenty") == set()
        assert found("entirely") == {"ferry"}
        index.remove("tea")
        assert found("春茶") == set()
        assert index.sizes()["search"] > 0
    with pytest.raises(UsageError, match="keeps texts"):
        Index.open("memory://", keep_text=False, search_text=True)
    if not url.startswith("memory:"):
        with pytest.raises(StoreError, match="with search over texts"):
            Index.open(url, search_text=False)


def test_looking(index: Index) -> None:
    index.add_many(samples().values())
    largeest, second = index.list_clusters()
    assert (largeest.size, largeest.kept, second.size) == (3, "a1", 2)
    assert [each.name for each in index.list_clusters(host="c.example")] == [largeest.name]
    assert [each.name for each in index.list_clusters(search="FERRY")] == [largeest.name]
    assert index.list_clusters(search="%") == []
    assert len(index.list_clusters(smallest=1, most=2, skip=2)) == 2
    assert index.list_clusters(since=datetime(2999, 1, 1, tzinfo=UTC)) == []
    assert [page.id for page in index.members(largeest.name)] == ["a1", "a2", "a3"]
    stats = index.stats()
    assert (stats.pages, stats.clusters, stats.duplicates, stats.undecided) == (7, 4, 3, 1)
    assert index.explain("a1", "a2").relation is Relation.SAME
    with pytest.raises(UsageError, match="no page"):
        index.explain("a1", "zz")
    with pytest.raises(UsageError, match="sorted"):
        index.list_clusters(sort="colour")  # type: ignore[arg-type]


def test_paper_presets_are_kept(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    Index.open(url, "simhash", preset="paper").close()
    with Index.open(url) as index:
        expected = make_method("simhash", preset="paper").options
        assert index.method.options == expected


# The feed of changes


def test_changes_are_those_of_all_histories_in_order(index: Index) -> None:
    pages = long_pages()
    for page in pages:
        index.add(page)
    index.remove(pages[3].id)
    every = ("created", "merged", "split", "joined", "left", "removed")
    feed = index.changes(kinds=every)
    assert not feed.more
    numbers = [change.number for change in feed.changes]
    assert numbers == sorted(set(numbers))
    assert feed.next == numbers[-1]
    told = [(each.at, each.cluster, each.kind, each.page, each.other) for each in feed.changes]
    names = sorted({change.cluster for change in feed.changes})
    history = [
        (each.at, each.cluster, each.kind, each.page, each.other)
        for name in names
        for each in index.history(name)
    ]
    assert sorted(told, key=str) == sorted(history, key=str)
    main = index.changes()
    assert {change.kind for change in main.changes} == {"created"}
    assert main.next == feed.next  # nothing is searched twice


def test_the_feed_is_read_in_parts_and_nothing_is_missed(index: Index) -> None:
    for page in long_pages():
        index.add(page)
    whole = index.changes(kinds=("created", "joined")).changes
    since, parts = 0, []
    while True:
        feed = index.changes(since, kinds=("created", "joined"), most=4)
        parts += feed.changes
        since = feed.next
        if not feed.more:
            break
    assert parts == whole
    assert index.changes(since).changes == []
    index.add(text_page("Something else that nobody has said before. " * 5, id="late"))
    assert [change.page for change in index.changes(since).changes] == ["late"]
    with pytest.raises(UsageError, match="did you mean 'merged'"):
        index.changes(kinds=["merge"])
