"""The state of one crawl, shared by middleware and pipeline.

`Crawl` combines the settings, the index (in a thread), the budget of each cluster, the watch for
crawl traps, and Scrapy's stats.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from twisted.internet.defer import Deferred

from neardup.errors import NeardupError, UsageError
from neardup.index import Answer, Index
from neardup.index.writer import Writer
from neardup.model import RawPage, Relation
from neardup.pages.urls import host

REMEMBERED = 100_000  # full clusters whose first pages are cached

Checked = tuple[Answer, bool]  # with whether the budget of its cluster lets the page pass

logger = logging.getLogger("neardup")


@dataclass(frozen=True)
class CrawlSettings:
    """The settings of a crawl, checked. Each field is the Scrapy setting NEARDUP_<FIELD>."""

    store: str  # sqlite:///file.db or postgresql://host/database
    method: str | None = None  # None: the store's own; own-text if it is new
    options: Mapping[str, Any] | None = None  # of the method
    keep_text: bool | None = None  # None: as the store does; True if it is new
    action: str = "drop"  # for the items of duplicates: drop or flag
    field: str = "neardup"  # the item field that gets the flag
    follow_duplicates: bool = True  # follow links found on duplicates
    cluster_budget: int = 1  # pages of each cluster that pass
    trap_pages: int = 50  # a host's latest pages to watch; 0: no watch for traps
    trap_share: float = 0.9  # a trap if at least this share had nothing new
    trap_action: str = "warn"  # warn, or stop following links from such pages

    def __post_init__(self) -> None:
        _one_of("NEARDUP_ACTION", self.action, "drop", "flag")
        _one_of("NEARDUP_TRAP_ACTION", self.trap_action, "warn", "stop")
        _within("NEARDUP_CLUSTER_BUDGET", self.cluster_budget, 1)
        _within("NEARDUP_TRAP_PAGES", self.trap_pages, 0)
        _within("NEARDUP_TRAP_SHARE", self.trap_share, 0, 1)


def read_settings(settings: BaseSettings) -> CrawlSettings:
    """Read the settings of a crawl; the `UsageError` for a bad one names it.

    Raises `NotConfigured`, which turns a component off, if NEARDUP_ENABLED is false.
    """
    if not settings.getbool("NEARDUP_ENABLED", True):
        raise NotConfigured
    if not settings.get("NEARDUP_STORE"):
        raise UsageError(
            "NEARDUP_STORE is not set: write NEARDUP_STORE = 'sqlite:///crawl.db', or "
            "NEARDUP_ENABLED = False to crawl without neardup"
        )
    readers: dict[str, Callable[[Any], Any]] = {
        "store": str,
        "method": str,
        "options": lambda _: settings.getdict("NEARDUP_OPTIONS"),
        "keep_text": lambda _: settings.getbool("NEARDUP_KEEP_TEXT"),
        "action": str,
        "field": str,
        "follow_duplicates": lambda _: settings.getbool("NEARDUP_FOLLOW_DUPLICATES"),
        "cluster_budget": int,
        "trap_pages": int,
        "trap_share": float,
        "trap_action": str,
    }
    values: dict[str, Any] = {}
    for field, reader in readers.items():
        name = f"NEARDUP_{field.upper()}"
        value = settings.get(name)
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


class Budget:
    """Lets the first `pages` pages of each cluster pass, whichever crawl added them."""

    def __init__(self, index: Index, pages: int) -> None:
        self._index = index
        self._pages = pages
        self._full: dict[str, frozenset[str]] = {}  # a cache: the pages that pass, by cluster

    def allows(self, answer: Answer) -> bool:
        if not answer.duplicate:
            return True
        if self._pages == 1 or answer.cluster is None:
            return False
        passing = self._full.get(answer.cluster)
        if passing is None:
            passing = self._first_of(answer.cluster)
        return answer.id in passing

    def _first_of(self, name: str) -> frozenset[str]:
        cluster = self._index.cluster(name)
        members = cluster.members if cluster else ()
        passing = frozenset(members[: self._pages])
        if len(passing) == self._pages:
            self._full[name] = passing  # a full cluster stays full: no need to read it again
            if len(self._full) > REMEMBERED:
                del self._full[next(iter(self._full))]
        return passing


class Traps:
    """Recognises crawl traps: hosts whose latest pages had nothing new, such as calendars.

    A host is stored as one integer: below a leading 1, one bit for each of its latest `pages`
    pages, set if it had nothing new. That keeps millions of hosts affordable.
    """

    def __init__(self, pages: int, share: float) -> None:
        self._pages = pages
        self._share = share
        self._hosts: dict[str, int] = {}
        self._reported: set[str] = set()

    def note(self, host: str, *, nothing_new: bool) -> bool:
        """Record a page of a host. True if the host has just become a trap, for the first time."""
        if not self._pages:
            return False
        pages = self._hosts.get(host, 1) << 1 | nothing_new
        full = 1 << self._pages
        self._hosts[host] = pages if pages < 2 * full else full | pages & (full - 1)
        if host in self._reported or not self.holds(host):
            return False
        self._reported.add(host)
        return True

    def holds(self, host: str) -> bool:
        """Whether the host is a trap now."""
        is_full = self._pages > 0 and self._hosts.get(host, 1) >= 1 << self._pages
        return is_full and self.copies(host) >= self._share * self._pages

    def copies(self, host: str) -> int:
        """The number of the host's latest pages that had nothing new."""
        return self._hosts.get(host, 1).bit_count() - 1


