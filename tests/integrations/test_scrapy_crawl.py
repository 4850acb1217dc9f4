"""Real crawls of a site on this machine with mirrors, session ids, print versions and a trap."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from neardup import Index, html_page

if TYPE_CHECKING:
    from integrations.conftest import Crawled, CrawlIt, Site

ROOT = Path(__file__).parents[2]
ARTICLES = [f"Article {number}" for number in range(5)]


def titles(crawled: Crawled) -> Counter[str]:
    """Items by the kind of their page."""
    return Counter(
        item["title"].partition(" in ")[0].removeprefix("Print: ") for item in crawled.items
    )


def adds_up(crawled: Crawled) -> None:
    """Every page is one of three, and every item is dropped or comes."""
    kinds = [crawled.stat(f"pages/{kind}") for kind in ("new", "duplicate", "undecided")]
    assert crawled.stat("pages") == sum(kinds)
    assert crawled.stat("errors") == 0
    assert crawled.stat("items_dropped") == crawled.stats.get("item_dropped_count", 0)
    assert crawled.stats.get("item_scraped_count", 0) == len(crawled.items)


def test_each_text_comes_once_and_links_of_copies_are_not_followed(
    site: Site, crawl: CrawlIt
) -> None:
    starts = [f"http://{host}/" for host in site.hosts]
    found = crawl(*starts, NEARDUP_FOLLOW_DUPLICATES=False)
    adds_up(found)
    assert found.stats["finish_reason"] == "finished"
    assert {title: titles(found)[title] for title in [*ARTICLES, "Events"]} == dict.fromkeys(
        [*ARTICLES, "Events"], 1
    )
    # Of each article: the page, one session id of it and its print version, under two names
    assert (
        found.stat("pages/duplicate")
        == site.times("/articles/")
        + site.times("/print/")
        + site.times("/calendar")
        - len(ARTICLES)
        - 1
        + 1  # the front page under its second name
    )
    assert found.stat("items_dropped") == found.stat("pages/duplicate")
    assert site.times("/behind-print/") == 0
    assert site.times("/calendar") <= 3
    assert found.stat("links_not_followed") > 0
    assert found.stat("traps") == 0
    reasons = {name: found.stat(f"unchecked/{name}") for name in ("not-html", "empty")}
    assert reasons == {"not-html": 2, "empty": 1}
    assert found.stat("unchecked/http-status") == 1

    again = crawl(*starts, NEARDUP_FOLLOW_DUPLICATES=False)
    assert again.stat("pages/known") == again.stat("pages") == found.stat("pages")
    assert sorted(each["url"] for each in again.items) == sorted(
        each["url"] for each in found.items
    )


def test_a_trap_is_told_once_and_its_links_are_followed_by_default(
    site: Site, crawl: CrawlIt
) -> None:
    start = f"http://{site.hosts[0]}/"
    found = crawl(
        start, NEARDUP_TRAP_PAGES=10, NEARDUP_TRAP_ACTION="warn", CLOSESPIDER_PAGECOUNT=60
    )
    adds_up(found)
    assert found.stats["finish_reason"] == "closespider_pagecount"
    assert found.log.count("127.0.0.1 may be a crawl trap: ") == 1
    assert found.stat("traps") == 1
    assert urlsplit(found.stat("traps/127.0.0.1")).netloc == site.hosts[0]
    assert found.stat("links_not_followed") == 0
    assert site.times("/calendar") > 10


def test_a_trap_is_left_when_asked(site: Site, crawl: CrawlIt) -> None:
    found = crawl(f"http://{site.hosts[0]}/", NEARDUP_TRAP_PAGES=10, NEARDUP_TRAP_ACTION="stop")
    adds_up(found)
    assert found.stats["finish_reason"] == "finished"
    assert found.stat("traps") == 1
    assert found.stat("links_not_followed") > 0
    assert {titles(found)[title] for title in ARTICLES} == {1}


def test_duplicates_are_flagged_and_nothing_is_dropped(site: Site, crawl: CrawlIt) -> None:
    """On Twisted's own reactor, without asyncio."""
    found = crawl(
        f"http://{site.hosts[0]}/",
        NEARDUP_ACTION="flag",
        NEARDUP_FIELD="seen",
        NEARDUP_FOLLOW_DUPLICATES=False,
        TWISTED_REACTOR="twisted.internet.selectreactor.SelectReactor",
    )
    adds_up(found)
    assert found.stat("items_dropped") == 0
    flags: dict[str, dict[str, Any]] = {
        item["url"]: item["seen"] for item in found.items if "seen" in item
    }
    assert len(flags) == found.stat("pages")
    copies = {url: flag for url, flag in flags.items() if flag["duplicate"]}
    assert len(copies) == found.stat("items_flagged") == found.stat("pages/duplicate") > 0
    for url, flag in copies.items():
        assert list(flag) == ["duplicate", "of", "cluster", "relation", "similarity", "replaced"]
        assert flags[flag["of"]]["cluster"] == flag["cluster"], url


