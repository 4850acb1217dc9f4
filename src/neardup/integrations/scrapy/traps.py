"""Crawl traps: hosts that keep giving pages with nothing new, as calendars and session ids do."""

from __future__ import annotations


class Traps:
    """The last pages of each host: was there anything new on them?

    A host is a number: a bit for each of its last `pages` pages, set where there was nothing new,
    under a leading one. So a crawl of millions of hosts can be watched.
    """

    def __init__(self, pages: int, share: float) -> None:
        self._pages = pages
        self._share = share
        self._hosts: dict[str, int] = {}
        self._told: set[str] = set()

    def note(self, host: str, *, nothing_new: bool) -> bool:
        """One more page of a host; True when it is the first to make the host a trap."""
        if not self._pages:
            return False
        last = self._hosts.get(host, 1) << 1 | nothing_new
        full = 1 << self._pages
        self._hosts[host] = last if last < 2 * full else full | last & (full - 1)
        if host in self._told or not self.holds(host):
            return False
        self._told.add(host)
        return True

    def holds(self, host: str) -> bool:
        """Whether the host's last pages make it a trap."""
        last = self._hosts.get(host, 1)
        full = 1 << self._pages
        return self._pages > 0 and last >= full and self.copies(host) >= self._share * self._pages

    def copies(self, host: str) -> int:
        """How many of the host's last pages had nothing new."""
        return self._hosts.get(host, 1).bit_count() - 1