class Checking:
    """Adds pages to the index in a thread, so that the crawl never waits for it.

    Pages that arrive while it writes form the next batch: the busier the crawl, the larger the
    batches.
    """

    def __init__(self, index: Index, budget: Budget) -> None:
        self._index = index
        self._budget = budget
        self._writer = Writer(index)

    def add(self, page: RawPage) -> Awaitable[Checked]:
        """The answer to a page. Once it is there, the page is in the store."""
        return _awaitable(self._writer.add([page], self._check))

    def _check(self, answers: list[Answer]) -> Checked:
        return answers[0], self._budget.allows(answers[0])

    def close(self) -> None:
        """Finish the waiting pages and close the store."""
        self._writer.close()
        self._index.close()


def _awaitable(future: Future[Any]) -> Awaitable[Any]:
    """A thread's future as an awaitable of Scrapy's event loop: asyncio's or Twisted's."""
    try:
        return asyncio.wrap_future(future, loop=asyncio.get_running_loop())
    except RuntimeError:
        pass
    from twisted.internet import reactor  # noqa: PLC0415 - importing it installs a reactor

    deferred: Deferred[Any] = Deferred()

    def fire(done: Future[Any]) -> None:
        error = done.exception()
        if error is None:
            deferred.callback(done.result())
        else:
            deferred.errback(error)

    future.add_done_callback(lambda done: reactor.callFromThread(fire, done))
    return deferred


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to a page; a copy is a duplicate beyond the budget of its cluster."""

    answer: Answer
    is_copy: bool
    host: str

    @property
    def nothing_new(self) -> bool:
        """Whether the page is a copy, or has too little text to decide."""
        return self.is_copy or self.answer.relation is Relation.UNDECIDED


class Crawl:
    """Checks pages, counts the outcomes and decides which links to follow."""

    def __init__(self, settings: CrawlSettings, stats: Any) -> None:
        index = Index.open(
            settings.store, settings.method, settings.options, keep_text=settings.keep_text
        )
        self.settings = settings
        self._stats = stats
        self._checking = Checking(index, Budget(index, settings.cluster_budget))
        self._traps = Traps(settings.trap_pages, settings.trap_share)

    async def look_at(self, page: RawPage | str) -> Finding | None:
        """The finding on a page; None if it was not checked (a `str` is the reason)."""
        if isinstance(page, str):
            self.count(f"unchecked/{page}")
            return None
        try:
            answer, passes = await self._checking.add(page)
        except Exception as error:  # the crawl must go on: its pages matter more than our answer
            self.count("errors")
            ours = isinstance(error, NeardupError)
            logger.error("%s was not checked: %s", page.id, error, exc_info=not ours)
            return None
        finding = Finding(answer, not passes, host(page.url))
        self._count_page(finding)
        self._watch(finding)
        return finding

    def follows_links_of(self, finding: Finding | None) -> bool:
        """Whether to follow the links found on a page."""
        if finding is None:
            return True
        if finding.is_copy and not self.settings.follow_duplicates:
            return False
        in_trap = finding.nothing_new and self._traps.holds(finding.host)
        return not (in_trap and self.settings.trap_action == "stop")

    def count(self, name: str) -> None:
        """Increment a counter in Scrapy's stats."""
        self._stats.inc_value(f"neardup/{name}")

    def close(self) -> None:
        """Finish the waiting pages and close the store."""
        self._checking.close()

    def _count_page(self, finding: Finding) -> None:
        answer = finding.answer
        self.count("pages")
        if answer.duplicate:
            self.count("pages/duplicate")
            self.count(f"pages/duplicate/{answer.relation}")
            if not finding.is_copy:
                self.count("pages/within_budget")
        elif answer.relation is Relation.UNDECIDED:
            self.count("pages/undecided")
        else:
            self.count("pages/new")
        if answer.known:
            self.count("pages/known")

    def _watch(self, finding: Finding) -> None:
        """Warn once about each host that becomes a trap."""
        if not self._traps.note(finding.host, nothing_new=finding.nothing_new):
            return
        self.count("traps")
        self._stats.set_value(f"neardup/traps/{finding.host}", finding.answer.id)
        logger.warning(
            "%s may be a crawl trap: %d of its last %d pages had nothing new, most recently %s "
            "(%s). %s",
            finding.host,
            self._traps.copies(finding.host),
            self.settings.trap_pages,
            finding.answer.id,
            f"{finding.answer.relation} to {finding.answer.of}"
            if finding.is_copy
            else "too little text to decide",
            "Links from such pages are no longer followed."
            if self.settings.trap_action == "stop"
            else "Their links are still followed; NEARDUP_TRAP_ACTION = 'stop' changes that.",
        )
