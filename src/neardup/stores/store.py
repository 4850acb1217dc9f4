"""What every store can do: run a function over a session, reading or writing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

from neardup.errors import UsageError
from neardup.stores.session import Session

Result = TypeVar("Result")


class Store(Protocol):
    """A place for pages that outlives the process and may be shared by many."""

    url: str  # without a password

    def read(self, work: Callable[[Session], Result]) -> Result:
        """What `work` gives over the store as it stands at one moment."""

    def write(self, work: Callable[[Session], Result]) -> Result:
        """What `work` gives, with all it has written or, if it raises, nothing of it.

        One writer at a time, over all processes. Where a server goes away, `work` is run again
        when it is back: its second run must be as good as its first.
        """

    def compact(self) -> None:
        """Give space that is not used any more back to the system."""

    def close(self) -> None:
        """Let go of files and connections."""


def open_store(url: str, *, create: bool = True) -> Store:
    """The store at `url`: sqlite:///file.db, postgresql://host/database or memory://.

    A store that is not there is made, or with `create=False` told as an error.
    """
    scheme = urlsplit(url).scheme
    if scheme == "sqlite":
        from neardup.stores.sqlite import open_sqlite  # noqa: PLC0415 - only what is used

        return open_sqlite(url, create=create)
    if scheme == "memory":
        from neardup.stores.memory import MemoryStore  # noqa: PLC0415

        return MemoryStore()
    if scheme in ("postgresql", "postgres"):
        from neardup.stores.postgres import PostgresStore  # noqa: PLC0415

        return PostgresStore(url, create=create)
    raise UsageError(
        f"{url!r} is no store: write sqlite:///file.db, postgresql://host/database or memory://"
    )
