"""Scrapy integration: find near-duplicates at crawl time.

    SPIDER_MIDDLEWARES = {"neardup.integrations.scrapy.NeardupSpiderMiddleware": 45}
    ITEM_PIPELINES = {"neardup.integrations.scrapy.NeardupPipeline": 50}
    NEARDUP_STORE = "sqlite:///crawl.db"

The middleware adds each page to the index, and handles links, cluster budgets and crawl traps; the
pipeline drops or flags the items of duplicates. The settings are the fields of
`crawl.CrawlSettings`; docs/crawling.md explains them.
"""

from neardup.errors import MissingExtraError

try:
    import scrapy  # noqa: F401 - for a clear error if it is missing
except ImportError as error:
    raise MissingExtraError("the Scrapy integration", "scrapy") from error

from neardup.integrations.scrapy.middleware import NeardupPipeline, NeardupSpiderMiddleware

__all__ = ["NeardupPipeline", "NeardupSpiderMiddleware"]
