"""A store in PostgreSQL, shared by processes on many machines.

All writers take one advisory lock, so each sees what the previous one has written: no page is
judged twice or against half a batch. Parsing, most of the work, is done before taking the lock. If
the server goes away, the transaction is repeated once it is back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from neardup.errors import MissingExtraError, RefusedError, StoreError, UsageError
from neardup.stores.keys import KeyLogs
from neardup.stores.schema import PARTS, STEPS, Row, migrate
from neardup.stores.session import Session

try:
    import psycopg
    from psycopg import sql as composing
    from psycopg_pool import ConnectionPool, PoolTimeout
except ImportError as error:
    raise MissingExtraError("a PostgreSQL store", "postgres") from error

Result = TypeVar("Result")
Raw = psycopg.Connection[tuple[Any, ...]]

TYPES = {
    "int": "BIGINT",
    "blob": "BYTEA",
    "real": "DOUBLE PRECISION",
    "bool": "BOOLEAN",
    "packed": "",
    "hashed": "USING hash",
    "words": "tsvector",
}
SCHEMA = "neardup"  # of the tables, unless the URL says ?schema=other
PATIENCE = 60.0  # seconds to wait for a server that is away
MOST_CONNECTIONS = 8
PASSING = {  # SQLSTATE of errors that a retry can mend, beside those of the connection (08)
    "40001",  # serialization failure
    "40P01",  # deadlock
    "53300",  # too many connections
    "55P03",  # a lock is not available
    "57P01",  # the server shuts down,
    "57P02",  # has crashed,
    "57P03",  # or is starting up
}
WRITER = 0x6E656172  # the advisory lock of writers, with the hash of the schema's name


class PostgresConnection:
    """See `stores.schema.Connection`."""

    logs_keys = False  # a commit writes changes, not blocks: a log of keys would save nothing

    def __init__(self, raw: Raw) -> None:
        self.raw = raw

    def rows(self, sql: str, *values: object) -> list[Row]:
        return self.raw.execute(_translated(sql), values).fetchall()

    def run(self, sql: str, *values: object) -> None:
        self.raw.execute(_translated(sql), values or None)

    def run_many(self, sql: str, rows: Iterable[Row]) -> None:
        with self.raw.cursor() as cursor:
            cursor.executemany(_translated(sql), list(rows))

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        with (
            self.raw.cursor() as cursor,
            cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN".encode()) as copy,
        ):
            for row in rows:
                copy.write_row(row)

    def bytes_of(self, table: str) -> int:
        size = self.raw.execute("SELECT pg_total_relation_size(%s::regclass)", (table,)).fetchone()
        return int(size[0]) if size else 0


@cache
def _translated(sql: str) -> bytes:
    sql = sql.replace("words MATCH ?", "content @@ ?::tsquery")
    return sql.replace("IN (?*)", "= ANY(%s)").replace("?", "%s").encode()


class PostgresStore:
    """See `stores.store.Store`."""

    def __init__(self, url: str, *, create: bool = True) -> None:
        self._target, self._schema = _target(url)
        self.url = _without_password(url)
        self._key_logs = KeyLogs()
        self._pool: ConnectionPool[Raw] = ConnectionPool(
            self._target,
            min_size=1,
            max_size=MOST_CONNECTIONS,
            open=False,
            configure=self._configure,
            check=ConnectionPool.check_connection,
            reconnect_timeout=PATIENCE,
        )
        try:
            self._make_tables(create)
        except psycopg.OperationalError as error:
            raise StoreError(f"{self.url}: no connection: {_first_line(error)}") from error
        self._pool.open()

    def read(self, work: Callable[[Session], Result]) -> Result:
        return self._patiently("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY", work)

    def write(self, work: Callable[[Session], Result]) -> Result:
        lock = f"SELECT pg_advisory_xact_lock({WRITER}, hashtext('{self._schema}'))"
        return self._patiently(lock, work)

    def compact(self, *, thorough: bool = True) -> None:
        """Make room for new rows in the tables of this store; autovacuum does so after a while."""
        if not thorough:
            return
        tables = ", ".join(table for part in PARTS.values() for table in part)
        with self._pool.connection() as raw:
            raw.autocommit = True
            raw.execute(f"VACUUM {tables}".encode())
            raw.autocommit = False

    def close(self) -> None:
        self._pool.close()

    def _patiently(self, begin: str, work: Callable[[Session], Result]) -> Result:
        """Run `work` in a transaction; run it again if the server was away."""
        started = time.monotonic()
        pause = 0.05
        while True:
            try:
                with self._pool.connection() as raw:
                    raw.execute(begin.encode())
                    session = Session(PostgresConnection(raw), self._key_logs.own)
                    result = work(session)
                    session.finish()
                session.settle()
                return result
            except psycopg.errors.DiskFull as error:
                raise StoreError(
                    f"{self.url}: the disk is full; this batch was not stored, "
                    "earlier ones are intact"
                ) from error
            except (psycopg.DataError, psycopg.errors.ProgramLimitExceeded) as error:
                raise RefusedError(f"{self.url}: {_first_line(error)}") from error
            except (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout) as error:
                if not _may_pass(error) or time.monotonic() - started > PATIENCE:
                    raise StoreError(f"{self.url}: {_first_line(error)}") from error
                time.sleep(pause)
                pause = min(2 * pause, 2.0)
            except psycopg.Error as error:
                raise StoreError(f"{self.url}: {_first_line(error)}") from error

    def _configure(self, raw: Raw) -> None:
        raw.execute(
            composing.SQL("SET search_path TO {}").format(composing.Identifier(self._schema))
        )
        raw.commit()

    def _make_tables(self, create: bool) -> None:
        with psycopg.connect(self._target) as raw:
            raw.execute(f"SELECT pg_advisory_xact_lock({WRITER}, 0)".encode())
            there = raw.execute(
                "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = 'settings'",
                (self._schema,),
            ).fetchone()
            if not there and not create:
                raise StoreError(f"{self.url}: there is no store here")
            name = composing.Identifier(self._schema)
            raw.execute(composing.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))
            raw.execute(composing.SQL("SET LOCAL search_path TO {}").format(name))
            version = 0
            if there:
                row = raw.execute("SELECT value FROM settings WHERE name = 'version'").fetchone()
                version = int(row[0]) if row else 0
            if version != len(STEPS):
                migrate(PostgresConnection(raw), TYPES, version)


def _may_pass(error: Exception) -> bool:
    """Whether a retry may succeed: the server was away, too busy, or reported a conflict."""
    state = getattr(error, "sqlstate", None)
    return state is None or state.startswith("08") or state in PASSING


def _target(url: str) -> tuple[str, str]:
    """The connection string for psycopg, and the schema of the tables."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    schema = query.pop("schema", SCHEMA)
    if not schema.isidentifier():
        raise UsageError(f"{schema!r} cannot name a schema of tables")
    return urlunsplit(parts._replace(query=urlencode(query))), schema


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    if parts.password is None:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.replace(f":{parts.password}@", ":***@")))


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
