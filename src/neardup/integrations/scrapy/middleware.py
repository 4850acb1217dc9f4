"""An answer as crawlers pass it on: the fields of `neardup check --json`, without the id.

From the middleware, which knows an item's page, to the pipeline, which does not.

From a response, or an item that carries a page, to a page of ours.

The spider middleware: each response is looked at once, before its links and items go on.

The item pipeline: items of duplicates are dropped or flagged.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any

from itemadapter import ItemAdapter
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.http import HtmlResponse, Response, TextResponse
from w3lib.encoding import http_content_type_encoding

from neardup.index import Answer
from neardup.integrations.scrapy.crawl import Crawl, Finding, read_settings
from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages import Limits
from neardup.pages.fields import page_from_fields


def flag_of(answer: Answer) -> dict[str, Any]:
    """Plain values, so that every feed exporter can write them."""
    return {
        "duplicate": answer.duplicate,
        "of": answer.of,
        "cluster": answer.cluster,
        "relation": None if answer.relation is None else str(answer.relation),
        "similarity": answer.similarity,
    }


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


LIMITS = Limits()
DONT_CHECK = "neardup_dont_check"  # in a request's meta


def page_from_response(response: Response, request: Request, fingerprint: str) -> RawPage | str:
    """The page, or why the response is not looked at."""
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
    """Scrapy takes style sheets, scripts and JSON for text, too."""
    said = _content_type(response)
    return type(response) is TextResponse and (not said or said.startswith("text/plain"))


def _content_type(response: Response) -> str:
    value = response.headers.get("Content-Type") or b""
    return value.decode("latin-1").strip().lower()


def _identity(response: Response, request: Request, fingerprint: str) -> str:
    """The URL; what is posted to one URL may bring many pages, so there the request counts."""
    if request.method == "GET":
        return response.url
    return f"{response.url} {request.method} {fingerprint}"


def page_from_item(fields: Mapping[str, Any]) -> RawPage | str:
    """The page that an item carries in `html` or `text`, under its `id` or `url`."""
    if not fields.get("id") and not fields.get("url"):
        return "no-id"
    page = page_from_fields(fields, Source("scrapy"), LIMITS)
    return page.reason if isinstance(page, Skip) else page


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
