"""The settings of a crawl, read and checked before its first request.

How many pages of a cluster pass as if they were new.

Crawl traps: hosts that keep giving pages with nothing new, as calendars and session ids do.

The index in a thread of its own, so that the crawl never waits for it.

One thread, because a store has one writer at a time. Pages that come while it writes are added
together when it is done: the busier the crawl, the larger the batch.

What one crawl knows: the index, the budget, the traps, and Scrapy's stats.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from twisted.internet.defer import Deferred

from neardup.errors import NeardupError, UsageError
from neardup.index import Answer, Index
from neardup.model import RawPage, Relation
from neardup.pages.urls import host


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


REMEMBERED = 100_000  # full clusters


class Budget:
    """The first `pages` pages of each cluster pass, whichever crawl brought them."""

    def __init__(self, index: Index, pages: int) -> None:
        self._index = index
        self._pages = pages
        self._full: dict[str, frozenset[str]] = {}  # who passes in full clusters, some of them

    def allows(self, answer: Answer) -> bool:
        """Whether a page passes."""
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
            self._full[name] = passing  # a cluster that is full stays so: not read again
            if len(self._full) > REMEMBERED:
                del self._full[next(iter(self._full))]
        return passing


class Traps:
    """The last pages of each host: was there anything new on them?

    A host is a number: a bit for each of its last `pages` pages, set where there was nothing new,
    under a leading one. So a crawl of millions of hosts can be watched.
    """

    def __init__(self, pages: int, share: float) -> None:
        self._pages = pages
        self._share = share
        self._hosts: dict[str, int] = {}
        self._told: set[str] = set()

    def note(self, host: str, *, nothing_new: bool) -> bool:
        """One more page of a host; True when it is the first to make the host a trap."""
        if not self._pages:
            return False
        last = self._hosts.get(host, 1) << 1 | nothing_new
        full = 1 << self._pages
        self._hosts[host] = last if last < 2 * full else full | last & (full - 1)
        if host in self._told or not self.holds(host):
            return False
        self._told.add(host)
        return True

    def holds(self, host: str) -> bool:
        """Whether the host's last pages make it a trap."""
        last = self._hosts.get(host, 1)
        full = 1 << self._pages
        return self._pages > 0 and last >= full and self.copies(host) >= self._share * self._pages

    def copies(self, host: str) -> int:
        """How many of the host's last pages had nothing new."""
        return self._hosts.get(host, 1).bit_count() - 1


AT_ONCE = 64  # pages added together, where so many wait

Checked = tuple[Answer, bool]  # and whether the budget of its cluster lets the page pass
Waiting = tuple[RawPage, Future[Checked]]


class Checking:
    """Pages in, answers out."""

    def __init__(self, index: Index, budget: Budget) -> None:
        self._index = index
        self._budget = budget
        self._waiting: SimpleQueue[Waiting] = SimpleQueue()
        self._thread = ThreadPoolExecutor(1, "neardup")

    def add(self, page: RawPage) -> Awaitable[Checked]:
        """What the page is; when this is answered, it is in the store."""
        answer: Future[Checked] = Future()
        self._waiting.put((page, answer))
        self._thread.submit(self._add_what_waits)
        return _awaitable(answer)

    def close(self) -> None:
        """Finish what waits, and let go of the store."""
        self._thread.shutdown()
        self._index.close()

    def _add_what_waits(self) -> None:
        batch = self._take()
        if not batch:
            return  # an earlier turn has added it already
        try:
            answers = self._index.add_many([page for page, _ in batch])
            checked = [(answer, self._budget.allows(answer)) for answer in answers]
        except Exception as error:  # told to those who wait
            for _, answer in batch:
                answer.set_exception(error)
        else:
            for (_, answer), found in zip(batch, checked, strict=True):
                answer.set_result(found)

    def _take(self) -> list[Waiting]:
        """Pages that wait; one whose request was cancelled meanwhile is left out."""
        batch: list[Waiting] = []
        try:
            while len(batch) < AT_ONCE:
                page, answer = self._waiting.get_nowait()
                if answer.set_running_or_notify_cancel():
                    batch.append((page, answer))
        except Empty:
            pass
        return batch


def _awaitable(future: Future[Any]) -> Awaitable[Any]:
    """A thread's future for the event loop that Scrapy runs on: asyncio's or Twisted's own."""
    try:
        return asyncio.wrap_future(future, loop=asyncio.get_running_loop())
    except RuntimeError:
        return _deferred(future)


def _deferred(future: Future[Any]) -> Deferred[Any]:
    from twisted.internet import reactor  # noqa: PLC0415 - importing it installs it

    deferred: Deferred[Any] = Deferred()

    def fire(done: Future[Any]) -> None:
        error = done.exception()
        if error is None:
            deferred.callback(done.result())
        else:
            deferred.errback(error)

    future.add_done_callback(lambda done: reactor.callFromThread(fire, done))
    return deferred


logger = logging.getLogger("neardup")


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out about a page. A copy is a duplicate that its cluster's budget refuses."""

    answer: Answer
    is_copy: bool
    host: str

    @property
    def nothing_new(self) -> bool:
        """Whether the page has no text that was not seen before."""
        return self.is_copy or self.answer.relation is Relation.UNDECIDED


class Crawl:
    """Everything that the middleware and the pipeline of one crawl share."""

    def __init__(self, settings: CrawlSettings, stats: Any) -> None:
        index = Index.open(
            settings.store, settings.method, settings.options, keep_text=settings.keep_text
        )
        self.settings = settings
        self._stats = stats
        self._checking = Checking(index, Budget(index, settings.cluster_budget))
        self._traps = Traps(settings.trap_pages, settings.trap_share)

    async def look_at(self, page: RawPage | str) -> Finding | None:
        """What a page is; None, with a count of the reason, for what was not looked at."""
        if isinstance(page, str):
            self.count(f"unchecked/{page}")
            return None
        try:
            answer, passes = await self._checking.add(page)
        except Exception as error:  # the crawl goes on: its pages are worth more than our answer
            self.count("errors")
            ours = isinstance(error, NeardupError)
            logger.error("%s passes without a check: %s", page.id, error, exc_info=not ours)
            return None
        finding = Finding(answer, not passes, host(page.url))
        self._count_page(finding)
        self._watch(finding)
        return finding

    def follows_links_of(self, finding: Finding | None) -> bool:
        """Whether links found on a page are followed."""
        if finding is None:
            return True
        if finding.is_copy and not self.settings.follow_duplicates:
            return False
        in_trap = finding.nothing_new and self._traps.holds(finding.host)
        return not (in_trap and self.settings.trap_action == "stop")

    def count(self, name: str) -> None:
        """One more of these in Scrapy's stats."""
        self._stats.inc_value(f"neardup/{name}")

    def close(self) -> None:
        """Finish what waits, and let go of the store."""
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
        """Warn once of each host that has become a trap."""
        if not self._traps.note(finding.host, nothing_new=finding.nothing_new):
            return
        self.count("traps")
        self._stats.set_value(f"neardup/traps/{finding.host}", finding.answer.id)
        logger.warning(
            "%s may be a crawl trap: %d of its last %d pages have nothing new, the latest is %s "
            "(%s). %s",
            finding.host,
            self._traps.copies(finding.host),
            self.settings.trap_pages,
            finding.answer.id,
            f"{finding.answer.relation}, of {finding.answer.of}"
            if finding.is_copy
            else "too little text to tell",
            "Links found on such pages are not followed from now on."
            if self.settings.trap_action == "stop"
            else "Links found on them are followed; NEARDUP_TRAP_ACTION = 'stop' changes that.",
        )
