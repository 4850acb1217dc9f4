"""The index in a thread of its own, so that the crawl never waits for it.

One thread, because a store has one writer at a time. Pages that come while it writes are added
together when it is done: the busier the crawl, the larger the batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any

from twisted.internet.defer import Deferred

from neardup.index import Answer, Index
from neardup.integrations.scrapy.budget import Budget
from neardup.model import RawPage

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
