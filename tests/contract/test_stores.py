"""Every store through one suite: what an index relies on, whatever keeps its rows."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from index_checks import stored_keys
from neardup.errors import NeardupError, RefusedError, StoreError, UsageError
from neardup.stores import keys, schema
from neardup.stores.records import ClusterRow, Edge, EventRow, FeedbackRow, PageRow
from neardup.stores.schema import Connection
from neardup.stores.session import Session
from neardup.stores.store import Store, open_store
from postgres import Server

POSTGRES = pytest.param("postgresql", marks=pytest.mark.xdist_group("postgres"))
LARGEST, SMALLEST = 2**63 - 1, -(2**63)


def new_url(kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    if kind == "postgresql":
        server: Server = request.getfixturevalue("postgres")
        return server.store_url()
    return "memory://" if kind == "memory" else f"sqlite:///{folder / 'store.db'}"


@pytest.fixture(params=["memory", "sqlite", POSTGRES])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = open_store(new_url(request.param, tmp_path, request))
    yield opened
    opened.close()


@pytest.fixture(params=["sqlite", POSTGRES])
def lasting_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return new_url(request.param, tmp_path, request)


def page(number: int, id: str = "", *, cluster: int = 1, seen: int = 5) -> PageRow:  # noqa: A002
    name = id or f"p{number}"
    return PageRow(
        number, name, "http://a/", "a", "T", None, 5, seen, 9, 3, -7, LARGEST, True, cluster
    )


def written(store: Store, work: Callable[[Session], object]) -> None:
    store.write(work)


def test_pages_come_back_as_they_went_in(store: Store) -> None:
    odd = page(1, "http://例/?q='\"%s?*{}\u2028\U0001f600")
    timed = page(2)._replace(time=-5, decidable=False, sister=SMALLEST)
    store.write(lambda session: session.put_pages([odd, timed]))
    found = store.read(lambda session: session.known([odd.id, "p2", "p3"]))
    assert found == {odd.id: odd, "p2": timed}
    assert store.read(lambda session: session.pages([2, 9])) == {2: timed}
    assert store.read(lambda session: session.pages_after(1, 10)) == [timed]
    assert store.read(lambda session: session.count_pages()) == 2


def test_what_raises_leaves_nothing_behind(store: Store) -> None:
    def failing(session: Session) -> None:
        session.put_pages([page(1)])
        session.put_keys([(1, 1)])
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        store.write(failing)
    assert store.read(lambda session: session.count_pages()) == 0
    assert store.read(lambda session: session.postings([1])) == []
    store.write(lambda session: session.put_pages([page(1)]))  # and the store goes on
    assert store.read(lambda session: session.count_pages()) == 1


def test_an_id_is_there_once(store: Store) -> None:
    store.write(lambda session: session.put_pages([page(1, "same")]))
    with pytest.raises(StoreError):
        store.write(lambda session: session.put_pages([page(2, "same")]))
    assert store.read(lambda session: session.count_pages()) == 1


def test_keys_of_the_whole_range(store: Store) -> None:
    entries = [(SMALLEST, 1), (0, 1), (0, 2), (LARGEST, 2)]
    store.write(lambda session: session.put_keys(entries))
    every = [SMALLEST, 0, LARGEST, 4]
    assert sorted(store.read(lambda session: session.postings(every))) == entries
    store.write(lambda session: session.drop_keys([(0, 1), (5, 5)]))
    assert store.read(lambda session: session.postings([0])) == [(0, 2)]
    assert store.read(lambda session: session.postings([])) == []
    store.write(lambda session: session.clear_keys())
    assert store.read(lambda session: session.postings(every)) == []


def test_keys_move_from_the_log_to_the_table(
    lasting_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes and whoever reads, however much of the log they know; failures leave none."""
    monkeypatch.setattr(keys, "LOGGED", 20)
    monkeypatch.setattr(keys, "MOVED_AT_ONCE", 7)
    chance = random.Random(4)
    stores = [open_store(lasting_url) for _ in range(3)]
    held: set[tuple[int, int]] = set()
    everything = [SMALLEST, LARGEST, *(chance.randrange(SMALLEST, LARGEST) for _ in range(40))]

    def change(session: Session, new: list[tuple[int, int]], old: list[tuple[int, int]]) -> None:
        session.drop_keys(old)
        session.put_keys(new)
        expected = sorted(held.difference(old).union(new))
        assert sorted(session.postings(everything)) == expected
        if chance.random() < 0.2:
            raise RuntimeError("undone")

    for number in range(200):
        new = [(key, number) for key in chance.sample(everything, chance.randrange(6))]
        old = chance.sample(sorted(held), min(len(held), chance.randrange(5)))
        with suppress(RuntimeError):
            chance.choice(stores).write(partial(change, new=new, old=old))
            held = held.difference(old).union(new)
        reader = chance.choice(stores)
        assert sorted(reader.read(lambda session: session.postings(everything))) == sorted(held)
        assert sorted(reader.read(stored_keys)) == sorted(held)
    rows = stores[0].read(lambda session: session.select("SELECT count(*) FROM recent_keys"))
    assert rows[0][0] < 100  # those before the last sweep are gone
    stores[1].write(lambda session: session.clear_keys())
    for store in stores:
        assert store.read(lambda session: session.postings(everything)) == []
        store.close()


