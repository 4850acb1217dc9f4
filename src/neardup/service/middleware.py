"""The middleware that every request passes before it reaches a route, from the outside in.

`Frame` gives the request an id, adds safe headers to the answer, writes the log line and answers
failures. `Guards` refuses unknown host names and origins: a web page of another site must not reach
the service through a reader's browser. `Bounds` limits how many requests are under way, how large
their bodies are and how long they take. Bodies are counted while they arrive, chunked or not, and
while they are decompressed, so nothing that is too large is ever held.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from random import getrandbits
from urllib.parse import urlsplit

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neardup.pages.streams import BrokenError, Gzip, Zstd
from neardup.service.logs import LOG, Metrics
from neardup.service.problems import Problem, busy, problem_response
from neardup.service.service import ACCESS, require
from neardup.service.settings import Settings
from neardup.service.tokens import SESSION, Access, Tokens

SAFE_HEADERS = {
    "Content-Security-Policy": "; ".join(
        [
            "default-src 'none'",
            "style-src 'self'",
            "script-src 'self'",
            "img-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "X-DNS-Prefetch-Control": "off",
    "X-Robots-Tag": "noindex, nofollow",
}
SAFE = [
    (name.lower().encode(), value.encode())
    for name, value in {**SAFE_HEADERS, "Cache-Control": "no-store"}.items()
]
REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
DRAINED_BYTES, DRAINED_SECONDS = 8_000_000, 2.0
HARMLESS = frozenset({"GET", "HEAD", "OPTIONS"})
FORWARDED = ("forwarded", "x-forwarded-for")
ALWAYS_ANSWERED = frozenset({"/healthz", "/readyz"})
ZSTD_WINDOW = 1 << 23  # bytes, as RFC 8878 suggests
FREE_MEMBERS, MEMBER_BYTES = 64, 1_000  # of a packed body; more members need so much content each
STRANGER_BYTES, STRANGER_SECONDS = 20_000, 10.0  # for the body of a request without a token


class Frame:
    """Identifies, logs and counts requests, adds safe headers, and answers failures."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = Exchange(scope, receive, send)
        try:
            await self._answer(scope, exchange)
        finally:
            self._record(scope, exchange)

    async def _answer(self, scope: Scope, exchange: Exchange) -> None:
        try:
            await self.app(scope, exchange.receive, exchange.send)
            return
        except HTTPException as error:
            problem = error
            self._metrics.refused.labels(getattr(problem, "code", "other")).inc()
        except Exception:
            LOG.exception("failed", extra={"fields": {"request": exchange.id}})
            if exchange.status:
                raise
            problem = Problem(500, "failed", "the service failed; see its log")
        response = problem_response(problem, exchange.id)
        await response(scope, exchange.receive, exchange.send)

    def _record(self, scope: Scope, exchange: Exchange) -> None:
        route = getattr(scope.get("route"), "path", "other")
        seconds = time.perf_counter() - exchange.started
        labels = route, scope["method"] if route != "other" else "", exchange.status
        self._metrics.requests.labels(*labels).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        fields = {
            "request": exchange.id,
            "method": scope["method"],
            "route": route,
            "status": exchange.status,
            "ms": round(1000 * seconds, 1),
            "bytes_in": exchange.bytes_in,
            "bytes_out": exchange.bytes_out,
            "client": (scope.get("client") or ("",))[0],
        }
        LOG.info("request", extra={"fields": fields})


class Exchange:
    """One request and its answer, with the bytes counted."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        client_id = headers.get("x-request-id", "")
        self.id = client_id if REQUEST_ID.fullmatch(client_id) else f"{getrandbits(128):032x}"
        scope["request_id"] = self.id
        self.started = time.perf_counter()
        self.status = self.bytes_in = self.bytes_out = 0
        self._receive, self._send = receive, send
        has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        self._expects_more = has_body and "expect" not in headers

    async def receive(self) -> Message:
        """The server's message, counted."""
        message = await self._receive()
        self.bytes_in += len(message.get("body", b""))
        if not message.get("more_body", False):
            self._expects_more = False
        return message

    async def send(self, message: Message) -> None:
        """Send the answer, with the request id and safe headers."""
        if message["type"] == "http.response.start":
            await self._drain()
            self.status = message["status"]
            headers = message.setdefault("headers", [])
            names = {name for name, _ in headers}
            headers += [each for each in SAFE if each[0] not in names]
            headers.append((b"x-request-id", self.id.encode()))
        self.bytes_out += len(message.get("body", b""))
        await self._send(message)

    async def _drain(self) -> None:
        """Read what the client still sends, within limits, so that it gets to read the answer."""
        most = self.bytes_in + DRAINED_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAINED_SECONDS):
                while self._expects_more and self.bytes_in < most:
                    await self.receive()


class Guards:
    """Refuses unknown hosts, other origins, and proxies while there are no tokens."""

    def __init__(self, app: ASGIApp, settings: Settings, tokens: Tokens) -> None:
        self.app = app
        self._hosts = settings.known_hosts
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            self._check_host(headers)
            self._check_proxy(headers)
            if "content-length" in headers and "transfer-encoding" in headers:
                detail = "Content-Length and Transfer-Encoding exclude each other"
                raise Problem(400, "ambiguous-length", detail, {"Connection": "close"})
            if scope["method"] not in HARMLESS:
                _check_origin(headers)
        await self.app(scope, receive, send)

    def _check_host(self, headers: Headers) -> None:
        name = host_name(headers.get("host", ""))
        if self._hosts and name not in self._hosts:
            detail = "the service does not answer to this host name; see --allow-host"
            raise Problem(421, "unknown-host", detail)

    def _check_proxy(self, headers: Headers) -> None:
        """Behind a proxy every request seems to come from this machine."""
        if not self._tokens and any(name in headers for name in FORWARDED):
            raise Problem(403, "no-tokens", "behind a proxy the service needs tokens; see --tokens")


