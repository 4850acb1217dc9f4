"""What the devices share: the options, a page as they see it, and the stores.

The stores are the fingerprint mapping system, the document mapping system, the inverted table and
the clock. Each is a named map of a `State` with plain data, in memory or in a database.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from neardup.config import option
from neardup.methods.base import State


@dataclass(frozen=True, slots=True)
class NewsClustersOptions:
    features: Literal["longest-sentences", "paragraphs", "full-text", "full-stops", "slices"] = (
        option("longest-sentences", "Extractor: what is fingerprinted besides the title")
    )
    n: int = option(5, "Extractor: features per page, including the title", minimum=2)
    minimum_length: int = option(
        10, "Extractor: features with fewer characters are dropped", minimum=1
    )
    reach: int = option(
        10, "Extractor: characters on each side of a full stop (full-stops)", minimum=1
    )
    x: int = option(2, "Selector: fingerprints that must point to the same cluster", minimum=1)
    candidates: Literal["inverted", "all", "search"] = option(
        "inverted",
        "Comparer: compare with recent pages that share title words, with all recent pages, or "
        "with the results of a small text search",
    )
    documents: int = option(50, "Comparer: most candidates (inverted, search)", minimum=1)
    t: float = option(5, "Comparer: days a page stays recent (the paper: 3 to 5)", minimum=0)
    comparison: Literal["cosine", "lcs"] = option(
        "cosine", "Comparer: cosine of word counts or longest common subsequence"
    )
    k: float = option(
        0.7, "Comparer: join the best candidate if its value is above this", minimum=0, maximum=1
    )
    a0: int = option(1, "Updater: weight of a new binding; it changes in steps of 1", minimum=1)
    expiry: float = option(0, "Updater: days after which a binding expires; 0 is never", minimum=0)
    title_part: bool = option(
        True, "guard: use only the longest part of a title that names its site (Story | Paper)"
    )
    stand_in: bool = option(
        True, "guard: use the longest sentence in place of a missing title (Comparer)"
    )
    minimum_sentences: int = option(
        2, "guard: pages with fewer sentences are undecided; 0 is off", minimum=0
    )
    common: int = option(
        3, "guard: a fingerprint seen in more clusters than this has no vote; 0 is off", minimum=0
    )
    frequent: int = option(
        2000,
        "guard: words on more recent pages than this propose no candidates; 0 is off",
        minimum=0,
    )


@dataclass(frozen=True, slots=True)
class NewsPage:
    """The Extractor's output for a page, and its time."""

    id: str
    time: int  # microseconds
    fingerprints: tuple[int, ...]  # the title's first, if it has one
    title_words: tuple[str, ...]
    content: str  # as in `Document`
    text_words: tuple[str, ...]  # for the text search; empty otherwise
    digest: str


@dataclass(frozen=True, slots=True)
class Match:
    """The cluster a device found, the page that represents it, and why."""

    cluster: str
    match: str
    similarity: float
    evidence: dict[str, object]


DAY = 24 * 3600 * 1_000_000  # in microseconds, the unit of all times here


class Binding(NamedTuple):
    """The binding of a fingerprint. A cluster has the id of the page that founded it."""

    cluster: str  # empty if unbound
    weight: int
    time: int  # when it was bound
    seen: list[str]  # the clusters it was seen in, as far as the guard counts


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
        """Store a binding. Most are seen in their own cluster only, so that is the default."""
        *bound, seen = binding
        extra = [] if seen == [binding.cluster] else [seen]
        self._map[_name(fingerprint)] = [*bound, *extra]


class Document(NamedTuple):
    """What is stored of a page."""

    head: str  # the fingerprint that represents its cluster
    cluster: str
    time: int
    digest: str  # of its text
    content: str  # for the Comparer: packed word counts, or a sequence


class DocumentMap:
    """The document mapping system (DMS): page -> head, cluster, time, content."""

    def __init__(self, state: State) -> None:
        self._map = state.map("news-clusters/documents")

    def __getitem__(self, page: str) -> Document:
        return Document(*self._map[page])

    def __setitem__(self, page: str, document: Document) -> None:
        self._map[page] = list(document)


class InvertedTable:
    """Word -> pages, by day, so that a look-up reads only a window of days."""

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
        """The days with pages, from `window` days before a time to `window` days after it.

        There are later pages only if pages do not come in order of time.
        """
        reach = int(window * DAY)
        window_days = range((time - reach) // DAY, (time + reach) // DAY + 1)
        return [day for day in window_days if self._days.count(str(day))]

    def count(self, days: Iterable[int]) -> int:
        """The number of pages on these days."""
        return sum(self._days.count(str(day)) for day in days)

    def pages(self, days: Iterable[int]) -> list[str]:
        """All pages of these days."""
        return [page for day in days for page in self._days.read(str(day))]

    def frequency(self, word: str, days: Iterable[int]) -> int:
        """The number of pages of these days with the word."""
        return sum(self._words.count(f"{day}/{word}") for day in days)

    def having(self, word: str, days: Iterable[int]) -> list[str]:
        """The pages of these days with the word."""
        return [page for day in days for page in self._words.read(f"{day}/{word}")]


class _Lists:
    """Growing lists in a map whose values can only be replaced: stored in pieces of `PIECE`."""

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
    """The latest time seen, for pages without a time."""

    def __init__(self, state: State) -> None:
        self._map = state.map("news-clusters/clock")

    def time_of(self, time: int | None) -> int:
        """The time of a page, or the latest so far if it has none."""
        latest: int = self._map.get("latest", 0)
        if time is None:
            return latest
        if time > latest:
            self._map["latest"] = time
        return time


def _name(fingerprint: int) -> str:
    return f"{fingerprint:016x}"