def test_content_by_name(store: Store) -> None:
    content = [(1, b"\x00\xff"), (2, b"")]
    store.write(lambda session: session.put_content("features", content))
    assert store.read(lambda session: session.content("features", [1, 2, 3])) == dict(content)
    assert store.read(lambda session: session.content("texts", [1])) == {}
    store.write(lambda session: session.replace_content("features", [(2, b"new"), (3, b"three")]))
    found = store.read(lambda session: session.content("features", [1, 2, 3]))
    assert found == {1: b"\x00\xff", 2: b"new", 3: b"three"}


def test_sites_newest_first(store: Store) -> None:
    store.write(lambda session: session.put_sites([(-4, 1), (-4, 3), (7, 2)]))
    assert store.read(lambda session: session.on_sites([-4, 7])) == [(-4, 3), (-4, 1), (7, 2)]
    store.write(lambda session: session.drop_sites([(-4, 3)]))
    assert store.read(lambda session: session.on_sites([-4])) == [(-4, 1)]


def test_edges_from_either_end(store: Store) -> None:
    edges = [Edge(1, 2, "near", 0.75), Edge(2, 5, "overlap", None), Edge(3, 4, "same", 1.0)]
    store.write(lambda session: session.put_edges(edges))
    assert sorted(store.read(lambda session: session.edges([2]))) == edges[:2]
    assert store.read(lambda session: session.edges([5])) == [edges[1]]
    assert sorted(store.read(lambda session: session.edges([1, 2]))) == edges[:2]
    store.write(lambda session: session.drop_edges([2]))
    assert store.read(lambda session: session.edges([1, 2, 3, 5])) == [edges[2]]


def test_dropped_pages_take_all_with_them(store: Store) -> None:
    def fill(session: Session) -> None:
        session.put_pages([page(1), page(2)])
        session.put_content("texts", [(1, b"t"), (2, b"t")])
        session.put_content("surveys", [(1, b"s")])
        session.put_sites([(9, 1), (9, 2)])
        session.put_edges([Edge(1, 2, "near", 1.0)])
        session.drop_pages([1])

    store.write(fill)
    assert store.read(lambda session: session.pages([1, 2])).keys() == {2}
    assert store.read(lambda session: session.content("texts", [1, 2])).keys() == {2}
    assert store.read(lambda session: session.content("surveys", [1])) == {}
    assert store.read(lambda session: session.on_sites([9])) == [(9, 2)]
    assert store.read(lambda session: session.edges([2])) == []


def test_clusters_and_events(store: Store) -> None:
    def fill(session: Session) -> None:
        session.put_clusters([ClusterRow(1, 2, 5, 5, None), ClusterRow(2, 1, 5, 5, None)])
        session.put_pages([page(4), page(7), page(3, cluster=2)])
        session.put_events([EventRow(5, 1, "created", "p4", None)])
        session.put_events([EventRow(6, 1, "joined", "p7", 2), EventRow(6, 2, "left", "p7", 1)])
        session.assign([(1, 3)])
        session.update_clusters([ClusterRow(2, 0, 5, 8, 1)])

    store.write(fill)
    assert store.read(lambda session: session.cluster(2)) == ClusterRow(2, 0, 5, 8, 1)
    assert store.read(lambda session: session.cluster(3)) is None
    assert [row.number for row in store.read(lambda session: session.members([1]))] == [3, 4, 7]
    assert store.read(lambda session: session.firsts_of([1, 2, 3])) == {1: 3}
    events = store.read(lambda session: session.events(1))
    assert events == [EventRow(5, 1, "created", "p4", None), EventRow(6, 1, "joined", "p7", 2)]


