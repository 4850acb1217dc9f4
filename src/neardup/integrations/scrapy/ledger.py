"""From the middleware, which knows an item's page, to the pipeline, which does not."""

from __future__ import annotations

from typing import Any

from neardup.integrations.scrapy.crawl import Finding

MOST = 10_000  # items under way; far more than Scrapy lets through at once


class Ledger:
    """What was found about the pages of items that are on their way to the pipeline.

    Items may be of any type, also one without a hash or weak references, so they go by identity;
    each is held until it is taken, so no other object can have its identity. Items that another
    component takes away are forgotten when `MOST` newer ones have come.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[Any, Finding | None]] = {}

    def enter(self, item: Any, finding: Finding | None) -> None:
        """An item leaves the spider."""
        self._entries[id(item)] = (item, finding)
        if len(self._entries) > MOST:
            del self._entries[next(iter(self._entries))]

    def take(self, item: Any) -> Finding | None:
        """An item has come; None if nothing is known of its page."""
        return self._entries.pop(id(item), (None, None))[1]
