"""The tables of a store, the migrations between versions, and what a database must provide.

SQL is written once, in `session.py` and here, with `?` for a value and `IN (?*)` for a list of
values; each database translates that (`Connection`), and `words MATCH ?` for a word of a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from neardup.errors import StoreError

Row = tuple[Any, ...]


class Connection(Protocol):
    """A connection inside a transaction."""

    logs_keys: bool  # whether keys go to a log first (`stores.keys`), or into the table at once

    def rows(self, sql: str, *values: object) -> list[Row]:
        """The rows that a query returns."""

    def run(self, sql: str, *values: object) -> None:
        """Run one statement."""

    def run_many(self, sql: str, rows: Iterable[Row]) -> None:
        """Run one statement for each row."""

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        """Insert new rows, in the fastest way the database has."""

    def bytes_of(self, table: str) -> int:
        """Bytes on disk of a table and its indexes."""


# The purpose of each table, as `Index.sizes` reports it.
PARTS = {
    "bookkeeping": ("pages", "sites", "edges", "clusters", "events", "settings", "feedback"),
    "keys": ("sorted_keys", "recent_keys"),
    "verification": ("features",),
    "text": ("texts",),
    "template": ("surveys",),
    "state": ("state",),
    "search": ("words",),
}

MIGRATIONS = Path(__file__).parent / "migrations"


def _run_file(name: str, connection: Connection, types: dict[str, str]) -> None:
    """Run the statements of a file; `types` fills in the types that differ between databases."""
    text = (MIGRATIONS / name).read_text(encoding="utf-8").format(**types)
    for statement in text.rstrip(";\n").split(";\n"):
        connection.run(statement)


def _make_tables(connection: Connection, types: dict[str, str]) -> None:
    _run_file("1.sql", connection, types)


def _index_long_texts(connection: Connection, types: dict[str, str]) -> None:
    _run_file("2.sql", connection, types)
    if types["hashed"]:  # how the database indexes a hash of a text; empty if it indexes any text
        _run_file("2-hashed.sql", connection, types)


def _make_words(connection: Connection, types: dict[str, str]) -> None:
    _run_file(f"3-{types['words']}.sql", connection, types)


def _remember_kept(connection: Connection, types: dict[str, str]) -> None:
    _run_file("4.sql", connection, types)


def _log_keys(connection: Connection, types: dict[str, str]) -> None:
    _run_file("5.sql", connection, types)


Step = Callable[[Connection, dict[str, str]], None]

# Step n takes a store from version n to version n + 1. A step that has been released never changes.
STEPS: list[Step] = [_make_tables, _index_long_texts, _make_words, _remember_kept, _log_keys]


def migrate(
    connection: Connection, types: dict[str, str], version: int, steps: Sequence[Step] = STEPS
) -> int:
    """Migrate a store from `version` (0: empty) to the newest version, which is returned."""
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
