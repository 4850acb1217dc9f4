"""Who may speak to the service at all: not other people's web pages through a reader's browser.

Around every request: its number, safe headers, a line in the log, and an answer to failures.
"""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from contextlib import suppress
from urllib.parse import urlsplit

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from neardup.service.logs import LOG, Metrics
from neardup.service.problems import Problem, problem_response
from neardup.service.settings import Settings
from neardup.service.tokens import Tokens

HARMLESS = frozenset({"GET", "HEAD", "OPTIONS"})
FORWARDED = ("forwarded", "x-forwarded-for")


class Guards:
    """Middleware that looks at the names in a request before anything else does."""

    def __init__(self, app: ASGIApp, settings: Settings, tokens: Tokens) -> None:
        self.app = app
        self._hosts = settings.known_hosts
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            self._check_host(headers)
            self._check_proxy(headers)
            if scope["method"] not in HARMLESS:
                _check_origin(headers)
        await self.app(scope, receive, send)

    def _check_host(self, headers: Headers) -> None:
        name = host_name(headers.get("host", ""))
        if self._hosts and name not in self._hosts:
            detail = "this service is not known by that name; see --allow-host"
            raise Problem(421, "unknown-host", detail)

    def _check_proxy(self, headers: Headers) -> None:
        """Behind a proxy everybody comes from this machine."""
        if not self._tokens and any(name in headers for name in FORWARDED):
            raise Problem(403, "no-tokens", "behind a proxy the service needs tokens; see --tokens")


def _check_origin(headers: Headers) -> None:
    """A browser says from where a request comes; programs say nothing."""
    site = headers.get("sec-fetch-site", "none")
    origin = headers.get("origin")
    foreign = site not in ("none", "same-origin")
    if origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower():
        foreign = True
    if foreign:
        raise Problem(403, "cross-site", "a page of another site may not change anything here")


def host_name(host: str) -> str:
    """The Host header without its port."""
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.partition(":")[0].lower()


SAFE_HEADERS = {
    "Content-Security-Policy": "; ".join(
        [
            "default-src 'none'",
            "style-src 'self'",
            "script-src 'self'",
            "img-src 'self'",
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
REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
DRAINED_BYTES, DRAINED_SECONDS = 8_000_000, 2.0


class Frame:
    """The outermost middleware."""

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
            self._tell(scope, exchange)

    async def _answer(self, scope: Scope, exchange: Exchange) -> None:
        try:
            await self.app(scope, exchange.receive, exchange.send)
        except HTTPException as problem:
            self._metrics.refused.labels(getattr(problem, "code", "other")).inc()
            response = problem_response(problem, exchange.id)
            await response(scope, exchange.receive, exchange.send)
        except Exception:
            LOG.exception("failed", extra={"fields": {"request": exchange.id}})
            if exchange.status:
                raise
            failed = Problem(500, "failed", "the service failed; its log says more")
            response = problem_response(failed, exchange.id)
            await response(scope, exchange.receive, exchange.send)

    def _tell(self, scope: Scope, exchange: Exchange) -> None:
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
    """One request and its answer, with what is counted of them."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        self.id = given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        scope["request_id"] = self.id
        self.started = time.perf_counter()
        self.status = self.bytes_in = self.bytes_out = 0
        self._receive, self._send = receive, send
        sends = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        self._expects_more = sends and "expect" not in headers

    async def receive(self) -> Message:
        """The server's message, counted."""
        message = await self._receive()
        self.bytes_in += len(message.get("body", b""))
        if not message.get("more_body", False):
            self._expects_more = False
        return message

    async def send(self, message: Message) -> None:
        """An answer, with its number and safe headers."""
        if message["type"] == "http.response.start":
            await self._drain()
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-ID"] = self.id
            for name, value in SAFE_HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
        self.bytes_out += len(message.get("body", b""))
        await self._send(message)

    async def _drain(self) -> None:
        """Read what a client still sends, within bounds, or it would not hear the answer."""
        most = self.bytes_in + DRAINED_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAINED_SECONDS):
                while self._expects_more and self.bytes_in < most:
                    await self.receive()
