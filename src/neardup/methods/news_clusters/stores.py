"""A page as the devices hand it on: what the Extractor gave, and its time.

The stores: fingerprint mapping system, document mapping system, inverted table, clock.

Each is a named map of a `State`, with plain data in it, in memory or in a database.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from neardup.methods.base import State


@dataclass(frozen=True, slots=True)
class NewsPage:
    id: str
    time: int  # microseconds
    fingerprints: tuple[int, ...]  # the title's first, if it has one
    title_words: tuple[str, ...]
    content: str  # see `content`
    text_words: tuple[str, ...]  # for the text search; empty otherwise
    digest: str


@dataclass(frozen=True, slots=True)
class Found:
    """The cluster a device found, the page that stands for it, and why."""

    cluster: str
    match: str
    similarity: float
    evidence: dict[str, object]


DAY = 24 * 3600 * 1_000_000  # microseconds, the unit of every time here


class Binding(NamedTuple):
    """What a fingerprint points to. A cluster has the id of the page that founded it."""

    cluster: str  # empty when unbound
    weight: int
    time: int  # when it was bound
    seen: list[str]  # the clusters it was seen in, up to as many as the guard counts


class FingerprintMap:
    """The fingerprint mapping system (FMS): fingerprint -> cluster, weight, time."""

    def __init__(self, state: State) -> None:
        self._map = state.map("news-clusters/fingerprints")

    def get(self, fingerprint: int) -> Binding | None:
        values = self._map.get(_name(fingerprint))
        if values is None:
            return None
        bound, seen = values[:3], values[3:]
        return Binding(*bound, *(seen or [[bound[0]]]))

    def put(self, fingerprint: int, binding: Binding) -> None:
        """Most fingerprints are seen in their own cluster only, which need not be said."""
        *bound, seen = binding
        said = [] if seen == [binding.cluster] else [seen]
        self._map[_name(fingerprint)] = [*bound, *said]


class Document(NamedTuple):
    """What is remembered of a page."""

    head: str  # the fingerprint that stands for its cluster
    cluster: str
    time: int
    digest: str  # of its text
    content: str  # what the Comparer compares: packed word counts, or a text


class DocumentMap:
    """The document mapping system (DMS): page -> head, cluster, time, content."""

    def __init__(self, state: State) -> None:
        self._map = state.map("news-clusters/documents")

    def __getitem__(self, page: str) -> Document:
        return Document(*self._map[page])

    def __setitem__(self, page: str, document: Document) -> None:
        self._map[page] = list(document)


class InvertedTable:
    """Word -> pages, kept by day so that a window of days is looked up and no more."""

    def __init__(self, state: State) -> None:
        self._words = _Lists(state, "news-clusters/words")
        self._days = _Lists(state, "news-clusters/days")

    def add(self, page: str, time: int, words: Iterable[str]) -> None:
        day = time // DAY
        self._days.append(str(day), page)
        for word in dict.fromkeys(words):
            self._words.append(f"{day}/{word}", page)

    @property
    def is_empty(self) -> bool:
        """Whether no page was ever added."""
        return self._days.is_empty

    def days(self, time: int, window: float) -> list[int]:
        """The days with pages from `window` days before a time to as much after it.

        Later pages are there only when pages do not come in the order of time.
        """
        reach = int(window * DAY)
        every = range((time - reach) // DAY, (time + reach) // DAY + 1)
        return [day for day in every if self._days.count(str(day))]

    def count(self, days: Iterable[int]) -> int:
        """How many pages some days have."""
        return sum(self._days.count(str(day)) for day in days)

    def pages(self, days: Iterable[int]) -> list[str]:
        """All pages of some days."""
        return [page for day in days for page in self._days.read(str(day))]

    def frequency(self, word: str, days: Iterable[int]) -> int:
        """How many pages of some days have a word."""
        return sum(self._words.count(f"{day}/{word}") for day in days)

    def having(self, word: str, days: Iterable[int]) -> list[str]:
        """The pages of some days that have a word."""
        return [page for day in days for page in self._words.read(f"{day}/{word}")]


class _Lists:
    """Lists that grow in a map whose values are replaced whole: in pieces of `PIECE`."""

    PIECE = 64

    def __init__(self, state: State, name: str) -> None:
        self._counts = state.map(f"{name}/counts")
        self._pieces = state.map(name)

    @property
    def is_empty(self) -> bool:
        return not self._counts

    def append(self, name: str, value: str) -> None:
        count = self.count(name)
        piece = f"{count // self.PIECE}/{name}"
        self._pieces[piece] = [*self._pieces.get(piece, ()), value]
        self._counts[name] = count + 1

    def count(self, name: str) -> int:
        count: int = self._counts.get(name, 0)
        return count

    def read(self, name: str) -> list[str]:
        pieces = range(-(-self.count(name) // self.PIECE))
        return [value for piece in pieces for value in self._pieces[f"{piece}/{name}"]]


class Clock:
    """The latest time seen: the time of a page that has none of its own."""

    def __init__(self, state: State) -> None:
        self._map = state.map("news-clusters/clock")

    def time_of(self, stated: int | None) -> int:
        latest: int = self._map.get("latest", 0)
        time = latest if stated is None else stated
        if time > latest:
            self._map["latest"] = time
        return time


def _name(fingerprint: int) -> str:
    return f"{fingerprint:016x}"
