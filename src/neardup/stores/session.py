"""Everything the index reads and writes in a store, within one transaction, in portable SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeVar

from neardup.stores.keys import Entry, KeyLog
from neardup.stores.records import ClusterRow, Edge, EventRow, FeedbackRow, PageRow
from neardup.stores.schema import PARTS, Connection, Row

Content = Literal["texts", "features", "surveys"]

PAGES_AT_ONCE = 1_000
PAGE = ", ".join(PageRow._fields)
EDGE = ", ".join(Edge._fields)
CLUSTER = ", ".join(ClusterRow._fields)
COUNTERS = ["next cluster", "next event", "next page"]


NO_ROWS: list[Row] = []
Record = TypeVar("Record", PageRow, Edge, ClusterRow)


def _records(kind: type[Record], rows: Iterable[Row]) -> list[Record]:
    """Rows as records. `_make` would count the fields of each, which are those of the statement."""
    new = tuple.__new__
    return [new(kind, row) for row in rows]


class Session:
    """A transaction over a store.

    Pages come one by one at crawl time, so a statement that would find or change nothing is not
    sent, and counters are read once and written once (`finish`).
    """

    def __init__(self, connection: Connection, key_log: KeyLog) -> None:
        """`key_log` is what this thread knows from earlier transactions."""
        self._db = connection
        self._key_log = key_log
        self._caught_up = False
        self._counters: dict[str, int] = {}
        self._moved: set[str] = set()  # counters to be written

    def finish(self) -> None:
        """Write what is held back until the end of the transaction."""
        if self._moved:
            moved = sorted(self._moved)
            self._db.run_many(
                "UPDATE settings SET value = ? WHERE name = ?",
                [(str(self._counters[name]), name) for name in moved],
            )
            self._moved.clear()

    def settle(self) -> None:
        """The transaction is committed."""
        if self._caught_up:
            self._key_log.settle()

    # Settings and counters

    def settings(self) -> dict[str, str]:
        """The settings of the store, by name."""
        return dict(self._db.rows("SELECT name, value FROM settings"))

    def keep_setting(self, name: str, value: str) -> None:
        self._db.run("DELETE FROM settings WHERE name = ?", name)
        self._db.run("INSERT INTO settings VALUES (?, ?)", name, value)

    def take_numbers(self, kind: str, count: int) -> int:
        """Reserve `count` new numbers; returns the first."""
        name = f"next {kind}"
        if not self._counters:
            sql = "SELECT name, value FROM settings WHERE name IN (?*)"
            self._counters = {each: int(next_) for each, next_ in self._db.rows(sql, COUNTERS)}
        if name not in self._counters:
            self._counters[name] = 1
            if count:
                self._db.run("INSERT INTO settings VALUES (?, ?)", name, "1")
        first = self._counters[name]
        if count:
            self._counters[name] = first + count
            self._moved.add(name)
        return first

    def _rows_in(self, sql: str, *lists: Sequence[int] | Sequence[str]) -> list[Row]:
        """The rows of a query with lists of values; none if the lists are empty."""
        return self._db.rows(sql, *map(list, lists)) if all(lists) else NO_ROWS

    def _change(self, sql: str, values: Sequence[int]) -> None:
        """Run a statement about a list of values, unless it is empty."""
        if values:
            self._db.run(sql, list(values))

    def _insert(self, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        if listed := list(rows):
            self._db.insert(table, columns, listed)

    def _run_many(self, sql: str, rows: Iterable[Row]) -> None:
        if listed := list(rows):
            self._db.run_many(sql, listed)

    # Pages

    def known(self, ids: Sequence[str]) -> dict[str, PageRow]:
        """The stored pages with these ids, by id."""
        rows = self._rows_in(f"SELECT {PAGE} FROM pages WHERE id IN (?*)", ids)
        return {row.id: row for row in _records(PageRow, rows)}

    def pages(self, numbers: Sequence[int]) -> dict[int, PageRow]:
        rows = self._rows_in(f"SELECT {PAGE} FROM pages WHERE number IN (?*)", numbers)
        return {row.number: row for row in _records(PageRow, rows)}

    def pages_after(self, number: int, most: int) -> list[PageRow]:
        """The next pages in order of arrival."""
        sql = f"SELECT {PAGE} FROM pages WHERE number > ? ORDER BY number LIMIT ?"
        return _records(PageRow, self._db.rows(sql, number, most))

    def every_page(self) -> Iterator[PageRow]:
        """All pages in order of arrival, read in batches."""
        after = 0
        while some := self.pages_after(after, PAGES_AT_ONCE):
            yield from some
            after = some[-1].number

    def members(self, clusters: Sequence[int]) -> list[PageRow]:
        """The pages of these clusters, in order of arrival."""
        sql = f"SELECT {PAGE} FROM pages WHERE cluster IN (?*) ORDER BY number"
        return _records(PageRow, self._rows_in(sql, clusters))

    def firsts_of(self, clusters: Sequence[int], without: Sequence[int] = ()) -> dict[int, int]:
        """The first page of each cluster, ignoring those in `without`.

        It does not read the whole of a large cluster.
        """
        first = "SELECT min(number) FROM pages WHERE pages.cluster = clusters.cluster"
        if without:
            first += " AND NOT number IN (?*)"
        sql = f"SELECT cluster, ({first}) FROM clusters WHERE cluster IN (?*) AND size > 0"
        rows = self._rows_in(sql, *([without] if without else []), clusters)
        return {cluster: number for cluster, number in rows if number is not None}

    def count_pages(self) -> int:
        return int(self._db.rows("SELECT count(*) FROM pages")[0][0])

    def seen(self, numbers: Sequence[int]) -> dict[int, int]:
        """When these pages were last added."""
        return dict(self._rows_in("SELECT number, seen FROM pages WHERE number IN (?*)", numbers))

    def not_seen_since(self, moment: int, most: int) -> list[int]:
        """Some of the pages that were last added before that moment."""
        sql = "SELECT number FROM pages WHERE seen < ? ORDER BY seen LIMIT ?"
        return [number for (number,) in self._db.rows(sql, moment, most)]

    def put_pages(self, rows: Sequence[PageRow]) -> None:
        self._insert("pages", PageRow._fields, rows)

    def update_pages(self, rows: Iterable[tuple[int, bool, int]]) -> None:
        """Update same-host group and decidability of pages; the page number comes last."""
        self._run_many("UPDATE pages SET sister = ?, decidable = ? WHERE number = ?", rows)

    def saw(self, numbers: Sequence[int], moment: int) -> None:
        """Record that these pages were added again."""
        self._db.run("UPDATE pages SET seen = ? WHERE number IN (?*)", moment, list(numbers))

    def assign(self, rows: Iterable[tuple[int, int]]) -> None:
        """Assign pages to clusters; the page number comes last."""
        self._run_many("UPDATE pages SET cluster = ? WHERE number = ?", rows)

    def drop_pages(self, numbers: Sequence[int]) -> None:
        """Delete pages with their content, sites and edges; keys are deleted separately."""
        for table in ("pages", "texts", "features", "surveys", "sites"):
            self._change(f"DELETE FROM {table} WHERE number IN (?*)", numbers)
        self._change("DELETE FROM words WHERE rowid IN (?*)", numbers)
        self.drop_edges(numbers)

    # Content, compressed

    def content(self, kind: Content, numbers: Sequence[int]) -> dict[int, bytes]:
        """The content of that name of each page that has it."""
        sql = f"SELECT number, content FROM {kind} WHERE number IN (?*)"
        return dict(self._rows_in(sql, numbers))

    def put_content(self, kind: Content, rows: Iterable[tuple[int, bytes]]) -> None:
        """Insert content of pages that have none of that name."""
        self._insert(kind, ("number", "content"), rows)

    def replace_content(self, kind: Content, rows: Sequence[tuple[int, bytes]]) -> None:
        """Insert or replace content."""
        self.drop_content(kind, [number for number, _ in rows])
        self.put_content(kind, rows)

    def drop_content(self, kind: Content, numbers: Sequence[int]) -> None:
        self._change(f"DELETE FROM {kind} WHERE number IN (?*)", numbers)

    def put_words(self, rows: Iterable[tuple[int, str]]) -> None:
        """Insert the words of pages (`text.tokens.search_words`), for search over texts."""
        self._insert("words", ("rowid", "content"), rows)

    # Keys

    def postings(self, keys: Sequence[int]) -> list[Row]:
        """Each of these keys with each page that has it."""
        sql = "SELECT key, number FROM sorted_keys WHERE key IN (?*)"
        return self._rows_in(sql, keys) + self._keys().pages(keys)

    def put_keys(self, rows: Iterable[Entry]) -> None:
        """Insert keys of pages, without repeats."""
        if listed := list(rows):
            self._keys().add(self._db, listed)

    def drop_keys(self, rows: Iterable[Entry]) -> None:
        self._keys().drop(self._db, rows)

    def clear_keys(self) -> None:
        self._keys().clear(self._db)

    def _keys(self) -> KeyLog:
        if not self._caught_up:
            self._key_log.catch_up(self._db)
            self._caught_up = True
        return self._key_log

    # Sites

    def on_sites(self, sites: Sequence[int]) -> list[Row]:
        """Each site with the pages that represent it, newest first."""
        sql = "SELECT site, number FROM sites WHERE site IN (?*) ORDER BY site, number DESC"
        return self._rows_in(sql, sites)

    def standing(self, numbers: Sequence[int]) -> set[int]:
        """Which of these pages represent a site."""
        sql = "SELECT DISTINCT number FROM sites WHERE number IN (?*)"
        return {number for (number,) in self._rows_in(sql, numbers)}

    def put_sites(self, rows: Iterable[tuple[int, int]]) -> None:
        """Add pages to those that represent a site."""
        self._insert("sites", ("site", "number"), rows)

    def drop_sites(self, rows: Iterable[tuple[int, int]]) -> None:
        """Remove pages from those that represent a site."""
        self._run_many("DELETE FROM sites WHERE site = ? AND number = ?", rows)

    # Edges

    def edges(self, numbers: Sequence[int]) -> list[Edge]:
        """The pairs of these pages."""
        sql = f"SELECT {EDGE} FROM edges WHERE a IN (?*) UNION SELECT {EDGE} FROM edges WHERE b"
        return _records(Edge, self._rows_in(f"{sql} IN (?*)", numbers, numbers))

    def put_edges(self, edges: Sequence[Edge]) -> None:
        self._insert("edges", Edge._fields, edges)

    def drop_edges(self, numbers: Sequence[int]) -> None:
        """Delete the pairs of these pages."""
        self._change("DELETE FROM edges WHERE a IN (?*)", numbers)
        self._change("DELETE FROM edges WHERE b IN (?*)", numbers)

    def clear_edges(self) -> None:
        self._db.run("DELETE FROM edges")

    # Clusters and their history

    def cluster(self, cluster: int) -> ClusterRow | None:
        """A present or former cluster."""
        rows = self._db.rows(f"SELECT {CLUSTER} FROM clusters WHERE cluster = ?", cluster)
        return ClusterRow._make(rows[0]) if rows else None

    def clusters(self, clusters: Sequence[int]) -> list[ClusterRow]:
        """Present or former clusters."""
        sql = f"SELECT {CLUSTER} FROM clusters WHERE cluster IN (?*)"
        return _records(ClusterRow, self._rows_in(sql, clusters))

    def put_clusters(self, rows: Sequence[ClusterRow]) -> None:
        self._insert("clusters", ClusterRow._fields, rows)

    def update_clusters(self, rows: Iterable[ClusterRow]) -> None:
        sql = "UPDATE clusters SET size = ?, changed = ?, moved_to = ? WHERE cluster = ?"
        self._run_many(sql, ((r.size, r.changed, r.moved_to, r.cluster) for r in rows))

    def keep_pages(self, rows: Iterable[tuple[int, int]]) -> None:
        """Say which page stands for each cluster; the cluster comes last."""
        self._run_many("UPDATE clusters SET kept = ? WHERE cluster = ?", rows)

    def renumber_kept(self, rows: Iterable[tuple[int, int, int]]) -> None:
        """Another page stands for a cluster in place of one: new number, cluster, old number."""
        self._run_many("UPDATE clusters SET kept = ? WHERE cluster = ? AND kept = ?", rows)

    def events(self, cluster: int) -> list[EventRow]:
        """The events of a cluster, in order."""
        names = ", ".join(EventRow._fields)
        sql = f"SELECT {names} FROM events WHERE cluster = ? ORDER BY number"
        return [EventRow._make(row) for row in self._db.rows(sql, cluster)]

    def events_after(
        self, number: int, kinds: Sequence[str], most: int
    ) -> list[tuple[int, EventRow]]:
        """The next events of these kinds of all clusters, with their numbers."""
        names = ", ".join(EventRow._fields)
        sql = f"SELECT number, {names} FROM events WHERE number > ? AND kind IN (?*)"
        rows = self._db.rows(f"{sql} ORDER BY number LIMIT ?", number, list(kinds), most)
        return [(first, EventRow._make(rest)) for first, *rest in rows]

    def latest_event(self) -> int:
        """The number of the latest event; numbers grow from one commit to the next."""
        return int(self._db.rows("SELECT coalesce(max(number), 0) FROM events")[0][0])

    def put_events(self, events: Sequence[EventRow]) -> None:
        """Append to the history."""
        first = self.take_numbers("event", len(events))
        rows = [(first + place, *event) for place, event in enumerate(events)]
        self._insert("events", ("number", *EventRow._fields), rows)

    # The state of methods that decide in order

    def state(self, name: str, key: str) -> str | None:
        """The value of a key in a map, as text."""
        rows = self._db.rows("SELECT value FROM state WHERE map = ? AND key = ?", name, key)
        return rows[0][0] if rows else None

    def state_keys(self, name: str) -> list[str]:
        return [key for (key,) in self._db.rows("SELECT key FROM state WHERE map = ?", name)]

    def put_state(self, rows: Sequence[tuple[str, str, str]]) -> None:
        """Insert or replace values of maps."""
        self.drop_state([(name, key) for name, key, _ in rows])
        self._insert("state", ("map", "key", "value"), rows)

    def drop_state(self, rows: Iterable[tuple[str, str]]) -> None:
        self._run_many("DELETE FROM state WHERE map = ? AND key = ?", rows)

    def clear_state(self) -> None:
        self._db.run("DELETE FROM state")

    # Feedback

    def put_feedback(self, row: FeedbackRow) -> None:
        """Insert or replace the feedback on a pair."""
        self.drop_feedback(row.a, row.b)
        self._insert("feedback", FeedbackRow._fields, [row])

    def drop_feedback(self, a: str, b: str) -> None:
        self._db.run("DELETE FROM feedback WHERE a = ? AND b = ?", a, b)

    def feedback(self, ids: Sequence[str] | None = None) -> list[FeedbackRow]:
        """The feedback on pairs among these pages, or on all pairs, oldest first."""
        names = ", ".join(FeedbackRow._fields)
        if ids is None:
            rows = self._db.rows(f"SELECT {names} FROM feedback ORDER BY at, a, b")
        else:
            sql = f"SELECT {names} FROM feedback WHERE a IN (?*) AND b IN (?*) ORDER BY at, a, b"
            rows = self._rows_in(sql, ids, ids)
        return [FeedbackRow(a, b, bool(duplicate), at, note) for a, b, duplicate, at, note in rows]

    # Reports

    def select(self, sql: str, *values: object) -> list[Row]:
        """The rows of a query that only reads, for pages that people look at."""
        return self._db.rows(sql, *values)

    def sizes(self) -> dict[str, int]:
        """Bytes on disk by purpose."""
        return {
            part: sum(self._db.bytes_of(table) for table in tables)
            for part, tables in PARTS.items()
        }