def test_numbers_are_never_given_twice(store: Store) -> None:
    assert store.write(lambda session: session.take_numbers("page", 3)) == 1
    assert store.write(lambda session: session.take_numbers("page", 0)) == 4
    assert store.write(lambda session: session.take_numbers("page", 1)) == 4
    assert store.write(lambda session: session.take_numbers("other", 1)) == 1


def test_state_and_feedback(store: Store) -> None:
    store.write(lambda session: session.put_state([("m", "a", "1"), ("m", "b", "2")]))
    store.write(lambda session: session.put_state([("m", "a", "3"), ("n", "a", "4")]))
    assert store.read(lambda session: session.state("m", "a")) == "3"
    assert store.read(lambda session: session.state("m", "z")) is None
    assert sorted(store.read(lambda session: session.state_keys("m"))) == ["a", "b"]
    store.write(lambda session: session.drop_state([("m", "a")]))
    assert store.read(lambda session: session.state("m", "a")) is None
    said = FeedbackRow("a", "b", True, 5, "same story")
    store.write(lambda session: session.put_feedback(said._replace(duplicate=False)))
    store.write(lambda session: session.put_feedback(said))
    assert store.read(lambda session: session.feedback()) == [said]
    assert store.read(lambda session: session.feedback(["a", "c"])) == []


def test_pages_that_were_not_seen_for_long(store: Store) -> None:
    pages = [page(1, seen=10), page(2, seen=30), page(3, seen=20)]
    store.write(lambda session: session.put_pages(pages))
    assert store.read(lambda session: session.not_seen_since(25, 10)) == [1, 3]
    store.write(lambda session: session.saw([1], 40))
    assert store.read(lambda session: session.not_seen_since(25, 10)) == [3]


def test_a_reader_sees_one_moment(lasting_url: str) -> None:
    one, other = open_store(lasting_url), open_store(lasting_url)
    one.write(lambda session: session.put_pages([page(1)]))

    def look(session: Session) -> tuple[int, int]:
        before = session.count_pages()
        other.write(lambda inner: inner.put_pages([page(2)]))
        return before, session.count_pages()

    assert one.read(look) == (1, 1)
    assert one.read(lambda session: session.count_pages()) == 2
    one.close()
    other.close()


def test_it_is_there_again(lasting_url: str) -> None:
    first = open_store(lasting_url)
    first.write(lambda session: session.put_pages([page(1)]))
    first.close()
    second = open_store(lasting_url, create=False)
    assert second.read(lambda session: session.count_pages()) == 1
    second.close()


def test_a_store_that_is_not_there(lasting_url: str) -> None:
    with pytest.raises(StoreError, match="no store here"):
        open_store(lasting_url, create=False)


def test_sizes_name_every_table(store: Store) -> None:
    sizes = store.read(lambda session: session.sizes())
    assert sizes.keys() == schema.PARTS.keys()
    assert sizes["bookkeeping"] > 0


def test_a_newer_store_is_refused(lasting_url: str) -> None:
    store = open_store(lasting_url)
    newest = len(schema.STEPS)
    store.write(lambda session: session.keep_setting("version", str(newest + 1)))
    with pytest.raises(StoreError, match="update neardup"):
        open_store(lasting_url)
    store.write(lambda session: session.keep_setting("version", str(newest)))
    store.close()
    open_store(lasting_url).close()