def _check_origin(headers: Headers) -> None:
    """Browsers send the origin of a request; programs do not."""
    origin = headers.get("origin")
    try:
        netloc = urlsplit(origin or "").netloc.lower()
    except ValueError:
        raise Problem(400, "bad-origin", "the Origin header is not a URL") from None
    is_foreign = origin is not None and netloc != headers.get("host", "").lower()
    if is_foreign or headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        raise Problem(403, "cross-site", "pages of other sites may not change anything here")


def host_name(host: str) -> str:
    """The Host header without its port."""
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.partition(":")[0].lower()


@dataclass
class Load:
    requests: int = 0
    strangers: int = 0  # of these, without a valid token
    bytes: int = 0


class Bounds:
    """Accepts only what the settings allow."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics, tokens: Tokens) -> None:
        self.app = app
        self._settings = settings
        self._metrics = metrics
        self._tokens = tokens
        self._load = Load()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in ALWAYS_ANSWERED:
            await self.app(scope, receive, send)
            return
        if self._load.requests >= self._settings.waiting:
            raise busy("busy", "too many requests are waiting; try again soon")
        settings, is_stranger = self._settings, self._is_stranger(scope)
        if is_stranger:
            if scope["path"].startswith("/v1/"):
                require(Access.NONE, Access.READ)
            settings = self._for_strangers()
        body = Body(receive, Headers(scope=scope), settings, self._load)
        self._load.requests += 1
        self._load.strangers += is_stranger
        self._metrics.under_way.set(self._load.requests)
        try:
            await self.app(scope, body.receive, send)
        finally:
            self._load.requests -= 1
            self._load.strangers -= is_stranger
            self._load.bytes -= body.held
            self._metrics.under_way.set(self._load.requests)
            self._metrics.held.set(self._load.bytes)

    def _for_strangers(self) -> Settings:
        """Without a token a visitor can only log in; that must not keep others out."""
        settings = self._settings
        if self._load.strangers >= max(settings.waiting // 8, 1):
            raise busy("busy", "too many requests without a token; try again soon")
        return replace(
            settings,
            body_bytes=min(settings.body_bytes, STRANGER_BYTES),
            seconds=min(settings.seconds, STRANGER_SECONDS),
        )

    def _is_stranger(self, scope: Scope) -> bool:
        request = Request(scope)
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else None
        scope[ACCESS] = self._tokens.access(bearer)
        session = request.cookies.get(SESSION)
        return max(scope[ACCESS], self._tokens.session_access(session)) is Access.NONE


class Body:
    """The body of one request; `receive` replaces the server's."""

    def __init__(self, receive: Receive, headers: Headers, settings: Settings, load: Load) -> None:
        self._receive = receive
        self._settings = settings
        self._load = load
        self._packed = _unpacker(headers.get("content-encoding", ""))
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
            body = message.get("body", b"")
            if self._packed is None:
                self._take(body)
            else:
                pieces = self._packed.pieces(body, more)
                # In a thread: a small body may hold much.
                while piece := await asyncio.to_thread(next, pieces, None):
                    self._take(piece)
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
            detail = f"the body did not arrive within {self._settings.seconds:g} seconds"
            raise Problem(408, "too-slow", detail) from None

    def _take(self, piece: bytes) -> None:
        self.held += len(piece)
        self._load.bytes += len(piece)
        if self.held > self._settings.body_bytes:
            raise self._too_large()
        if self._load.bytes > self._settings.held_bytes:
            raise busy("busy", "too many bytes are waiting; try again soon")
        if piece:
            self._ready.append({"type": "http.request", "body": piece, "more_body": True})

    def _too_large(self) -> Problem:
        detail = f"at most {self._settings.body_bytes:,} bytes per body, decompressed"
        return Problem(413, "too-large", detail)


class PackedBody:
    """A compressed body of one or more members, with its content in pieces of bounded size."""

    def __init__(self, name: str, member: Callable[[], Gzip | Zstd]) -> None:
        self._name = name
        self._new_member = member
        self._member = member()
        self._in_member = False
        self._pending = b""
        self._members = self._size = 0

    def pieces(self, data: bytes, more: bool) -> Iterator[bytes]:
        """The content of the data; `more` if more data will follow."""
        self._pending += data
        try:
            while len(self._pending) >= (self._member.least if more else 1):
                size = self._member.measure(self._pending)
                piece = self._member.feed(self._pending[:size])
                self._pending = self._member.left + self._pending[size:]
                self._size += len(piece)
                self._in_member = not self._member.eof
                if self._member.eof:
                    self._member = self._new_member()
                    self._members += 1
                    if self._members > FREE_MEMBERS + self._size // MEMBER_BYTES:
                        # Each costs as much as a kilobyte of content, even an empty one.
                        raise self._bad(f"too many {self._name} members")
                if piece:
                    yield piece
        except BrokenError:
            raise self._bad(f"the body is not {self._name}") from None
        if not more and self._in_member:
            raise self._bad(f"the {self._name} body ends too early")

    @staticmethod
    def _bad(detail: str) -> Problem:
        return Problem(400, "bad-encoding", detail)


def _unpacker(encoding: str) -> PackedBody | None:
    """What unpacks a body of that encoding; None for a plain one."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return None
    if name in ("gzip", "x-gzip"):
        return PackedBody("gzip", Gzip)
    if name == "zstd":
        return PackedBody("zstd", partial(Zstd, window=ZSTD_WINDOW))
    detail = "gzip and zstd are the supported content encodings"
    raise Problem(415, "unknown-encoding", detail, {"Accept-Encoding": "gzip, zstd"})
