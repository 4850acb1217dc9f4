"""The item pipeline: items of duplicates are dropped or flagged."""

from __future__ import annotations

import logging
from typing import Any

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, NotConfigured

from neardup.integrations.scrapy.crawl import Crawl, Finding
from neardup.integrations.scrapy.flag import flag_of
from neardup.integrations.scrapy.middleware import NeardupSpiderMiddleware
from neardup.integrations.scrapy.responses import page_from_item
from neardup.integrations.scrapy.settings import read_settings

logger = logging.getLogger("neardup")


class NeardupPipeline:
    """Goes by what the middleware found about an item's page.

    Without the middleware it asks the index itself, about items that carry their page: `html` or
    `text`, and `url` or `id`.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._settings = read_settings(crawler.settings)
        self._middleware: NeardupSpiderMiddleware | None = None
        self._own: Crawl | None = None
        self._complained = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NeardupPipeline:
        """As Scrapy makes its parts."""
        if not crawler.settings.getbool("NEARDUP_ENABLED", True):
            raise NotConfigured
        return cls(crawler)

    def open_spider(self, spider: object = None) -> None:
        """Find the middleware, or do without it."""
        self._middleware = self._crawler.get_spider_middleware(NeardupSpiderMiddleware)
        if self._middleware is None:
            self._own = Crawl(self._settings, self._crawler.stats)

    def close_spider(self, spider: object = None) -> None:
        """Let go of the store; that of the middleware is its own."""
        if self._own is not None:
            self._own.close()

    async def process_item(self, item: Any, spider: object = None) -> Any:
        """The item, flagged or not; a copy is dropped unless it is to be flagged."""
        finding = await self._found(item)
        if finding is None:
            return item
        if self._settings.action == "flag":
            self._flag(item, finding)
        elif finding.is_copy:
            self._count("items_dropped")
            answer = finding.answer
            raise DropItem(f"{answer.relation} duplicate of {answer.of} ({answer.cluster})")
        return item

    async def _found(self, item: Any) -> Finding | None:
        if self._middleware is not None:
            return self._middleware.ledger.take(item)
        assert self._own is not None  # opened before the first item
        page = page_from_item(ItemAdapter(item)) if ItemAdapter.is_item(item) else "not-an-item"
        return await self._own.look_at(page)

    def _flag(self, item: Any, finding: Finding) -> None:
        try:
            ItemAdapter(item)[self._settings.field] = flag_of(finding.answer)
        except (AttributeError, KeyError, TypeError, ValueError):  # each kind of item has its own
            self._count("items_not_flagged")
            if not self._complained:
                self._complained = True
                logger.error(
                    "%s has no field %r and is not flagged: give it one, or set NEARDUP_FIELD",
                    type(item).__name__,
                    self._settings.field,
                )
        else:
            if finding.answer.duplicate:
                self._count("items_flagged")

    def _count(self, name: str) -> None:
        crawl = self._own if self._middleware is None else self._middleware.crawl
        assert crawl is not None
        crawl.count(name)
