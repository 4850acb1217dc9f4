"""The settings of a crawl, read and checked before its first request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from neardup.errors import UsageError


class ScrapySettings(Protocol):
    """What is asked of Scrapy's settings."""

    def get(self, name: str, default: Any = None) -> Any:
        """A setting as it was given."""

    def getbool(self, name: str, default: bool = False) -> bool:
        """A setting as a bool; ValueError if it is none."""

    def getdict(self, name: str, default: dict[str, Any] | None = None) -> dict[str, Any]:
        """A setting as a dictionary; ValueError if it is none."""


@dataclass(frozen=True)
class CrawlSettings:
    """Each field is the Scrapy setting NEARDUP_<FIELD>; the defaults are those of Scrapy's."""

    store: str  # sqlite:///file.db or postgresql://host/database; shared by crawls and restarts
    method: str | None = None  # of a new store: own-text; of another: its own
    options: Mapping[str, Any] | None = None  # of the method
    keep_text: bool | None = None  # of a new store: yes; of another: as it does
    action: str = "drop"  # what is done with items of duplicates: drop or flag
    field: str = "neardup"  # the field of an item that the flag is written to
    follow_duplicates: bool = True  # whether links found on duplicates are followed
    cluster_budget: int = 1  # pages of a cluster that pass before the others are duplicates
    trap_pages: int = 50  # the last pages of a host that are looked at; 0: no watch for traps
    trap_share: float = 0.9  # the share of them with nothing new that makes a trap
    trap_action: str = "warn"  # warn, or stop: links found on such pages are not followed

    def __post_init__(self) -> None:
        _one_of("NEARDUP_ACTION", self.action, "drop", "flag")
        _one_of("NEARDUP_TRAP_ACTION", self.trap_action, "warn", "stop")
        _within("NEARDUP_CLUSTER_BUDGET", self.cluster_budget, 1)
        _within("NEARDUP_TRAP_PAGES", self.trap_pages, 0)
        _within("NEARDUP_TRAP_SHARE", self.trap_share, 0, 1)


def read_settings(given: ScrapySettings) -> CrawlSettings:
    """The settings of a crawl; `UsageError` names what is wrong."""
    if not given.get("NEARDUP_STORE"):
        raise UsageError(
            "NEARDUP_STORE is not set: write NEARDUP_STORE = 'sqlite:///crawl.db', or "
            "NEARDUP_ENABLED = False to crawl without neardup"
        )
    readers: dict[str, Callable[[Any], Any]] = {
        "store": str,
        "method": str,
        "options": lambda _: given.getdict("NEARDUP_OPTIONS"),
        "keep_text": lambda _: given.getbool("NEARDUP_KEEP_TEXT"),
        "action": str,
        "field": str,
        "follow_duplicates": lambda _: given.getbool("NEARDUP_FOLLOW_DUPLICATES"),
        "cluster_budget": int,
        "trap_pages": int,
        "trap_share": float,
        "trap_action": str,
    }
    values: dict[str, Any] = {}
    for field, reader in readers.items():
        name = f"NEARDUP_{field.upper()}"
        value = given.get(name)
        if value is not None:
            try:
                values[field] = reader(value)
            except (TypeError, ValueError) as error:
                raise UsageError(f"{name} = {value!r}: {error}") from None
    return CrawlSettings(**values)


def _one_of(name: str, value: str, *choices: str) -> None:
    if value not in choices:
        raise UsageError(f"{name} = {value!r}: write {' or '.join(map(repr, choices))}")


def _within(name: str, value: float, least: float, most: float | None = None) -> None:
    if value < least:
        raise UsageError(f"{name} = {value!r} is below {least}")
    if most is not None and value > most:
        raise UsageError(f"{name} = {value!r} is above {most}")
