"""Who may speak to the service at all: not other people's web pages through a reader's browser."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from neardup.service.problems import Problem
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
