"""Limits on connections and on the time for the head of a request, fewer log lines about them, and
answers that are sent at once.

Uvicorn waits for a head forever. If the system has no connections left, asyncio logs a traceback
for each of the up to 2,048 connections that it fails to accept at once. And it turns off Nagle's
algorithm only for sockets that name their protocol; the one that several workers share does not, so
the body of each answer, which follows the head, would wait 40 ms for the client.
"""

from __future__ import annotations

import asyncio
import socket
import time
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from neardup.service.logs import LOG

CONNECTIONS = 1_000  # per process; more are closed at once
HEAD_SECONDS = 10.0
LOGGED_EVERY = 10.0  # seconds between lines about the same trouble


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 with a limit on connections and on the time for the head of a request."""

    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection if there is room."""
        super().connection_made(transport)
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if len(self.connections) > CONNECTIONS:
            transport.abort()
        else:
            self._await_head()

    def data_received(self, data: bytes) -> None:
        """Read on; the time for a head counts from its first byte, not from its latest."""
        super().data_received(data)
        if self._under_way():
            self._stop_waiting()
        elif self._head is None:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _under_way(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_head(self) -> None:
        self._head = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _give_up(self) -> None:
        self._head = None
        if not self._under_way() and self.timeout_keep_alive_task is None:
            self.transport.close()


class ThrottledErrors:
    """The event loop's errors, each kind at most every LOGGED_EVERY seconds, with their count."""

    def __init__(self) -> None:
        self._next: dict[str, float] = {}
        self._counts: dict[str, int] = {}

    def __call__(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log the error or count it."""
        error = context.get("exception")
        kind = f"{context['message']} {type(error).__name__}"
        self._counts[kind] = self._counts.get(kind, 0) + 1
        if time.monotonic() < self._next.get(kind, 0.0):
            return
        self._next[kind] = time.monotonic() + LOGGED_EVERY
        fields = {"problem": context["message"], "times": self._counts.pop(kind)}
        fields |= {"error": type(error).__name__} if error else {}
        LOG.error("event loop", extra={"fields": fields})
