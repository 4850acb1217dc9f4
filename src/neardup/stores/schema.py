"""The tables of a store, the steps from one version to the next, and what a database must offer.

SQL is written once, in `session.py` and here, with `?` for a value and `IN (?*)` for a list of
values; each database translates that (`Connection`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from neardup.errors import StoreError

Row = tuple[Any, ...]
Values = Sequence[int] | Sequence[str]


class Connection(Protocol):
    """A connection inside a transaction."""

    def rows(self, sql: str, *values: object) -> list[Row]:
        """The rows that a query gives."""

    def run(self, sql: str, *values: object) -> None:
        """Run one statement."""

    def run_many(self, sql: str, rows: Iterable[Row]) -> None:
        """Run one statement for each row."""

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        """Add rows that are not there yet, the quickest way there is."""

    def bytes_of(self, table: str) -> int:
        """What a table takes on disk with its indexes."""


# What each table is for, in the words of `Index.sizes`.
PARTS = {
    "bookkeeping": ("pages", "sites", "edges", "clusters", "events", "settings", "feedback"),
    "keys": ("keys",),
    "verification": ("features",),
    "text": ("texts",),
    "template": ("surveys",),
    "state": ("state",),
}

# {int}, {bool}, {blob} and {real} are the database's own; {packed} makes a table its own index;
# {hashed} is how the database indexes a hash of a text, or empty if its indexes take any text.
VERSION_1 = (
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE pages (
        number {int} NOT NULL PRIMARY KEY, id TEXT NOT NULL UNIQUE, url TEXT NOT NULL,
        host TEXT NOT NULL, title TEXT NOT NULL, time {int}, added {int} NOT NULL,
        seen {int} NOT NULL, size {int} NOT NULL, length {int} NOT NULL,
        digest {int} NOT NULL, sister {int} NOT NULL, decidable {bool} NOT NULL,
        cluster {int} NOT NULL)""",
    "CREATE INDEX pages_by_cluster ON pages (cluster)",
    "CREATE INDEX pages_by_host ON pages (host)",
    "CREATE INDEX pages_by_seen ON pages (seen)",
    "CREATE TABLE texts (number {int} NOT NULL PRIMARY KEY, content {blob} NOT NULL)",
    "CREATE TABLE features (number {int} NOT NULL PRIMARY KEY, content {blob} NOT NULL)",
    "CREATE TABLE surveys (number {int} NOT NULL PRIMARY KEY, content {blob} NOT NULL)",
    """CREATE TABLE keys (
        key {int} NOT NULL, number {int} NOT NULL, PRIMARY KEY (key, number)){packed}""",
    """CREATE TABLE sites (
        site {int} NOT NULL, number {int} NOT NULL, PRIMARY KEY (site, number)){packed}""",
    "CREATE INDEX sites_by_page ON sites (number)",
    """CREATE TABLE edges (
        a {int} NOT NULL, b {int} NOT NULL, relation TEXT NOT NULL, similarity {real},
        PRIMARY KEY (a, b)){packed}""",
    "CREATE INDEX edges_by_b ON edges (b)",
    """CREATE TABLE clusters (
        cluster {int} NOT NULL PRIMARY KEY, size {int} NOT NULL, created {int} NOT NULL,
        changed {int} NOT NULL, moved_to {int})""",
    "CREATE INDEX clusters_by_size ON clusters (size, cluster)",
    "CREATE INDEX clusters_by_change ON clusters (changed, cluster)",
    """CREATE TABLE events (
        number {int} NOT NULL PRIMARY KEY, at {int} NOT NULL, cluster {int} NOT NULL,
        kind TEXT NOT NULL, page TEXT NOT NULL, other {int})""",
    "CREATE INDEX events_by_cluster ON events (cluster)",
    """CREATE TABLE state (
        map TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
        PRIMARY KEY (map, key)){packed}""",
    """CREATE TABLE feedback (
        a TEXT NOT NULL, b TEXT NOT NULL, duplicate {bool} NOT NULL, at {int} NOT NULL,
        note TEXT NOT NULL, PRIMARY KEY (a, b))""",
)


def _make_tables(connection: Connection, types: dict[str, str]) -> None:
    for statement in VERSION_1:
        connection.run(statement.format(**types))


# The first page of a cluster is looked up for every page that joins a large one.
VERSION_2 = (
    "DROP INDEX pages_by_cluster",
    "CREATE INDEX pages_by_cluster ON pages (cluster, number)",
)
# PostgreSQL refuses index entries above 2.7 KB; ids and hosts may be longer.
VERSION_2_HASHED = (
    "ALTER TABLE pages DROP CONSTRAINT pages_id_key",
    "ALTER TABLE pages ADD CONSTRAINT pages_id_key EXCLUDE {hashed} (id WITH =)",
    "DROP INDEX pages_by_host",
    "CREATE INDEX pages_by_host ON pages {hashed} (host)",
    "ALTER TABLE state DROP CONSTRAINT state_pkey",
    "CREATE INDEX state_by_key ON state {hashed} (key)",
    "CREATE INDEX state_by_map ON state (map)",
    "ALTER TABLE feedback DROP CONSTRAINT feedback_pkey",
    "CREATE INDEX feedback_by_a ON feedback {hashed} (a)",
)


def _index_long_texts(connection: Connection, types: dict[str, str]) -> None:
    statements = VERSION_2 + (VERSION_2_HASHED if types["hashed"] else ())
    for statement in statements:
        connection.run(statement.format(**types))


Step = Callable[[Connection, dict[str, str]], None]

# Step n takes a store from version n to version n + 1. A step that has been released never changes.
STEPS: list[Step] = [_make_tables, _index_long_texts]


def migrate(
    connection: Connection, types: dict[str, str], version: int, steps: Sequence[Step] = STEPS
) -> int:
    """Bring a store from `version` (0: nothing is there) to the newest; gives that version."""
    if version > len(steps):
        raise StoreError(
            f"the store has version {version} and this neardup knows versions up to {len(steps)}: "
            "update neardup"
        )
    for step in steps[version:]:
        step(connection, types)
    newest = len(steps)
    if version < newest:
        connection.run("DELETE FROM settings WHERE name = ?", "version")
        connection.run("INSERT INTO settings VALUES (?, ?)", "version", str(newest))
    return newest