def test_an_older_store_is_brought_up_to_date(lasting_url: str) -> None:
    store = open_store(lasting_url)
    store.write(lambda session: session.put_pages([page(1)]))

    def add_column(connection: Connection, types: dict[str, str]) -> None:
        connection.run("ALTER TABLE pages ADD COLUMN remark TEXT")

    steps = [*schema.STEPS, add_column]
    for version in (len(schema.STEPS), len(steps)):  # once is enough: then nothing is left to do
        store.write(
            lambda session, old=version: schema.migrate(session._db, {}, old, steps)  # type: ignore[misc]
        )
        rows = store.read(lambda session: session.select("SELECT number, remark FROM pages"))
        assert rows == [(1, None)]
        assert store.read(lambda session: session.settings())["version"] == str(len(steps))
    store.close()


def test_a_store_of_version_1(lasting_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is upgraded where it is, and takes ids then that were too long for it before."""
    with monkeypatch.context() as patch:
        for place in ("sqlite", "postgres"):
            patch.setattr(f"neardup.stores.{place}.STEPS", steps := schema.STEPS[:1])
            patch.setattr(f"neardup.stores.{place}.migrate", partial(schema.migrate, steps=steps))
        old = open_store(lasting_url)
        columns, row = PageRow._fields[:14], page(1)[:14]
        old.write(lambda session: session._db.insert("pages", columns, [row]))
        old.write(lambda session: session.put_state([("m", "a", "1")]))
        old.write(lambda session: session._db.run("INSERT INTO keys VALUES (?, ?)", 7, 1))
    new = open_store(lasting_url)
    assert new.read(lambda session: session.postings([7])) == [(7, 1)]
    with pytest.raises(StoreError):  # it would miss the latest keys
        old.read(lambda session: session.select("SELECT * FROM keys"))
    old.close()
    long = page(2, random.Random(3).randbytes(6_000).hex())
    new.write(lambda session: session.put_pages([long]))
    new.write(lambda session: session.put_state([("m", long.id, "2")]))
    assert new.read(lambda session: session.known(["p1", long.id])) == {
        "p1": page(1),
        long.id: long,
    }
    assert new.read(lambda session: session.state("m", long.id)) == "2"
    assert new.read(lambda session: session.firsts_of([1])) == {}
    with pytest.raises(StoreError):
        new.write(lambda session: session.put_pages([page(3, long.id)]))
    new.close()


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT repeat('x', 2000000000)", RefusedError),
        ("SELECT 1 / 0", RefusedError),
        ("SELECT nothing", StoreError),
        ("SELECT set_config('statement_timeout', '20', true), pg_sleep(0)", None),
    ],
)
def test_only_what_may_pass_is_tried_again(
    postgres: Server, sql: str, kind: type[StoreError] | None
) -> None:
    store = open_store(postgres.store_url())
    started = time.monotonic()
    if kind is None:

        def time_out(session: Session) -> None:
            session.select(sql)
            session.select("SELECT pg_sleep(30)")

        with pytest.raises(StoreError, match="timeout"):
            store.write(time_out)
    else:
        with pytest.raises(kind):
            store.write(lambda session: session.select(sql))
    assert time.monotonic() - started < 20
    store.close()


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("crawl.db", "not a store"),
        ("mysql://host/db", "not a store"),
        ("sqlite://", "names no file"),
        ("sqlite:///", "names no file"),
        ("sqlite:////nowhere/at/all/x.db", "folder"),
        ("postgresql://nobody@127.0.0.1:1/none", "no connection"),
        ("postgresql://host/db?schema=a;b", "schema"),
    ],
)
def test_bad_addresses(url: str, told: str) -> None:
    with pytest.raises(NeardupError, match=told):
        open_store(url)


def test_usage_errors_are_told_as_such() -> None:
    with pytest.raises(UsageError):
        open_store("crawl.db")


def test_a_file_of_something_else(tmp_path: Path) -> None:
    text = tmp_path / "notes.db"
    text.write_text("no database at all, but long enough to look like one\n" * 40)
    with pytest.raises(StoreError, match="not a neardup store"):
        open_store(f"sqlite:///{text}")
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as database, database:
        database.execute("CREATE TABLE birds (name TEXT)")
    database.close()
    with pytest.raises(StoreError, match="does not belong to neardup"):
        open_store(f"sqlite:///{other}")


def test_a_password_is_not_told() -> None:
    with pytest.raises(StoreError) as told:
        open_store("postgresql://me:secret@127.0.0.1:1/none")
    assert "secret" not in str(told.value)
