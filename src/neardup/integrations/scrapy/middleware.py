"""The Scrapy components: a spider middleware that checks each response, and an item pipeline that
drops or flags the items of duplicates."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any

from itemadapter import ItemAdapter
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.http import HtmlResponse, Response, TextResponse
from w3lib.encoding import http_content_type_encoding

from neardup.integrations.scrapy.crawl import Crawl, Finding, read_settings
from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages import Limits
from neardup.pages.fields import page_from_fields

META = "neardup"  # the answer, in a request's meta
DONT_CHECK = "neardup_dont_check"  # in a request's meta
LIMITS = Limits()
MOST_ITEMS = 10_000  # in flight; far more than Scrapy allows at once

logger = logging.getLogger("neardup")


class NeardupSpiderMiddleware:
    """Checks each response once, before its items and links go on, and drops unwanted links.

    A generator callback finds the answer in `response.meta["neardup"]`.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawl = Crawl(read_settings(crawler.settings), crawler.stats)
        self.ledger = Ledger()
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NeardupSpiderMiddleware:
        """Called by Scrapy."""
        middleware = cls(crawler)
        crawler.signals.connect(middleware.spider_closed, signal=signals.spider_closed)
        return middleware

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any], spider: object = None
    ) -> AsyncIterator[Any]:
        """The output of the callback, without links that should not be followed."""
        finding = await self._look_at(response)
        follows = self.crawl.follows_links_of(finding)
        async for output in result:
            if not isinstance(output, Request):
                self.ledger.enter(output, finding)
                yield output
            elif follows:
                yield output
            else:
                self.crawl.count("links_not_followed")

    def spider_closed(self) -> None:
        self.crawl.close()

    async def _look_at(self, response: Response) -> Finding | None:
        request = response.request
        assert request is not None  # Scrapy sets it
        request.meta.pop(META, None)  # it may have inherited the meta of another request
        fingerprint = self._crawler.request_fingerprinter.fingerprint(request).hex()
        finding = await self.crawl.look_at(page_from_response(response, request, fingerprint))
        if finding is not None:
            request.meta[META] = finding.answer.as_data()
        return finding


class NeardupPipeline:
    """Drops or flags items by the middleware's finding on their page.

    Without the middleware it checks items itself, if they contain their page: `html` or `text`,
    and `url` or `id`.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._settings = read_settings(crawler.settings)
        self._middleware: NeardupSpiderMiddleware | None = None
        self._own: Crawl | None = None
        self._complained = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NeardupPipeline:
        """Called by Scrapy."""
        return cls(crawler)

    def open_spider(self, spider: object = None) -> None:
        """Use the middleware's findings, or open the store without it."""
        self._middleware = self._crawler.get_spider_middleware(NeardupSpiderMiddleware)
        if self._middleware is None:
            self._own = Crawl(self._settings, self._crawler.stats)

    def close_spider(self, spider: object = None) -> None:
        """Close the store, unless the middleware owns it."""
        if self._own is not None:
            self._own.close()

    async def process_item(self, item: Any, spider: object = None) -> Any:
        """The item, flagged if that is the action; otherwise copies are dropped."""
        finding = await self._finding(item)
        if finding is None:
            return item
        if self._settings.action == "flag":
            self._flag(item, finding)
        elif finding.is_copy:
            self._count("items_dropped")
            answer = finding.answer
            raise DropItem(f"{answer.relation} duplicate of {answer.of} ({answer.cluster})")
        return item

    async def _finding(self, item: Any) -> Finding | None:
        if self._middleware is not None:
            return self._middleware.ledger.take(item)
        assert self._own is not None  # opened before the first item
        page = page_from_item(ItemAdapter(item)) if ItemAdapter.is_item(item) else "not-an-item"
        return await self._own.look_at(page)

    def _flag(self, item: Any, finding: Finding) -> None:
        try:
            ItemAdapter(item)[self._settings.field] = finding.answer.as_data()
        except (AttributeError, KeyError, TypeError, ValueError):  # depends on the type of item
            self._count("items_not_flagged")
            if not self._complained:
                self._complained = True
                logger.error(
                    "%s has no field %r and cannot be flagged: add one, or set NEARDUP_FIELD",
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


class Ledger:
    """Findings on the pages of items between middleware and pipeline.

    Items may be of any type, even without a hash or weak references, so the key is their `id()`;
    each is held until it is taken, so no other object can get the same one. Items that another
    component drops are removed once `MOST_ITEMS` newer ones have arrived.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[Any, Finding | None]] = {}

    def enter(self, item: Any, finding: Finding | None) -> None:
        """Store the finding for an item that leaves the spider."""
        self._entries[id(item)] = (item, finding)
        if len(self._entries) > MOST_ITEMS:
            del self._entries[next(iter(self._entries))]

    def take(self, item: Any) -> Finding | None:
        """Remove and return the finding for an item; None if there is none."""
        return self._entries.pop(id(item), (None, None))[1]


def page_from_response(response: Response, request: Request, fingerprint: str) -> RawPage | str:
    """The page of a response, or the reason why it is not checked."""
    if request.meta.get(DONT_CHECK):
        return "not-asked-for"
    if not 200 <= response.status < 300:
        return SkipReason.HTTP_STATUS
    is_html = isinstance(response, HtmlResponse)
    if not is_html and not _is_plain_text(response):
        return SkipReason.NOT_HTML
    if not response.body:
        return SkipReason.EMPTY
    if len(response.body) > LIMITS.page_bytes:
        return SkipReason.TOO_LARGE
    return RawPage(
        id=_identity(response, request, fingerprint),
        body=response.body,
        is_html=is_html,
        source=Source("scrapy"),
        url=response.url,
        time=datetime.now(UTC),
        charset=http_content_type_encoding(_content_type(response)) or "",
    )


def _is_plain_text(response: Response) -> bool:
    """Scrapy also treats style sheets, scripts and JSON as text."""
    declared = _content_type(response)
    return type(response) is TextResponse and (not declared or declared.startswith("text/plain"))


def _content_type(response: Response) -> str:
    value = response.headers.get("Content-Type") or b""
    return value.decode("latin-1").strip().lower()


def _identity(response: Response, request: Request, fingerprint: str) -> str:
    """The URL; other methods than GET may return many pages from one URL, so the request counts."""
    if request.method == "GET":
        return response.url
    return f"{response.url} {request.method} {fingerprint}"


def page_from_item(fields: Mapping[str, Any]) -> RawPage | str:
    """The page in an item (`html` or `text`, with `id` or `url`), or why there is none."""
    if not fields.get("id") and not fields.get("url"):
        return "no-id"
    page = page_from_fields(fields, Source("scrapy"), LIMITS)
    return page.reason if isinstance(page, Skip) else page
