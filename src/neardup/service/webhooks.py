"""Webhooks: the change feed of the index, sent to URLs that the operator has configured.

Each delivery is a POST of JSON, signed with HMAC-SHA256 over its timestamp and body (`sign`). A
delivery that fails is repeated, after a pause that doubles up to five minutes, until it succeeds.
The position in the feed is stored after each success, so a restart loses nothing; a receiver may
get a delivery twice and recognises it by the numbers of its changes. Of several workers, one
delivers.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx

from neardup.errors import StoreError, UsageError
from neardup.index import Change, Index
from neardup.service.logs import LOG, Metrics
from neardup.stores.session import Session

SECRET = "NEARDUP_WEBHOOK_SECRET"  # the environment variable
SHORTEST_SECRET = 16
TIMESTAMP, SIGNATURE = "X-Neardup-Timestamp", "X-Neardup-Signature"
AT_ONCE = 100  # changes per delivery
TIMEOUT = 10.0  # seconds for a receiver
LEASE = 30.0  # seconds for which a worker delivers, unless it renews this


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """The signature of a delivery, as its header has it."""
    message = timestamp.encode() + b"." + body
    return "sha256=" + hmac.new(secret.encode(), message, "sha256").hexdigest()


def verify(
    secret: str, headers: Mapping[str, str], body: bytes, *, tolerance: float = 300.0
) -> bool:
    """Whether a delivery is genuine, and at most `tolerance` seconds old: for receivers."""
    values = {name.lower(): value for name, value in headers.items()}
    timestamp, signature = (values.get(name.lower(), "") for name in (TIMESTAMP, SIGNATURE))
    if not hmac.compare_digest(sign(secret, timestamp, body).encode(), signature.encode()):
        return False
    return timestamp.isdecimal() and abs(time.time() - int(timestamp)) <= tolerance


def check_hooks(urls: tuple[str, ...], environment: Mapping[str, str]) -> None:
    """Refuse URLs that cannot be delivered to, and a missing secret."""
    for url in urls:
        try:
            parts = urlsplit(url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            usable = False
        if not usable:
            raise UsageError(f"--webhook {url}: write http://host/path or https://host/path")
    if urls and len(environment.get(SECRET, "")) < SHORTEST_SECRET:
        raise UsageError(
            f"webhooks are signed: set {SECRET} to at least {SHORTEST_SECRET} characters; create "
            "some with: openssl rand -hex 32"
        )


class Pauses(NamedTuple):
    """Seconds between turns: `poll` normally; after failures `first`, doubled up to `longest`."""

    poll: float = 1.0
    first: float = 1.0
    longest: float = 300.0


PAUSES = Pauses()


class Webhooks:
    """The deliveries of a process, a thread per URL."""

    def __init__(
        self,
        index: Index,
        urls: tuple[str, ...],
        kinds: tuple[str, ...],
        secret: str,
        metrics: Metrics,
        pauses: Pauses = PAUSES,
    ) -> None:
        self._end = threading.Event()
        owner = os.urandom(8).hex()
        hooks = [Hook(index, url, kinds, secret, owner, metrics, pauses) for url in urls]
        # Daemons: a receiver that hangs must not keep the process.
        self._threads = [
            threading.Thread(
                target=hook.run, args=(self._end,), name="neardup-webhook", daemon=True
            )
            for hook in hooks
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop after the delivery under way, or without it if that takes long."""
        self._end.set()
        for thread in self._threads:
            thread.join(2.0)


@dataclass
class Hook:
    """Delivers the feed to one URL."""

    index: Index
    url: str
    kinds: tuple[str, ...]
    secret: str
    owner: str  # of the lease: the process
    metrics: Metrics
    pauses: Pauses
    failures: int = 0  # in a row
    leased_until: float = 0.0

    @cached_property
    def name(self) -> str:
        """The URL as settings and logs have it: without what it may give away."""
        return hashlib.sha256(self.url.encode()).hexdigest()[:16]

    def run(self, end: threading.Event) -> None:
        """Deliver until the end."""
        with httpx.Client(timeout=TIMEOUT, follow_redirects=False) as http:
            pause = 0.0
            while not end.wait(pause):
                pause = self._turn(http)

    def _turn(self, http: httpx.Client) -> float:
        """Deliver what there is; returns the seconds to wait before the next turn."""
        try:
            if not self._holds_lease():
                return LEASE / 3
            since = self._position()
            feed = self.index.changes(since, kinds=self.kinds, most=AT_ONCE)
            if feed.changes and not self._deliver(http, feed.changes):
                return self._pause()
            if feed.next > since:
                self.index.store.write(
                    lambda session: session.keep_setting(f"webhook {self.name}", str(feed.next))
                )
        except StoreError as error:
            LOG.error("webhook", extra={"fields": {"problem": str(error)}})
            return self._pause()
        self.failures = 0
        return 0.0 if feed.more else self.pauses.poll

    def _holds_lease(self) -> bool:
        """Of all workers on the store, one delivers to a URL; it renews its lease in time."""
        if time.monotonic() < self.leased_until - LEASE / 2:
            return True
        is_ours = self.index.store.write(partial(_take_lease, name=self.name, owner=self.owner))
        self.leased_until = time.monotonic() + LEASE if is_ours else 0.0
        return is_ours

    def _position(self) -> int:
        """Where the next delivery starts; a new webhook starts with what happens from now on."""
        return self.index.store.write(partial(_position, name=self.name))

    def _deliver(self, http: httpx.Client, changes: list[Change]) -> bool:
        body = json.dumps({"changes": [change_fields(each) for each in changes]}).encode()
        timestamp = str(int(time.time()))
        headers = {
            "Content-Type": "application/json",
            TIMESTAMP: timestamp,
            SIGNATURE: sign(self.secret, timestamp, body),
        }
        try:
            with http.stream("POST", self.url, content=body, headers=headers) as response:
                outcome = "delivered" if response.is_success else str(response.status_code)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            outcome = type(error).__name__
        delivered = outcome == "delivered"
        self.metrics.webhooks.labels("delivered" if delivered else "failed").inc()
        if not delivered:
            fields = {"webhook": self.name, "problem": outcome, "failures": self.failures + 1}
            LOG.warning("webhook", extra={"fields": fields})
        return delivered

    def _pause(self) -> float:
        pause: float = min(self.pauses.first * 2**self.failures, self.pauses.longest)
        self.failures = min(self.failures + 1, 30)
        return pause * random.uniform(0.75, 1.25)


def change_fields(change: Change) -> dict[str, Any]:
    """A change as JSON has it."""
    return {**asdict(change), "at": change.at.isoformat()}


def _take_lease(session: Session, name: str, owner: str) -> bool:
    holder, _, until = session.settings().get(f"webhook lease {name}", "").partition(" ")
    now = time.time()
    if holder not in ("", owner) and float(until) > now:
        return False
    session.keep_setting(f"webhook lease {name}", f"{owner} {now + LEASE}")
    return True


def _position(session: Session, name: str) -> int:
    stored = session.settings().get(f"webhook {name}")
    if stored is not None:
        return int(stored)
    latest = session.latest_event()
    session.keep_setting(f"webhook {name}", str(latest))
    return latest
