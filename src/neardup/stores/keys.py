"""The keys of pages: a large sorted table, and before it a log of the latest entries.

A page has some thirty keys, each in another block of the sorted table: written there at once, they
would be half of what a commit writes. So entries are appended to the log, in one row, and later
moved into the table, a range of keys at a time: then many entries meet in each block.

A row of the log, numbered one above the row before, says what happened: entries were added or
dropped, or all entries in a range of keys were moved into the table. Whoever knows the log up to a
row reads only those after it, in the transaction that reads the table, so both are of one moment.
Moves sweep over the keys from the lowest to the highest. When a sweep ends, everything that was
there when it began has been moved, and the rows from before are deleted.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from neardup.stores.schema import Connection, Row

LOGGED = 8_192  # entries in the log that are not moved yet: 1.5 MB in the memory of each thread
MOVED_AT_ONCE = 2_048  # keys
SMALLEST, LARGEST = -(1 << 63), (1 << 63) - 1
ADDED, DROPPED, MOVED = range(3)

Entry = tuple[int, int]  # a key, and the number of a page that has it


class KeyLog:
    """The log as a thread has last seen it: `catch_up` comes first in each transaction, and
    `settle` after one that is committed.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._row = 0  # the last one known
        self._settled = True  # unless rows are known that may be undone
        self._next = SMALLEST  # from where entries are moved next
        self._swept = 0  # the row that ended the last sweep
        self._pages: dict[int, tuple[int, ...]] = {}  # by key
        self._size = 0  # in entries
        self._written = 0  # entries added and dropped since the last move

    def catch_up(self, db: Connection) -> None:
        """Read what was written since."""
        if not db.logs_keys:
            return
        if not self._settled:  # the last transaction failed
            self._forget()
        sql = "SELECT number, kind, content FROM recent_keys WHERE number > ? ORDER BY number"
        rows = db.rows(sql, self._row)
        if self._row and rows and rows[0][0] != self._row + 1:  # rows in between were deleted
            self._forget()
            rows = db.rows(sql, 0)
        for self._row, kind, content in rows:
            values = struct.unpack(f"<{len(content) // 8}q", content)
            if kind == ADDED:
                self._put(values)
            elif kind == DROPPED:
                self._take(values)
            else:
                self._pop(self._keys_in(*values))
                self._move_on(values[1])

    def settle(self) -> None:
        """What this thread has written since `catch_up` is committed."""
        self._settled = True

    def pages(self, keys: Iterable[int]) -> list[Row]:
        """Each of these keys with each page that has it, as far as they are in the log."""
        pages = self._pages
        return [(key, page) for key in pages.keys() & keys for page in pages[key]]

    def entries(self) -> list[Entry]:
        """Everything in the log."""
        return [(key, page) for key, pages in self._pages.items() for page in pages]

    def add(self, db: Connection, entries: Sequence[Entry]) -> None:
        """Add entries."""
        if not db.logs_keys:
            db.insert("sorted_keys", ("key", "number"), entries)
        else:
            values = list(chain.from_iterable(entries))
            self._write(db, ADDED, values)
            self._put(values)
            self._shorten(db)

    def drop(self, db: Connection, entries: Iterable[Entry]) -> None:
        """Drop entries, wherever they are."""
        logged: list[Entry] = []
        others: list[Entry] = []
        for key, page in entries:
            (logged if page in self._pages.get(key, ()) else others).append((key, page))
        if others:
            db.run_many("DELETE FROM sorted_keys WHERE key = ? AND number = ?", others)
        if values := list(chain.from_iterable(logged)):
            self._write(db, DROPPED, values)
            self._take(values)
            self._shorten(db)

    def clear(self, db: Connection) -> None:
        """Drop everything, in the log and in the table."""
        db.run("DELETE FROM sorted_keys")
        if db.logs_keys:
            self._empty(db)

    def _empty(self, db: Connection) -> None:
        db.run("DELETE FROM recent_keys")
        self._write(db, MOVED, [SMALLEST, LARGEST])
        self._pages.clear()
        self._size = 0
        self._move_on(LARGEST)

    def _shorten(self, db: Connection) -> None:
        """Move entries into the table while the log has too many, or too many rows say so."""
        while self._size > LOGGED or self._written > LOGGED:
            keys = self._keys_in(self._next, LARGEST)
            last = keys[MOVED_AT_ONCE - 1] if len(keys) > MOVED_AT_ONCE else LARGEST
            db.insert("sorted_keys", ("key", "number"), self._pop(keys[:MOVED_AT_ONCE]))
            if last == LARGEST:
                db.run("DELETE FROM recent_keys WHERE number < ?", self._swept)
            self._write(db, MOVED, [self._next, last])
            self._move_on(last)
        if not self._size:
            self._empty(db)

    def _write(self, db: Connection, kind: int, values: Sequence[int]) -> None:
        """Append a row: the range that was moved, or each key with its page."""
        self._settled = False
        self._row += 1
        row = self._row, kind, struct.pack(f"<{len(values)}q", *values)
        db.insert("recent_keys", ("number", "kind", "content"), [row])

    def _put(self, values: Sequence[int]) -> None:
        pages = self._pages
        for key, page in zip(values[::2], values[1::2], strict=True):
            others = pages.get(key)
            pages[key] = (*others, page) if others else (page,)
        self._size += len(values) // 2
        self._written += len(values) // 2

    def _take(self, values: Sequence[int]) -> None:
        for key, page in zip(values[::2], values[1::2], strict=True):
            before = self._pages.get(key, ())  # nothing if the row that added it is deleted
            self._pages[key] = tuple(other for other in before if other != page)
            self._size += len(self._pages[key]) - len(before)
        self._written += len(values) // 2

    def _pop(self, keys: Iterable[int]) -> list[Entry]:
        """The entries of these keys, which leave the log."""
        entries = [(key, page) for key in keys for page in self._pages.pop(key)]
        self._size -= len(entries)
        return entries

    def _move_on(self, last: int) -> None:
        """Take note that the keys up to this one have been moved."""
        self._written = 0
        self._next = last + 1 if last < LARGEST else SMALLEST
        if last == LARGEST:
            self._swept = self._row

    def _keys_in(self, first: int, last: int) -> list[int]:
        """The keys in a range, in order."""
        keys = np.fromiter(self._pages, np.int64, len(self._pages))
        chosen: list[int] = np.sort(keys[(keys >= first) & (keys <= last)]).tolist()
        return chosen


class KeyLogs(threading.local):
    """The log that each thread knows."""

    def __init__(self) -> None:
        self.own = KeyLog()
