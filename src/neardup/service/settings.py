"""The settings of a service, except its tokens, which stay in their file or the environment."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from ipaddress import ip_address

from neardup.index.index import MAIN_CHANGES
from neardup.pages import Limits

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a service; sizes are in bytes, times in seconds."""

    store: str
    host: str = "127.0.0.1"
    port: int = 8000
    host_names: tuple[str, ...] = ()  # names that browsers and programs may use
    token_file: str = ""
    body_bytes: int = 64_000_000  # per request, decompressed
    page_bytes: int = 20_000_000
    batch_pages: int = 1_000
    held_bytes: int = 512_000_000  # of all requests under way
    waiting: int = 256  # requests under way per process
    threads: int = 4
    seconds: float = 60.0  # per request
    webhooks: tuple[str, ...] = ()  # URLs
    webhook_kinds: tuple[str, ...] = MAIN_CHANGES

    @property
    def limits(self) -> Limits:
        return Limits(min(self.page_bytes, self.body_bytes))

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def known_hosts(self) -> frozenset[str]:
        """Host names that a request may use; empty means any.

        Without this check a web page could point its own host name at this machine (DNS
        rebinding) and read everything.
        """
        if not self.is_local and not self.host_names:
            return frozenset()
        return frozenset(name.lower() for name in (*LOOPBACK_NAMES, self.host, *self.host_names))

    def to_json(self) -> str:
        """The settings for the environment of worker processes."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        values = json.loads(text)
        lists = {name: tuple(each) for name, each in values.items() if isinstance(each, list)}
        return cls(**values | lists)
