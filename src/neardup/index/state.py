"""The state of a method that decides in order, kept in a store.

Changes are held here until `written` goes into the store with everything else, so a query changes
nothing and a failed batch leaves nothing behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, MutableMapping
from typing import Any

from neardup.stores.records import PageRow
from neardup.stores.session import Session

ALIASES = "index/aliases"  # maps removed pages to the pages that stand for them


def turn(row: PageRow) -> tuple[bool, int, str]:
    """The order in which pages are decided: by (time, id), pages without a time last."""
    return row.time is None, row.time or 0, row.id


class StoredMap(MutableMapping[str, Any]):
    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self._name = name
        self.put: dict[str, str] = {}
        self.dropped: set[str] = set()
        self._read: dict[str, Any] = {}  # a value is never changed in place

    def __getitem__(self, key: str) -> Any:
        if key in self.dropped:
            raise KeyError(key)
        if key not in self._read:
            text = self._session.state(self._name, key)
            if text is None:
                raise KeyError(key)
            self._read[key] = json.loads(text)
        return self._read[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.put[key] = json.dumps(value)
        self._read[key] = json.loads(self.put[key])
        self.dropped.discard(key)

    def __delitem__(self, key: str) -> None:
        self[key]  # raises KeyError if the key is missing
        self.put.pop(key, None)
        self._read.pop(key, None)
        self.dropped.add(key)

    def __iter__(self) -> Iterator[str]:
        stored = set(self._session.state_keys(self._name))
        return iter((stored | self.put.keys()) - self.dropped)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class StoredState:
    """See `methods.base.State`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._maps: dict[str, StoredMap] = {}

    def map(self, name: str) -> StoredMap:
        """The map of that name, empty at first."""
        return self._maps.setdefault(name, StoredMap(self._session, name))

    @property
    def written(self) -> list[tuple[str, str, str]]:
        """Map, key and value of every entry that was set."""
        return [
            (name, key, value)
            for name, each in self._maps.items()
            for key, value in each.put.items()
        ]

    @property
    def dropped(self) -> list[tuple[str, str]]:
        """Map and key of every entry that was deleted."""
        return [(name, key) for name, each in self._maps.items() for key in each.dropped]
