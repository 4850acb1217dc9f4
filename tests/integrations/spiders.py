"""Spiders for the tests, beside the one of examples/."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import scrapy
from scrapy.http import Response


class PageItem(scrapy.Item):
    """An item that has no field for a flag."""

    url = scrapy.Field()


class TellingSpider(scrapy.Spider):
    """Fetches one article, its print version, and the print version again unchecked."""

    name = "telling"

    def __init__(self, start: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.start_urls = [f"{start}articles/0"]

    def parse(self, response: Response) -> Iterator[Any]:
        """What the callback is told."""
        yield {"url": response.url, "told": response.meta.get("neardup")}
        yield PageItem(url=response.url)
        if "print" not in response.url:
            yield response.follow("/print/0", meta=response.meta | {"depth": 1})
        elif "again" not in response.url:
            meta = response.meta | {"neardup_dont_check": True}
            yield response.follow("/print/0?again=1", meta=meta)


class CarryingSpider(scrapy.Spider):
    """Its items carry their pages."""

    name = "carrying"

    def __init__(self, start: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.start_urls = [f"{start}articles/{number}" for number in (0, 1)]

    def parse(self, response: Response) -> Iterator[Any]:
        """A page as HTML, and one with the same text under another address."""
        text = "\n".join(response.css("main p::text").getall())
        yield {"url": response.url, "html": response.text}
        yield {"url": f"{response.url}/text", "text": text}
        yield {"url": f"{response.url}/bare"}
        yield {"text": text}
