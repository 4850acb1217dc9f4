"""What all routes share: the running service, the access rights of callers, and its threads.

Nothing may hold up the event loop, so a few threads read and one thread writes (`index.writer`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from email.message import Message
from functools import partial
from typing import Annotated, Any, ParamSpec, TypeVar, cast

from fastapi import Depends, Request, Security
from fastapi.dependencies.models import Dependant
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from neardup.errors import did_you_mean
from neardup.index import Answer, Index
from neardup.index.writer import Writer
from neardup.model import RawPage
from neardup.service.logs import Metrics
from neardup.service.problems import Problem, busy, problem_responses
from neardup.service.settings import Settings
from neardup.service.tokens import Access, Tokens

Args = ParamSpec("Args")
Result = TypeVar("Result")

SOON = 2.0  # seconds
SMALL = 64 * 1024  # bytes of JSON that the event loop reads itself: a thread would take longer
ACCESS = "neardup.access"  # in a request's scope: what its token allows


@dataclass(frozen=True)
class Service:
    settings: Settings
    tokens: Tokens
    metrics: Metrics
    index: Index
    workers: Workers


def service_of(request: Request) -> Service:
    """The service that answers this request."""
    return cast(Service, request.app.state.service)


async def running(request: Request) -> Service:
    """`service_of` as a dependency; FastAPI would run it in a thread if it were not `async`."""
    return service_of(request)


Running = Annotated[Service, Depends(running)]

_BEARER = HTTPBearer(auto_error=False, description="a token, if the service requires one")
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)]


async def access(request: Request, _: Credentials) -> Access:
    """What the token of this request allows; `middleware.Bounds` has looked it up."""
    return cast(Access, request.scope[ACCESS])


def require(caller: Access, needed: Access) -> None:
    """Refuse a caller without the access that is needed."""
    if caller >= needed:
        return
    if caller is Access.NONE:
        detail = "a token is required: send it as 'Authorization: Bearer TOKEN'"
        raise Problem(401, "no-token", detail, {"WWW-Authenticate": 'Bearer realm="neardup"'})
    raise Problem(403, "read-only", "this token is read-only")


CallerAccess = Annotated[Access, Depends(access)]


def needs(needed: Access) -> Any:
    """A dependency for routes that require this access."""

    async def check(caller: CallerAccess) -> None:
        require(caller, needed)

    return Depends(check)


READER, WRITER = needs(Access.READ), needs(Access.WRITE)


async def only_known_parameters(request: Request) -> None:
    """Refuse a query with a parameter that the route does not have: mostly a typing error."""
    if not request.url.query:
        return
    names = _parameters(request.scope["route"].dependant)
    for name in request.query_params:
        if name not in names:
            hint = did_you_mean(name, names)
            detail = f"unknown parameter {name!r}; there are: {', '.join(names) or 'none'}{hint}"
            raise Problem(422, "unknown-parameter", detail)


def _parameters(dependant: Dependant) -> list[str]:
    """The names of the query parameters of a route and of what it depends on."""
    names = [each.alias for each in dependant.query_params]
    return [*names, *(name for part in dependant.dependencies for name in _parameters(part))]


KNOWN = Depends(only_known_parameters)


def for_readers(*problems: int) -> dict[str, Any]:
    """What a route that reads declares: the access it needs and the problems it may report."""
    return {"dependencies": [READER, KNOWN], "responses": problem_responses(*problems)}


def for_writers(*problems: int) -> dict[str, Any]:
    """The same for a route that writes."""
    return {"dependencies": [WRITER, KNOWN], "responses": problem_responses(*problems)}


async def read_json(request: Request, read: Callable[[bytes], Result]) -> Result:
    """The body of a request as `read` parses it; a large one is parsed in a thread."""
    if media_type(request)[0] not in ("application/json", ""):
        raise Problem(415, "unknown-type", "send application/json")
    body = await request.body()
    if len(body) <= SMALL:
        return read(body)
    return await service_of(request).workers.parse(read, body)


def media_type(request: Request) -> tuple[str, str]:
    """The type and the charset of a body; JSON if nothing is declared."""
    header = Message()
    header["Content-Type"] = request.headers.get("content-type", "application/json")
    return header.get_content_type(), header.get_content_charset("")


class Workers:
    """The threads of a process, and the time a request may wait for them."""

    def __init__(self, index: Index, threads: int, seconds: float, metrics: Metrics) -> None:
        self._readers = ThreadPoolExecutor(threads, "neardup-reader")
        # Comparing two large pages can take long: it never takes every reader.
        self._comparers = ThreadPoolExecutor(max(threads // 2, 1), "neardup-comparer")
        self._parsers = ThreadPoolExecutor(2, "neardup-parser")
        self._writer = Writer(index, metrics.written.observe)
        self._seconds = seconds

    async def read(
        self, function: Callable[Args, Result], /, *args: Args.args, **kwargs: Args.kwargs
    ) -> Result:
        future = self._readers.submit(partial(function, *args, **kwargs))
        return await self._in_time(future, "nothing was changed")

    async def compare(
        self, function: Callable[Args, Result], /, *args: Args.args, **kwargs: Args.kwargs
    ) -> Result:
        """Run a function that compares pages."""
        future = self._comparers.submit(partial(function, *args, **kwargs))
        return await self._in_time(future, "nothing was changed")

    async def parse(self, function: Callable[..., Result], /, *args: object) -> Result:
        """Run a function that reads a body."""
        return await self._in_time(self._parsers.submit(function, *args), "nothing was changed")

    async def write(
        self, function: Callable[Args, Result], /, *args: Args.args, **kwargs: Args.kwargs
    ) -> Result:
        """Run a function that writes; return once its changes are committed."""
        future = self._writer.do(partial(function, *args, **kwargs))
        return await self._in_time(future, "the change may still be made: check again later")

    async def add(self, pages: list[RawPage]) -> list[Answer]:
        """Add pages; return the answers once the pages are in the store."""
        outcome = "some pages may be stored: send them again, nothing is stored twice"
        return await self._in_time(self._writer.add(pages), outcome)

    async def _in_time(self, future: Future[Result], outcome: str) -> Result:
        """Wait for the result; work that has not started when time is up is cancelled."""
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._seconds)
        except TimeoutError:
            detail = f"no answer within {self._seconds:g} seconds; {outcome}"
            raise busy("too-slow", detail, 5) from None

    def close(self) -> bool:
        """Finish all writing, and reading that ends soon; returns whether all of it did."""
        self._writer.close()
        pools = self._readers, self._comparers, self._parsers
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)
        until = time.monotonic() + SOON
        while any(thread.is_alive() for pool in pools for thread in pool._threads):
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        return True
