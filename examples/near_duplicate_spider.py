"""A spider that keeps one page of each text and stays out of crawl traps.

    pip install 'neardup[scrapy]'
    scrapy runspider examples/near_duplicate_spider.py -a start=https://example.org/ -O pages.jsonl

It stays on the hosts it starts from. The pages seen so far are in crawl.db: stop and restart
the spider, or run several at once, and no text is kept twice. Change settings with -s, as in
-s NEARDUP_ACTION=flag; docs/crawling.md lists them all.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import scrapy
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor


class NearDuplicateSpider(scrapy.Spider):
    """Follows every link on the hosts it starts from."""

    name = "near-duplicates"
    links = LinkExtractor()
    custom_settings = {  # noqa: RUF012 - Scrapy's convention
        "SPIDER_MIDDLEWARES": {"neardup.integrations.scrapy.NeardupSpiderMiddleware": 45},
        "ITEM_PIPELINES": {"neardup.integrations.scrapy.NeardupPipeline": 50},
        "NEARDUP_STORE": "sqlite:///crawl.db",
        "NEARDUP_TRAP_ACTION": "stop",
    }

    def __init__(self, start: str = "https://example.org/", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.start_urls = start.split(",")
        self.allowed_domains = [urlsplit(url).hostname or "" for url in self.start_urls]

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the page as an item, and its links."""
        if not isinstance(response, HtmlResponse):
            return
        yield {"url": response.url, "title": response.css("title::text").get("").strip()}
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url)
