"""A store in one SQLite file, shared by threads and processes of one machine.

Write-ahead logging lets readers continue during a write, and with `synchronous = FULL` a commit
survives a power cut. An uncommitted transaction is rolled back when the file is next opened.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from neardup.errors import RefusedError, StoreError, UsageError
from neardup.stores.keys import KeyLogs
from neardup.stores.schema import STEPS, Row, migrate
from neardup.stores.session import Session

Result = TypeVar("Result")

TYPES = {
    "int": "INTEGER",
    "blob": "BLOB",
    "real": "REAL",
    "bool": "INTEGER",
    "packed": " WITHOUT ROWID",
    "hashed": "",
    "words": "fts5",
}
PATIENCE = 120.0  # seconds to wait for another writer
SHORT = 256  # values of a list that are bound one by one; every SQLite accepts 999
STATEMENTS = 512  # prepared statements kept per connection
ROWS_AT_ONCE = 64  # rows per insert statement, within the same limit
CACHE_KIB = 64 * 1024  # bytes of the file cached per connection
WRITING = "BEGIN IMMEDIATE"
LONGEST_PAUSE = 0.002  # seconds between two looks whether another writer has ended
LOG_PAGES = 2_000  # of the write-ahead log before it is copied: writers wait for some 30 ms


class SqliteConnection:
    """See `stores.schema.Connection`."""

    logs_keys = True  # a commit writes every block that it changes

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw

    def rows(self, sql: str, *values: object) -> list[Row]:
        return self.raw.execute(*_bound(sql, values)).fetchall()

    def run(self, sql: str, *values: object) -> None:
        self.raw.execute(*_bound(sql, values))

    def run_many(self, sql: str, rows: Iterable[Row]) -> None:
        self.raw.executemany(sql, rows)

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        """Insert many rows per statement, at half the cost; the remainder one by one."""
        names, values = tuple(columns), chain.from_iterable(rows)
        full = ROWS_AT_ONCE * len(names)
        while len(some := tuple(islice(values, full))) == full:
            self.raw.execute(_inserting(table, names, ROWS_AT_ONCE), some)
        left = zip(*[iter(some)] * len(names), strict=True)
        self.raw.executemany(_inserting(table, names, 1), left)

    def bytes_of(self, table: str) -> int:
        """The pages of the file that hold the table and its indexes."""
        sql = "SELECT sum(pgsize) FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema"
        ours = "WHERE tbl_name = ? OR tbl_name LIKE ? ESCAPE '!')"  # those behind a virtual table
        size = self.raw.execute(f"{sql} {ours}", (table, f"{table}!_%")).fetchone()[0]
        return int(size or 0)


def _bound(sql: str, values: tuple[object, ...]) -> tuple[str, list[object]]:
    """A statement with its values.

    A short list becomes as many values, repeated up to a power of two, so that few statements are
    prepared; a long one becomes an array in JSON.
    """
    bound: list[object] = []
    lengths = []
    for each in values:
        if not isinstance(each, list):
            bound.append(each)
        elif 0 < len(each) <= SHORT and _plain(each):
            length = 1 << (len(each) - 1).bit_length()
            lengths.append(length)
            bound += each
            bound += each[-1:] * (length - len(each))
        else:
            lengths.append(0)
            bound.append(json.dumps(each))
    return _translated(sql, *lengths) if lengths else sql, bound


def _plain(values: list[object]) -> bool:
    """Whether values can be bound; halves of characters, which no id has, only JSON can carry."""
    return isinstance(values[0], int) or all(str(each).isascii() for each in values)


@cache
def _translated(sql: str, *lengths: int) -> str:
    """Lists of these lengths in place of each `?*`; 0 for an array in JSON."""
    for length in lengths:
        values = ", ".join("?" * length) if length else "SELECT value FROM json_each(?)"
        sql = sql.replace("?*", values, 1)
    return sql


@cache
def _inserting(table: str, columns: tuple[str, ...], rows: int) -> str:
    row = f"({', '.join('?' * len(columns))})"
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([row] * rows)}"


class SqliteStore:
    """See `stores.store.Store`."""

    def __init__(self, file: Path) -> None:
        self.url = f"sqlite:///{file}"
        self._file = file
        self._here = threading.local()  # a connection belongs to one thread
        self._open: list[sqlite3.Connection] = []
        self._key_logs = KeyLogs()
        self.write(lambda session: None)  # creates or migrates the tables

    def read(self, work: Callable[[Session], Result]) -> Result:
        return self._within("BEGIN", work)

    def write(self, work: Callable[[Session], Result]) -> Result:
        return self._within(WRITING, work)

    def compact(self, *, thorough: bool = True) -> None:
        """Free pages of the file are at its end afterwards, and the file ends before them.

        The pragma frees one page per step, and only `executescript` takes all its steps.
        """
        with self._errors_in_words():
            raw = self._connection()
            self._set_patience(raw, PATIENCE)
            raw.executescript("PRAGMA incremental_vacuum")
            if thorough:
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        while self._open:
            self._open.pop().close()
        self._here = threading.local()

    def _within(self, begin: str, work: Callable[[Session], Result]) -> Result:
        with self._errors_in_words():
            raw = self._connection()
            if begin == WRITING:
                self._set_patience(raw, 0.0)
                _begin_writing(raw)
            else:
                self._set_patience(raw, PATIENCE)
                raw.execute(begin)
            try:
                session = Session(SqliteConnection(raw), self._key_logs.own)
                result = work(session)
                session.finish()
                raw.execute("COMMIT")
            except BaseException:
                if raw.in_transaction:  # some errors have already rolled back
                    raw.execute("ROLLBACK")
                raise
            session.settle()
            return result

    def _set_patience(self, raw: sqlite3.Connection, seconds: float) -> None:
        """How long SQLite itself waits for others. The statement takes as long as a short query,
        so a thread that only writes sends it once."""
        if getattr(self._here, "patience", PATIENCE) != seconds:
            raw.execute(f"PRAGMA busy_timeout = {1000 * seconds:.0f}")
            self._here.patience = seconds

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._here, "connection", None)
        if connection is None:
            connection = self._here.connection = self._connect()
            self._open.append(connection)
        return connection

    def _connect(self) -> sqlite3.Connection:
        raw = sqlite3.connect(
            self._file,
            timeout=PATIENCE,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=STATEMENTS,
        )
        try:
            prepare(raw)
        except BaseException:
            raw.close()
            raise
        return raw

    @contextmanager
    def _errors_in_words(self) -> Iterator[None]:
        """Turn errors of the database into messages that say what to do."""
        try:
            yield
        except sqlite3.DataError as error:
            raise RefusedError(f"{self._file}: {error}") from error
        except sqlite3.Error as error:
            raise StoreError(f"{self._file}: {_in_words(error)}") from error


def _begin_writing(raw: sqlite3.Connection) -> None:
    """Wait until no other process or thread writes.

    SQLite itself would look again after ever longer pauses, up to 100 ms, in which another process
    may take turn after turn.
    """
    until, pause = time.monotonic() + PATIENCE, LONGEST_PAUSE / 8
    while True:
        try:
            raw.execute(WRITING)
            return
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > until:
                raise
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def prepare(raw: sqlite3.Connection) -> None:
    """Configure a connection, and create or migrate the tables."""
    raw.execute("PRAGMA auto_vacuum = INCREMENTAL")  # has no effect once there is a table
    raw.execute("PRAGMA journal_mode = WAL")
    raw.execute("PRAGMA synchronous = FULL")
    raw.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
    raw.execute("PRAGMA secure_delete = OFF")
    raw.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    if _version(raw) == len(STEPS):
        return
    raw.execute("BEGIN IMMEDIATE")
    try:
        migrate(SqliteConnection(raw), TYPES, _version(raw))
        raw.execute("COMMIT")
    except BaseException:
        raw.execute("ROLLBACK")
        raise


def _version(raw: sqlite3.Connection) -> int:
    tables = {name for (name,) in raw.execute("SELECT name FROM sqlite_schema").fetchall()}
    if tables and "settings" not in tables:
        raise StoreError("this database does not belong to neardup; use another file")
    if not tables:
        return 0
    return int(raw.execute("SELECT value FROM settings WHERE name = 'version'").fetchone()[0])


def _in_words(error: sqlite3.Error) -> str:
    text = str(error)
    if "full" in text:
        return "the disk is full; this batch was not stored, earlier ones are intact"
    if "locked" in text:
        return f"another process has been writing for {PATIENCE:.0f} seconds; try again"
    if "not a database" in text or "malformed" in text:
        return f"this is not a neardup store, or it is damaged ({text})"
    if "unable to open" in text:
        return "cannot be opened: check that the folder exists and that you may write to it"
    return text


def open_sqlite(url: str, *, create: bool) -> SqliteStore:
    """The store in the file that `url` names: sqlite:///relative.db or sqlite:////absolute.db."""
    name = url.removeprefix("sqlite:///")
    if name == url or not name:
        raise UsageError(
            f"{url!r} names no file: write sqlite:///file.db, or sqlite:////folder/file.db for "
            "an absolute path"
        )
    if not create and not Path(name).exists():
        raise StoreError(f"{name}: there is no store here")
    return SqliteStore(Path(name))