def test_pages_of_a_crawl_and_of_files_get_the_same_answers(
    site: Site, crawl: CrawlIt, tmp_path: Path
) -> None:
    """What decides is whether a page has a URL: without one, nothing is known of its site."""
    start = f"http://{site.hosts[0]}/diary?month=0"
    settings = {"NEARDUP_ACTION": "flag", "NEARDUP_TRAP_ACTION": "warn"}
    found = crawl(start, CLOSESPIDER_PAGECOUNT=6, **settings)
    crawled = {item["url"]: item["neardup"] for item in found.items}
    pages = {url: site.answer(url.partition(site.hosts[0])[2])[2].decode() for url in crawled}
    with Index.open(f"sqlite:///{tmp_path / 'urls.db'}") as index:
        by_url = {url: index.add(html_page(page, url=url)) for url, page in pages.items()}
    assert {url: answer.as_data() for url, answer in by_url.items()} == crawled
    relations = [str(answer.relation) for answer in by_url.values()]
    assert relations[0] == "None"
    assert relations[-1] == "undecided"  # what is its own text is the month: the site has the rest
    with Index.open("memory://") as index:
        by_name = [index.add(html_page(page, id=url)) for url, page in pages.items()]
    assert {str(answer.relation) for answer in by_name[1:]} == {"near"}


def test_a_budget_lets_some_pages_of_each_cluster_pass(
    site: Site, crawl: CrawlIt, tmp_path: Path
) -> None:
    found = crawl(
        f"http://{site.hosts[0]}/", NEARDUP_CLUSTER_BUDGET=3, NEARDUP_FOLLOW_DUPLICATES=False
    )
    adds_up(found)
    assert found.stats["finish_reason"] == "finished"
    assert found.stat("pages/within_budget") > 0
    passed = {item["url"] for item in found.items}
    with Index.open(f"sqlite:///{tmp_path / 'crawl.db'}") as index:
        for cluster in index.clusters(smallest=3):
            assert passed.issuperset(cluster.members[:3])
            assert passed.isdisjoint(cluster.members[3:])
        assert any(len(cluster.members) > 3 for cluster in index.clusters())


def test_a_callback_is_told_and_a_request_may_ask_not_to_be_checked(
    site: Site, crawl: CrawlIt
) -> None:
    found = crawl(
        f"http://{site.hosts[0]}/",
        spider="spiders:TellingSpider",
        SPIDER_MIDDLEWARES={"neardup.integrations.scrapy.NeardupSpiderMiddleware": 45},
        ITEM_PIPELINES={"neardup.integrations.scrapy.NeardupPipeline": 50},
        NEARDUP_ACTION="flag",
    )
    adds_up(found)
    told = {urlsplit(item["url"]): item["told"] for item in found.items if "told" in item}
    first, copy, unchecked = sorted(told, key=lambda url: (url.path, url.query))
    assert told[first]["duplicate"] is False
    assert (told[copy]["duplicate"], told[copy]["of"]) == (True, first.geturl())
    assert told[unchecked] is None
    assert found.stat("unchecked/not-asked-for") == 1
    assert found.stat("items_not_flagged") == 2  # items without the field still come
    assert len(found.items) == 6
    assert found.log.count("PageItem has no field 'neardup'") == 1


def test_the_pipeline_alone_checks_items_that_carry_their_page(site: Site, crawl: CrawlIt) -> None:
    found = crawl(
        f"http://{site.hosts[0]}/",
        spider="spiders:CarryingSpider",
        ITEM_PIPELINES={"neardup.integrations.scrapy.NeardupPipeline": 50},
    )
    adds_up(found)
    assert (found.stat("pages/new"), found.stat("pages/duplicate")) == (2, 2)
    assert (found.stat("unchecked/no-content"), found.stat("unchecked/no-id")) == (2, 2)
    assert found.stat("items_dropped") == 2
    assert len(found.items) == 6


def test_without_a_store_the_crawl_does_not_start(site: Site, crawl: CrawlIt) -> None:
    found = crawl(f"http://{site.hosts[0]}/", NEARDUP_STORE=None)
    assert "NEARDUP_STORE is not set" in found.log
    assert site.asked == []


def test_it_can_be_switched_off(site: Site, crawl: CrawlIt) -> None:
    found = crawl(f"http://{site.hosts[0]}/", NEARDUP_ENABLED=False, CLOSESPIDER_PAGECOUNT=20)
    assert not any(name.startswith("neardup/") for name in found.stats)
    assert len(found.items) >= 15


def test_the_example_runs_as_its_text_says(site: Site, tmp_path: Path) -> None:
    example = ROOT / "examples" / "near_duplicate_spider.py"
    start = f"start=http://{site.hosts[0]}/"
    command = [sys.executable, "-m", "scrapy", "runspider", str(example), "-a", start]
    options = ["-O", "pages.jsonl", "-s", "NEARDUP_TRAP_PAGES=10"]
    subprocess.run([*command, *options], cwd=tmp_path, check=True, capture_output=True, timeout=300)
    items = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    assert Counter(item["title"] for item in items)["Article 0"] == 1
    with Index.open(f"sqlite:///{tmp_path / 'crawl.db'}", create=False) as index:
        assert len(index) > len(items)
