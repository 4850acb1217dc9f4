"""Near-duplicates at crawl time, in Scrapy.

    SPIDER_MIDDLEWARES = {"neardup.integrations.scrapy.NeardupSpiderMiddleware": 45}
    ITEM_PIPELINES = {"neardup.integrations.scrapy.NeardupPipeline": 50}
    NEARDUP_STORE = "sqlite:///crawl.db"

The middleware asks the index about each page once and looks after links, budgets and crawl traps;
the pipeline drops or flags the items of duplicates. All settings are in `settings.py` and in
docs/crawling.md.
"""

from neardup.errors import MissingExtraError

try:
    import scrapy  # noqa: F401 - only to say clearly that it is missing
except ImportError as error:
    raise MissingExtraError("the Scrapy integration", "scrapy") from error

from neardup.integrations.scrapy.middleware import NeardupPipeline, NeardupSpiderMiddleware

__all__ = ["NeardupPipeline", "NeardupSpiderMiddleware"]
