"""One crawl, told on standard input; its stats go to standard output and its log to the errors."""

from __future__ import annotations

import json
import sys

from scrapy.crawler import CrawlerProcess
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

QUIET = {
    "TELNETCONSOLE_ENABLED": False,
    "CONCURRENT_REQUESTS": 1,  # in one order, always
    "LOG_LEVEL": "INFO",
    "DEFAULT_DROPITEM_LOG_LEVEL": "DEBUG",
    "CLOSESPIDER_PAGECOUNT": 300,  # a trap that is not left ends here
    "DOWNLOAD_TIMEOUT": 20,
}


def main() -> None:
    order = json.load(sys.stdin)
    settings = Settings()
    settings.setdict(QUIET | {"FEEDS": {order["items"]: {"format": "jsonlines"}}}, "cmdline")
    settings.setdict(order["settings"], "cmdline")
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(load_object(order["spider"].replace(":", ".")))
    process.crawl(crawler, start=order["start"])
    process.start()
    assert crawler.stats
    json.dump(crawler.stats.get_stats(), sys.stdout, default=str)


if __name__ == "__main__":
    main()
