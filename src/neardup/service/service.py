"""The one thread of a process that writes. What comes while it is busy is written together.

A store has one writer at a time, and a commit costs the same for one page as for many. So a
thousand clients that add a page each wait for a few commits, not for a thousand.

Work that must not hold up the event loop: reading in a few threads, writing in one.

What all routes share: the index, the threads, the tokens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Annotated, Any, ParamSpec, TypeVar, cast

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from neardup.index import Answer, Index
from neardup.model import RawPage
from neardup.service.logs import Metrics
from neardup.service.problems import Problem, busy
from neardup.service.settings import Settings
from neardup.service.tokens import Access, Tokens

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


Parameters = ParamSpec("Parameters")


class Workers:
    """The threads of a process, and how long a request may wait for them."""

    def __init__(self, index: Index, threads: int, seconds: float, metrics: Metrics) -> None:
        self._readers = ThreadPoolExecutor(threads, "neardup-reader")
        self._writer = Writer(index, metrics.written.observe)
        self._seconds = seconds

    async def read(
        self,
        function: Callable[Parameters, Result],
        /,
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Result:
        """What a function that reads gives."""
        future = self._readers.submit(partial(function, *args, **kwargs))
        return await self._in_time(future, "nothing was changed")

    async def write(
        self,
        function: Callable[Parameters, Result],
        /,
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Result:
        """What a function that writes gives, when it is written."""
        future = self._writer.do(partial(function, *args, **kwargs))
        return await self._in_time(future, "it may be done yet: ask again")

    async def add(self, pages: list[RawPage]) -> list[Answer]:
        """The answers to new pages, when they are in the store."""
        told = "some of it may be stored: send it again, nothing is stored twice"
        return await self._in_time(self._writer.add(pages), told)

    async def _in_time(self, future: Future[Result], told: str) -> Result:
        """Work that has not begun when its time is over is not begun."""
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._seconds)
        except TimeoutError:
            raise busy("too-slow", f"no answer in {self._seconds:g} seconds; {told}", 5) from None

    def close(self) -> None:
        """Finish everything that is under way."""
        self._writer.close()
        self._readers.shutdown(wait=True)


@dataclass(frozen=True)
class Service:
    """A running service."""

    settings: Settings
    tokens: Tokens
    metrics: Metrics
    index: Index
    workers: Workers


def service_of(request: Request) -> Service:
    """The service that answers this request."""
    return cast(Service, request.app.state.service)


async def running(request: Request) -> Service:
    """The same for routes; what is not `async` would be sent to a thread."""
    return service_of(request)


Running = Annotated[Service, Depends(running)]

_BEARER = HTTPBearer(auto_error=False, description="a token; none is needed where none is set")
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)]


async def access(service: Running, credentials: Credentials) -> Access:
    """What the bearer of this request's token may do."""
    return service.tokens.access(credentials.credentials if credentials else None)


def demand(found: Access, needed: Access) -> None:
    """A problem unless the caller may do what is needed."""
    if found >= needed:
        return
    if found is Access.NONE:
        detail = "a token is needed: send it as 'Authorization: Bearer TOKEN'"
        raise Problem(401, "no-token", detail, {"WWW-Authenticate": 'Bearer realm="neardup"'})
    raise Problem(403, "read-only", "this token may only read")


CallerAccess = Annotated[Access, Depends(access)]


def needs(needed: Access) -> Any:
    """A dependency of routes that only some callers may use."""

    async def check(found: CallerAccess) -> None:
        demand(found, needed)

    return Depends(check)


READER, WRITER = needs(Access.READ), needs(Access.WRITE)
