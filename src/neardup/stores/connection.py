"""What a session asks of a database, so that its SQL is written once.

Statements are written with `?` for a value and `IN (?*)` for a list of values; each database
translates them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

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
