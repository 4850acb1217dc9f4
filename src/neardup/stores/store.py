"""The contract of stores: run a function over a session, to read or to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

from neardup.errors import UsageError
from neardup.plugins import Registry
from neardup.stores.session import Session

Result = TypeVar("Result")


class Store(Protocol):
    """Storage for an index that outlives the process and may be shared."""

    url: str  # without a password

    def read(self, work: Callable[[Session], Result]) -> Result:
        """The result of `work` over a snapshot of the store."""

    def write(self, work: Callable[[Session], Result]) -> Result:
        """The result of `work`; what it wrote is committed, or rolled back if it raises.

        There is one writer at a time over all processes. If a server goes away, `work` is run again
        once it is back, so it must be repeatable. Like `read`, it ends with `Session.finish`. A
        thread is in one transaction at a time.
        """

    def compact(self, *, thorough: bool = True) -> None:
        """Return unused space to the system; unless `thorough`, only if that is cheap."""

    def close(self) -> None:
        """Close files and connections."""


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
            f"{url!r} is not a store: it must start with one of {schemes}; for a file write "
            "sqlite:///file.db"
        )
    return opener(url, create=create)
