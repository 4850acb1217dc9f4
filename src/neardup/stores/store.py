"""What every store can do: run a function over a session, reading or writing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

from neardup.errors import UsageError
from neardup.plugins import Registry
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


class StoreOpener(Protocol):
    """Opens the stores of one URL scheme."""

    def __call__(self, url: str, *, create: bool) -> Store:
        """The store at `url`; without `create`, one that does not exist raises `StoreError`."""


SCHEMES: Registry[StoreOpener] = Registry(
    "neardup.stores",
    {
        "sqlite": "neardup.stores.sqlite:open_sqlite",
        "postgresql": "neardup.stores.postgres:PostgresStore",
        "postgres": "neardup.stores.postgres:PostgresStore",
        "memory": "neardup.stores.memory:open_memory",
    },
)


def open_store(url: str, *, create: bool = True) -> Store:
    """The store at `url`: sqlite:///file.db, postgresql://host/database or memory://.

    Other packages add schemes under the entry point group `neardup.stores`. A store that does not
    exist is created; with `create=False` it raises `StoreError`.
    """
    opener = SCHEMES.get(urlsplit(url).scheme)
    if opener is None:
        schemes = ", ".join(f"{scheme}://" for scheme in SCHEMES.names)
        raise UsageError(
            f"{url!r} is no store: it should start with one of {schemes}; for a file write "
            "sqlite:///file.db"
        )
    return opener(url, create=create)
