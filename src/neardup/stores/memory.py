"""A store that lasts as long as the process: an SQLite database in memory.

It has the same tables and statements as on disk, so it gives the same answers.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from neardup.stores.session import Session
from neardup.stores.sqlite import STATEMENTS, SqliteStore, prepare

Result = TypeVar("Result")


class MemoryStore(SqliteStore):
    """See `stores.store.Store`. One connection, so one thread at a time."""

    def __init__(self) -> None:
        self._turn = threading.RLock()
        self._raw = sqlite3.connect(
            ":memory:",
            isolation_level=None,
            check_same_thread=False,
            cached_statements=STATEMENTS,
        )
        prepare(self._raw)
        super().__init__(Path(":memory:"))
        self.url = "memory://"

    def _within(self, begin: str, work: Callable[[Session], Result]) -> Result:
        with self._turn:
            return super()._within(begin, work)

    def _connection(self) -> sqlite3.Connection:
        return self._raw

    def close(self) -> None:
        self._raw.close()


def open_memory(url: str, *, create: bool) -> MemoryStore:
    """A new, empty store; `create` makes no difference."""
    del url, create
    return MemoryStore()
