"""Everything the index reads and writes in a store, within one transaction, in portable SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from neardup.stores.records import ClusterRow, Edge, EventRow, FeedbackRow, PageRow
from neardup.stores.schema import PARTS, Connection, Row

Content = Literal["texts", "features", "surveys"]

PAGES_AT_ONCE = 1_000
PAGE = ", ".join(PageRow._fields)
EDGE = ", ".join(Edge._fields)
CLUSTER = ", ".join(ClusterRow._fields)


class Session:
    """A transaction over a store."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    # Settings and counters

    def settings(self) -> dict[str, str]:
        """The settings of the store, by name."""
        return dict(self._db.rows("SELECT name, value FROM settings"))

    def keep_setting(self, name: str, value: str) -> None:
        self._db.run("DELETE FROM settings WHERE name = ?", name)
        self._db.run("INSERT INTO settings VALUES (?, ?)", name, value)

    def take_numbers(self, kind: str, count: int) -> int:
        """Reserve `count` new numbers; returns the first."""
        found = self._db.rows("SELECT value FROM settings WHERE name = ?", f"next {kind}")
        first = int(found[0][0]) if found else 1
        if count:
            self.keep_setting(f"next {kind}", str(first + count))
        return first

    # Pages

    def known(self, ids: Sequence[str]) -> dict[str, PageRow]:
        """The stored pages with these ids, by id."""
        rows = self._db.rows(f"SELECT {PAGE} FROM pages WHERE id IN (?*)", list(ids))
        return {row.id: row for row in map(PageRow._make, rows)}

    def pages(self, numbers: Sequence[int]) -> dict[int, PageRow]:
        rows = self._db.rows(f"SELECT {PAGE} FROM pages WHERE number IN (?*)", list(numbers))
        return {row.number: row for row in map(PageRow._make, rows)}

    def pages_after(self, number: int, most: int) -> list[PageRow]:
        """The next pages in order of arrival."""
        sql = f"SELECT {PAGE} FROM pages WHERE number > ? ORDER BY number LIMIT ?"
        return [PageRow._make(row) for row in self._db.rows(sql, number, most)]

    def every_page(self) -> Iterator[PageRow]:
        """All pages in order of arrival, read in batches."""
        after = 0
        while found := self.pages_after(after, PAGES_AT_ONCE):
            yield from found
            after = found[-1].number

    def members(self, clusters: Sequence[int]) -> list[PageRow]:
        """The pages of these clusters, in order of arrival."""
        sql = f"SELECT {PAGE} FROM pages WHERE cluster IN (?*) ORDER BY number"
        return [PageRow._make(row) for row in self._db.rows(sql, list(clusters))]

    def firsts_of(self, clusters: Sequence[int], without: Sequence[int] = ()) -> dict[int, int]:
        """The first page of each cluster, ignoring those in `without`.

        It does not read the whole of a large cluster.
        """
        first = "SELECT min(number) FROM pages WHERE pages.cluster = clusters.cluster"
        if without:
            first += " AND NOT number IN (?*)"
        sql = f"SELECT cluster, ({first}) FROM clusters WHERE cluster IN (?*) AND size > 0"
        rows = self._db.rows(sql, *([list(without)] if without else []), list(clusters))
        return {cluster: number for cluster, number in rows if number is not None}

    def count_pages(self) -> int:
        return int(self._db.rows("SELECT count(*) FROM pages")[0][0])

    def not_seen_since(self, moment: int, most: int) -> list[int]:
        """Some of the pages that were last added before that moment."""
        sql = "SELECT number FROM pages WHERE seen < ? ORDER BY seen LIMIT ?"
        return [number for (number,) in self._db.rows(sql, moment, most)]

    def put_pages(self, rows: Sequence[PageRow]) -> None:
        self._db.insert("pages", PageRow._fields, rows)

    def update_pages(self, rows: Iterable[tuple[int, bool, int]]) -> None:
        """Update same-host group and decidability of pages; the page number comes last."""
        self._db.run_many("UPDATE pages SET sister = ?, decidable = ? WHERE number = ?", rows)

    def saw(self, numbers: Sequence[int], moment: int) -> None:
        """Record that these pages were added again."""
        self._db.run("UPDATE pages SET seen = ? WHERE number IN (?*)", moment, list(numbers))

    def assign(self, rows: Iterable[tuple[int, int]]) -> None:
        """Assign pages to clusters; the page number comes last."""
        self._db.run_many("UPDATE pages SET cluster = ? WHERE number = ?", rows)

    def drop_pages(self, numbers: Sequence[int]) -> None:
        """Delete pages with their content, sites and edges; keys are deleted separately."""
        listed = list(numbers)
        for table in ("pages", "texts", "features", "surveys", "sites"):
            self._db.run(f"DELETE FROM {table} WHERE number IN (?*)", listed)
        self._db.run("DELETE FROM words WHERE rowid IN (?*)", listed)
        self.drop_edges(listed)

    # Content, compressed

    def content(self, kind: Content, numbers: Sequence[int]) -> dict[int, bytes]:
        """The content of that name of each page that has it."""
        sql = f"SELECT number, content FROM {kind} WHERE number IN (?*)"
        return dict(self._db.rows(sql, list(numbers)))

    def put_content(self, kind: Content, rows: Iterable[tuple[int, bytes]]) -> None:
        """Insert content of pages that have none of that name."""
        self._db.insert(kind, ("number", "content"), rows)

    def replace_content(self, kind: Content, rows: Sequence[tuple[int, bytes]]) -> None:
        """Insert or replace content."""
        self.drop_content(kind, [number for number, _ in rows])
        self.put_content(kind, rows)

    def drop_content(self, kind: Content, numbers: Sequence[int]) -> None:
        self._db.run(f"DELETE FROM {kind} WHERE number IN (?*)", list(numbers))

    def put_words(self, rows: Iterable[tuple[int, str]]) -> None:
        """Insert the words of pages (`text.tokens.search_words`), for search over texts."""
        self._db.insert("words", ("rowid", "content"), rows)

    # Keys

    def postings(self, keys: Sequence[int]) -> list[tuple[int, int]]:
        """Each of these keys with each page that has it."""
        sql = "SELECT key, number FROM keys WHERE key IN (?*)"
        return [(key, number) for key, number in self._db.rows(sql, list(keys))]

    def put_keys(self, rows: Iterable[tuple[int, int]]) -> None:
        """Insert keys of pages, without repeats; sorted input is faster."""
        self._db.insert("keys", ("key", "number"), rows)

    def drop_keys(self, rows: Iterable[tuple[int, int]]) -> None:
        self._db.run_many("DELETE FROM keys WHERE key = ? AND number = ?", rows)

    def clear_keys(self) -> None:
        self._db.run("DELETE FROM keys")

    # Sites

    def on_sites(self, sites: Sequence[int]) -> list[tuple[int, int]]:
        """Each site with the pages that represent it, newest first."""
        sql = "SELECT site, number FROM sites WHERE site IN (?*) ORDER BY site, number DESC"
        return [(site, number) for site, number in self._db.rows(sql, list(sites))]

    def standing(self, numbers: Sequence[int]) -> set[int]:
        """Which of these pages represent a site."""
        sql = "SELECT DISTINCT number FROM sites WHERE number IN (?*)"
        return {number for (number,) in self._db.rows(sql, list(numbers))}

    def put_sites(self, rows: Iterable[tuple[int, int]]) -> None:
        """Add pages to those that represent a site."""
        self._db.insert("sites", ("site", "number"), rows)

    def drop_sites(self, rows: Iterable[tuple[int, int]]) -> None:
        """Remove pages from those that represent a site."""
        self._db.run_many("DELETE FROM sites WHERE site = ? AND number = ?", rows)

    # Edges

    def edges(self, numbers: Sequence[int]) -> list[Edge]:
        """The pairs of these pages."""
        listed = list(numbers)
        sql = f"SELECT {EDGE} FROM edges WHERE a IN (?*) UNION SELECT {EDGE} FROM edges WHERE b"
        return [Edge._make(row) for row in self._db.rows(f"{sql} IN (?*)", listed, listed)]

    def put_edges(self, edges: Sequence[Edge]) -> None:
        self._db.insert("edges", Edge._fields, edges)

    def drop_edges(self, numbers: Sequence[int]) -> None:
        """Delete the pairs of these pages."""
        listed = list(numbers)
        self._db.run("DELETE FROM edges WHERE a IN (?*)", listed)
        self._db.run("DELETE FROM edges WHERE b IN (?*)", listed)

    def clear_edges(self) -> None:
        self._db.run("DELETE FROM edges")

    # Clusters and their history

    def cluster(self, cluster: int) -> ClusterRow | None:
        """A present or former cluster."""
        found = self._db.rows(f"SELECT {CLUSTER} FROM clusters WHERE cluster = ?", cluster)
        return ClusterRow._make(found[0]) if found else None

    def clusters(self, clusters: Sequence[int]) -> list[ClusterRow]:
        """Present or former clusters."""
        sql = f"SELECT {CLUSTER} FROM clusters WHERE cluster IN (?*)"
        return [ClusterRow._make(row) for row in self._db.rows(sql, list(clusters))]

    def put_clusters(self, rows: Sequence[ClusterRow]) -> None:
        self._db.insert("clusters", ClusterRow._fields, rows)

    def update_clusters(self, rows: Iterable[ClusterRow]) -> None:
        sql = "UPDATE clusters SET size = ?, changed = ?, moved_to = ? WHERE cluster = ?"
        self._db.run_many(sql, ((r.size, r.changed, r.moved_to, r.cluster) for r in rows))

    def events(self, cluster: int) -> list[EventRow]:
        """The events of a cluster, in order."""
        names = ", ".join(EventRow._fields)
        sql = f"SELECT {names} FROM events WHERE cluster = ? ORDER BY number"
        return [EventRow._make(row) for row in self._db.rows(sql, cluster)]

    def put_events(self, events: Sequence[EventRow]) -> None:
        """Append to the history."""
        first = self.take_numbers("event", len(events))
        rows = [(first + place, *event) for place, event in enumerate(events)]
        self._db.insert("events", ("number", *EventRow._fields), rows)

    # The state of methods that decide in order

    def state(self, name: str, key: str) -> str | None:
        """The value of a key in a map, as text."""
        found = self._db.rows("SELECT value FROM state WHERE map = ? AND key = ?", name, key)
        return found[0][0] if found else None

    def state_keys(self, name: str) -> list[str]:
        return [key for (key,) in self._db.rows("SELECT key FROM state WHERE map = ?", name)]

    def put_state(self, rows: Sequence[tuple[str, str, str]]) -> None:
        """Insert or replace values of maps."""
        self.drop_state([(name, key) for name, key, _ in rows])
        self._db.insert("state", ("map", "key", "value"), rows)

    def drop_state(self, rows: Iterable[tuple[str, str]]) -> None:
        self._db.run_many("DELETE FROM state WHERE map = ? AND key = ?", rows)

    def clear_state(self) -> None:
        self._db.run("DELETE FROM state")

    # Feedback

    def put_feedback(self, row: FeedbackRow) -> None:
        """Insert or replace the feedback on a pair."""
        self.drop_feedback(row.a, row.b)
        self._db.insert("feedback", FeedbackRow._fields, [row])

    def drop_feedback(self, a: str, b: str) -> None:
        self._db.run("DELETE FROM feedback WHERE a = ? AND b = ?", a, b)

    def feedback(self, ids: Sequence[str] | None = None) -> list[FeedbackRow]:
        """The feedback on pairs among these pages, or on all pairs, oldest first."""
        names = ", ".join(FeedbackRow._fields)
        if ids is None:
            rows = self._db.rows(f"SELECT {names} FROM feedback ORDER BY at, a, b")
        else:
            sql = f"SELECT {names} FROM feedback WHERE a IN (?*) AND b IN (?*) ORDER BY at, a, b"
            rows = self._db.rows(sql, list(ids), list(ids))
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
