"""A thread that writes to the index, for callers that must not wait for the store.

A store has one writer at a time, and a commit costs the same for one page as for many: pages that
arrive while the writer is busy are written together. A thousand clients that add one page each wait
for a few commits, not for a thousand.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from neardup.index.answers import Answer
from neardup.index.index import Index
from neardup.model import RawPage

PAGES_TOGETHER = 256
BYTES_TOGETHER = 16 * 1024**2

Result = TypeVar("Result")


@dataclass
class Job:
    """Pages to add, or other work that writes."""

    pages: list[RawPage] = field(default_factory=list)
    finish: Callable[[list[Answer]], Any] = list
    work: Callable[[], Any] | None = None
    done: Future[Any] = field(default_factory=Future)

    @property
    def size(self) -> int:
        return sum(len(page.body) for page in self.pages)


class Writer:
    """Runs jobs in the order they arrive; `on_written` gets the number of pages per commit."""

    def __init__(self, index: Index, on_written: Callable[[int], object] = int) -> None:
        self._index = index
        self._on_written = on_written
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()  # None: the end
        self._over: list[Job | None] = []  # taken from the queue but not started
        self._thread = Thread(target=self._run, name="neardup-writer", daemon=True)
        self._thread.start()

    def add(
        self, pages: list[RawPage], finish: Callable[[list[Answer]], Any] = list
    ) -> Future[Any]:
        """Add pages; the answers come once the pages are in the store.

        `finish` makes of them, in the writer's thread, what the caller gets.
        """
        return self._put(Job(pages, finish))

    def do(self, work: Callable[[], Result]) -> Future[Result]:
        """Run a function that writes."""
        return self._put(Job(work=work))

    def close(self) -> None:
        """Finish all jobs, then stop."""
        self._jobs.put(None)
        self._thread.join()

    def _put(self, job: Job) -> Future[Any]:
        self._jobs.put(job)
        return job.done

    def _run(self) -> None:
        while (job := self._over.pop() if self._over else self._jobs.get()) is not None:
            if not job.done.set_running_or_notify_cancel():
                continue
            if job.work is not None:
                _settle(job, job.work)
            else:
                self._add(self._gather(job))

    def _gather(self, first: Job) -> list[Job]:
        """Jobs to write together; the first one that does not fit waits for the next turn."""
        group, ids = [first], {page.id for page in first.pages}
        count, size = len(first.pages), first.size
        while count < PAGES_TOGETHER and size < BYTES_TOGETHER:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                break
            own = {page.id for page in job.pages} if job else set()
            # The same page twice in one commit would get a single answer.
            if not job or job.work or ids & own or count + len(job.pages) > PAGES_TOGETHER:
                self._over.append(job)
                break
            if job.done.set_running_or_notify_cancel():
                group.append(job)
                ids |= own
                count, size = count + len(job.pages), size + job.size
        return group

    def _add(self, group: list[Job]) -> None:
        """Add all pages of a group in one commit; if that fails, each job on its own."""
        pages = [page for job in group for page in job.pages]
        try:
            answers = iter(self._index.add_many(pages))
        except BaseException as error:
            if len(group) == 1:
                group[0].done.set_exception(error)
            else:
                for job in group:
                    self._add([job])
            return
        self._on_written(len(pages))
        for job in group:
            _settle(job, partial(job.finish, [next(answers) for _ in job.pages]))


def _settle(job: Job, work: Callable[[], Any]) -> None:
    try:
        job.done.set_result(work())
    except BaseException as error:
        job.done.set_exception(error)
