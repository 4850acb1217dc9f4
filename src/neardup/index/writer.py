"""Adds pages to an index in a thread, those that wait together: for the service, Scrapy, `check -`.

A store has one writer at a time, and a commit costs the same for one page as for many: pages that
arrive while the writer is busy are written together, in one transaction, and each caller gets its
answer when that is on disk. A thousand clients that add one page each wait for a few commits, not
for a thousand. Large jobs are parsed in another thread while earlier ones are written.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from queue import Empty, SimpleQueue
from threading import Semaphore, Thread
from typing import Any, TypeVar

from neardup.errors import StoreError
from neardup.index.answers import Answer
from neardup.index.index import BYTES_AT_ONCE, PAGES_AT_ONCE, Index
from neardup.index.intake import Arrived, together
from neardup.model import RawPage
from neardup.pages import batches

LARGE = 256 * 1024  # bytes of a job from which it is parsed ahead
PARSED_AHEAD = 2  # jobs
LINGER = 0.004  # seconds to wait for callers that usually come back after an answer

Result = TypeVar("Result")


@dataclass(eq=False)
class Job:
    """Pages to add, or other work that writes."""

    pages: list[RawPage] = field(default_factory=list)
    finish: Callable[[list[Answer]], Any] = list
    work: Callable[[], Any] | None = None
    done: Future[Any] = field(default_factory=Future)
    parsed: Future[Arrived] | None = None  # of a large job

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
        self._expected = 1  # jobs to be written or waiting when the last commit ended
        self._parser = ThreadPoolExecutor(1, "neardup-parser")
        self._ahead = Semaphore(PARSED_AHEAD)
        self._thread = Thread(target=self._run, name="neardup-writer", daemon=True)
        self._thread.start()

    def add(
        self, pages: list[RawPage], finish: Callable[[list[Answer]], Any] = list
    ) -> Future[Any]:
        """Add pages; the answers come once the pages are in the store.

        `finish` makes of them, in the writer's thread, what the caller gets. Pages beyond what one
        transaction takes are written in several.
        """
        parts = list(batches(pages, PAGES_AT_ONCE, BYTES_AT_ONCE))
        if len(parts) <= 1:
            return self._put(Job(pages, finish))
        return _all_of([self._put(Job(part)) for part in parts], finish)

    def do(self, work: Callable[[], Result]) -> Future[Result]:
        """Run a function that writes."""
        return self._put(Job(work=work))

    def close(self) -> None:
        """Finish all jobs, then stop."""
        self._jobs.put(None)
        self._thread.join()
        self._parser.shutdown()

    def _put(self, job: Job) -> Future[Any]:
        if job.size >= LARGE:
            job.parsed = self._parser.submit(self._parse_ahead, job)
        self._jobs.put(job)
        return job.done

    def _parse_ahead(self, job: Job) -> Arrived:
        self._ahead.acquire()  # `_arrived` releases it: what is parsed takes memory
        return self._index._take_in(job.pages)

    def _run(self) -> None:
        while (job := self._over.pop() if self._over else self._jobs.get()) is not None:
            if not self._starts(job):
                continue
            if job.work is not None:
                _settle(job, job.work)
            else:
                group = [job]
                self._gather(group, time.monotonic() + LINGER, BYTES_AT_ONCE)
                self._add(group, late=True)
                self._expected = len(group) + self._jobs.qsize()

    def _starts(self, job: Job) -> bool:
        """Whether the job is still wanted."""
        if job.done.set_running_or_notify_cancel():
            return True
        if job.parsed is not None and not job.parsed.cancel():
            job.parsed.add_done_callback(lambda _: self._ahead.release())
        return False

    def _gather(self, group: list[Job], until: float, most_bytes: int) -> None:
        """Add jobs to write together; the first one that does not fit waits for the next turn."""
        ids = {page.id for job in group for page in job.pages}
        count, size = sum(len(job.pages) for job in group), sum(job.size for job in group)
        while not self._over and count < PAGES_AT_ONCE and size < most_bytes:
            try:
                job = self._next(until if len(group) < self._expected else 0.0)
            except Empty:
                break
            own = {page.id for page in job.pages} if job else set()
            # The same page twice in one commit would get a single answer.
            if not job or job.work or ids & own:
                self._over.append(job)
                break
            if count + len(job.pages) > PAGES_AT_ONCE or size + job.size >= most_bytes:
                self._over.append(job)
                break
            if self._starts(job):
                group.append(job)
                ids |= own
                count, size = count + len(job.pages), size + job.size

    def _next(self, until: float) -> Job | None:
        left = until - time.monotonic()
        return self._jobs.get(timeout=left) if left > 0 else self._jobs.get_nowait()

    def _add(self, group: list[Job], *, late: bool = False) -> None:
        """Add all pages of a group in one commit; if a page fails, each job on its own.

        `late`: with the jobs that arrive while another process writes.
        """
        try:
            answers = self._answers(group, late)
        except StoreError as error:  # as it would for each of them
            for job in group:
                job.done.set_exception(error)
        except BaseException as error:
            if len(group) == 1:
                group[0].done.set_exception(error)
                return
            for job in group:
                self._add([job])
        else:
            for job, own in zip(group, answers, strict=True):
                _settle(job, partial(job.finish, own))

    def _answers(self, group: list[Job], late: bool) -> list[list[Answer]]:
        """The answers to each job, once all its pages are stored."""
        jobs: list[Job] = []  # those that are parsed
        arrivals: list[Arrived] = []  # their pages, in the same order

        def parse() -> None:
            new = group[len(jobs) :]
            large = [job for job in new if job.parsed is not None]
            arrivals.extend(map(self._arrived, large))
            if small := [job for job in new if job not in large]:
                pages = [page for job in small for page in job.pages]
                arrivals.append(self._index._take_in(pages))
            jobs.extend(large + small)

        def all_arrived() -> Arrived:
            if late:  # but none that takes long to parse
                self._gather(group, 0.0, sum(job.size for job in group) + LARGE)
                parse()
            return together(arrivals)

        parse()
        answers = self._index._store(all_arrived)
        in_order = (answers[each] for arrived in arrivals for each in arrived.ids)
        by_job = {id(job): [next(in_order) for _ in job.pages] for job in jobs}
        self._on_written(sum(len(job.pages) for job in jobs))
        return [by_job[id(job)] for job in group]

    def _arrived(self, job: Job) -> Arrived:
        """What was parsed ahead, once: a second attempt parses again."""
        assert job.parsed is not None
        parsed, job.parsed = job.parsed, None
        try:
            return parsed.result()
        finally:
            self._ahead.release()


def _settle(job: Job, work: Callable[[], Any]) -> None:
    try:
        job.done.set_result(work())
    except BaseException as error:
        job.done.set_exception(error)


def _all_of(parts: list[Future[Any]], finish: Callable[[list[Answer]], Any]) -> Future[Any]:
    """The answers of all parts, once the last one is done; parts are done in order."""
    whole: Future[Any] = Future()

    def end(_: Future[Any]) -> None:
        if whole.set_running_or_notify_cancel():
            job = Job(done=whole)
            _settle(job, lambda: finish(list(chain.from_iterable(each.result() for each in parts))))

    parts[-1].add_done_callback(end)
    return whole
