"""What the index says: frozen records for people and programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from neardup.model import Relation


@dataclass(frozen=True, slots=True)
class Answer:
    """Is this page new, or a copy, and of what?

    A duplicate is a page whose cluster had members when it came; `of` is the one it is closest
    to. A page that is no duplicate may still contain, be contained in or overlap another: then
    `of`, `relation` and `similarity` tell which. The relation is of this page to `of`.
    """

    id: str
    duplicate: bool
    cluster: str | None  # None only where a query finds a page that would be new
    of: str | None = None
    relation: Relation | None = None
    similarity: float | None = None
    evidence: dict[str, Any] = field(default_factory=dict)
    known: bool = False  # the very page was in the index already


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a cluster.

    kinds: created, joined, left (for `other`), removed (from the index), merged (into `other`),
    split (from `other`).
    """

    at: datetime
    cluster: str
    kind: str
    page: str = ""
    other: str | None = None


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page that the index holds, without its text."""

    id: str
    url: str
    host: str
    title: str
    cluster: str
    time: datetime | None
    added: datetime
    seen: datetime
    size: int
    length: int
    undecided: bool


@dataclass(frozen=True, slots=True)
class ClusterSummary:
    """A cluster as lists show it."""

    name: str
    size: int
    created: datetime
    changed: datetime
    kept: str  # the page that came first
    title: str


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a person said of a pair; `a` < `b`."""

    a: str
    b: str
    duplicate: bool
    at: datetime
    note: str = ""


@dataclass(frozen=True, slots=True)
class Rechecked:
    """What judging everything again has changed."""

    pages: int
    pairs: int
    moved: int  # pages that are in another cluster now


def cluster_name(cluster: int) -> str:
    """The name of a cluster as it is told: c1, c2 ..."""
    return f"c{cluster}"


def cluster_number(name: str) -> int | None:
    """The cluster of that name; None for what cannot be one."""
    digits = name.removeprefix("c")
    return int(digits) if digits.isdecimal() and digits.isascii() and len(digits) < 19 else None


def moment(micros: int) -> datetime:
    """A stored time."""
    return datetime.fromtimestamp(micros / 1e6, UTC)


def micros(when: datetime) -> int:
    """A time to store; without a time zone it is UTC."""
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1e6)


def now() -> int:
    """This moment, to store."""
    return micros(datetime.now(UTC))
