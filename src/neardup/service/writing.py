"""The one thread of a process that writes. What comes while it is busy is written together.

A store has one writer at a time, and a commit costs the same for one page as for many. So a
thousand clients that add a page each wait for a few commits, not for a thousand.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from neardup.index import Answer, Index
from neardup.model import RawPage

Result = TypeVar("Result")

PAGES_TOGETHER = 256
BYTES_TOGETHER = 16 * 1024**2


@dataclass
class Job:
    """Pages to add, or other work that writes."""

    pages: list[RawPage] = field(default_factory=list)
    work: Callable[[], Any] | None = None
    done: Future[Any] = field(default_factory=Future)

    @property
    def size(self) -> int:
        """Bytes of its pages."""
        return sum(len(page.body) for page in self.pages)


class Writer:
    """Runs jobs in the order in which they came; `on_written` hears how many pages at once."""

    def __init__(self, index: Index, on_written: Callable[[int], None]) -> None:
        self._index = index
        self._on_written = on_written
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()  # None: the end
        self._over: list[Job | None] = []  # taken from the queue, but not yet begun
        self._thread = Thread(target=self._run, name="neardup-writer", daemon=True)
        self._thread.start()

    def add(self, pages: list[RawPage]) -> Future[list[Answer]]:
        """Add pages; their answers come when they are in the store."""
        return self._put(Job(pages))

    def do(self, work: Callable[[], Result]) -> Future[Result]:
        """Run something else that writes."""
        return self._put(Job(work=work))

    def close(self) -> None:
        """Finish all that was given, then end."""
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
        """Jobs to be written together; the next one that cannot be among them is put by."""
        group, ids = [first], {page.id for page in first.pages}
        count, size = len(first.pages), first.size
        while count < PAGES_TOGETHER and size < BYTES_TOGETHER:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                break
            own = {page.id for page in job.pages} if job else set()
            # One page twice at once would get one answer.
            if not job or job.work or ids & own or count + len(job.pages) > PAGES_TOGETHER:
                self._over.append(job)
                break
            if job.done.set_running_or_notify_cancel():
                group.append(job)
                ids |= own
                count, size = count + len(job.pages), size + job.size
        return group

    def _add(self, group: list[Job]) -> None:
        """All pages of a group in one go; if that fails, each job for itself."""
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
            job.done.set_result([next(answers) for _ in job.pages])


def _settle(job: Job, work: Callable[[], Any]) -> None:
    try:
        job.done.set_result(work())
    except BaseException as error:
        job.done.set_exception(error)
