"""Work that must not hold up the event loop: reading in a few threads, writing in one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from neardup.index import Answer, Index
from neardup.model import RawPage
from neardup.service.metrics import Metrics
from neardup.service.problems import busy
from neardup.service.writing import Writer

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


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
