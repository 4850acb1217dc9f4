"""The spider middleware: each response is looked at once, before its links and items go on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response

from neardup.integrations.scrapy.crawl import Crawl, Finding
from neardup.integrations.scrapy.flag import flag_of
from neardup.integrations.scrapy.ledger import Ledger
from neardup.integrations.scrapy.responses import page_from_response
from neardup.integrations.scrapy.settings import read_settings

META = "neardup"  # where a callback finds what its page is


class NeardupSpiderMiddleware:
    """Asks the index about each page, and does not follow links that lead nowhere new.

    A callback that is a generator finds the answer in `response.meta["neardup"]`.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawl = Crawl(read_settings(crawler.settings), crawler.stats)
        self.ledger = Ledger()
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NeardupSpiderMiddleware:
        """As Scrapy makes its parts."""
        if not crawler.settings.getbool("NEARDUP_ENABLED", True):
            raise NotConfigured
        made = cls(crawler)
        crawler.signals.connect(made.spider_closed, signal=signals.spider_closed)
        return made

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any], spider: object = None
    ) -> AsyncIterator[Any]:
        """What the callback gave, without the links that are not followed."""
        finding = await self._look_at(response)
        follows = self.crawl.follows_links_of(finding)
        async for found in result:
            if not isinstance(found, Request):
                self.ledger.enter(found, finding)
                yield found
            elif follows:
                yield found
            else:
                self.crawl.count("links_not_followed")

    def spider_closed(self) -> None:
        """Let go of the store."""
        self.crawl.close()

    async def _look_at(self, response: Response) -> Finding | None:
        request = response.request
        assert request is not None  # Scrapy has seen to it
        request.meta.pop(META, None)  # it may have taken over the meta of another
        fingerprint = self._crawler.request_fingerprinter.fingerprint(request).hex()
        finding = await self.crawl.look_at(page_from_response(response, request, fingerprint))
        if finding is not None:
            request.meta[META] = flag_of(finding.answer)
        return finding
