"""Bodies within bounds: how many requests, how many bytes of each and of all, how long.

What comes is counted while it comes, also in chunks and also as it is decompressed, so nothing
that is too large is ever held.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neardup.service.logs import Metrics
from neardup.service.problems import Problem, busy
from neardup.service.settings import Settings

ALWAYS_ANSWERED = frozenset({"/healthz", "/readyz"})
PIECE = 1 << 20  # bytes decompressed at once


@dataclass
class Load:
    """What a process has taken on."""

    requests: int = 0
    bytes: int = 0


class Bounds:
    """Middleware that takes only what the settings allow."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self.app = app
        self._settings = settings
        self._metrics = metrics
        self._load = Load()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in ALWAYS_ANSWERED:
            await self.app(scope, receive, send)
            return
        if self._load.requests >= self._settings.waiting:
            raise busy("busy", "too many requests are waiting; try again soon")
        body = Body(receive, Headers(scope=scope), self._settings, self._load)
        self._load.requests += 1
        self._metrics.under_way.set(self._load.requests)
        try:
            await self.app(scope, body.receive, send)
        finally:
            self._load.requests -= 1
            self._load.bytes -= body.held
            self._metrics.under_way.set(self._load.requests)
            self._metrics.held.set(self._load.bytes)


class Body:
    """The body of one request; `receive` takes the place of the server's."""

    def __init__(self, receive: Receive, headers: Headers, settings: Settings, load: Load) -> None:
        self._receive = receive
        self._settings = settings
        self._load = load
        self._unpack = _unpacker(headers.get("content-encoding", ""))
        self._until = time.monotonic() + settings.seconds
        self._ready: deque[Message] = deque()
        self.held = 0
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > settings.body_bytes:
            raise self._too_large()

    async def receive(self) -> Message:
        """The next message, with content that is decompressed and counted."""
        while not self._ready:
            message = await self._next()
            if message["type"] != "http.request":
                return message
            more = message.get("more_body", False)
            for piece in self._unpack.pieces(message.get("body", b""), more):
                self._count(len(piece))
                self._ready.append({"type": "http.request", "body": piece, "more_body": True})
            if not more:
                self._ready.append({"type": "http.request", "body": b"", "more_body": False})
                self._until = float("inf")
        return self._ready.popleft()

    async def _next(self) -> Message:
        if self._until == float("inf"):
            return await self._receive()
        try:
            return await asyncio.wait_for(self._receive(), self._until - time.monotonic())
        except TimeoutError:
            detail = f"the body did not come in {self._settings.seconds:g} seconds"
            raise Problem(408, "too-slow", detail) from None

    def _count(self, size: int) -> None:
        self.held += size
        self._load.bytes += size
        if self.held > self._settings.body_bytes:
            raise self._too_large()
        if self._load.bytes > self._settings.held_bytes:
            raise busy("busy", "too many bytes are waiting; try again soon")

    def _too_large(self) -> Problem:
        detail = f"a body may have {self._settings.body_bytes:,} bytes, also when decompressed"
        return Problem(413, "too-large", detail)


class Plain:
    """A body that is as it is."""

    def pieces(self, data: bytes, more: bool) -> Iterator[bytes]:
        """The content of what has come; `more` is to come."""
        if data:
            yield data


class Gzip:
    """A body in gzip, of one member or several."""

    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(31)
        self._begun = False

    def pieces(self, data: bytes, more: bool) -> Iterator[bytes]:
        """As `Plain.pieces`, a bounded piece at a time."""
        try:
            while data:
                self._begun = True
                piece = self._inflater.decompress(data, PIECE)
                data = self._inflater.unconsumed_tail
                if self._inflater.eof:
                    data, self._inflater = self._inflater.unused_data, zlib.decompressobj(31)
                    self._begun = False
                if piece:
                    yield piece
        except zlib.error:
            raise Problem(400, "bad-encoding", "the body is not gzip") from None
        if not more and self._begun:
            raise Problem(400, "bad-encoding", "the gzip body ends too early")


def _unpacker(encoding: str) -> Plain | Gzip:
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return Plain()
    if name in ("gzip", "x-gzip"):
        return Gzip()
    headers = {"Accept-Encoding": "gzip"}
    raise Problem(415, "unknown-encoding", "a body may be compressed with gzip only", headers)
