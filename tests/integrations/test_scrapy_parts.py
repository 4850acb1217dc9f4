"""The parts of the Scrapy integration, each by itself."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import re
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.http import HtmlResponse, JsonResponse, Response, TextResponse, XmlResponse
from scrapy.settings import Settings

from neardup import Index, StoreError, UsageError, html_page
from neardup.index import Answer
from neardup.integrations.scrapy.crawl import (
    Budget,
    Checking,
    Crawl,
    CrawlSettings,
    Finding,
    Traps,
    read_settings,
)
from neardup.integrations.scrapy.middleware import (
    MOST_ITEMS,
    Ledger,
    page_from_item,
    page_from_response,
)
from neardup.model import RawPage, Relation
from sample_pages import long_html

GUIDE = Path(__file__).parents[2] / "docs" / "crawling.md"
Result = TypeVar("Result")


def settings(**values: Any) -> CrawlSettings:
    given = {"STORE": "memory://"} | values
    return read_settings(Settings({f"NEARDUP_{name}": value for name, value in given.items()}))


def page(number: int, *, edited: bool = False) -> RawPage:
    return html_page(long_html("harbour", edited=edited), url=f"http://h{number}.example/")


def finish(work: Awaitable[Result]) -> Result:
    async def wait() -> Result:
        return await work

    return asyncio.run(wait())


# Settings


def test_defaults_are_those_of_the_class() -> None:
    assert settings() == CrawlSettings("memory://")


@pytest.mark.parametrize(
    ("name", "given", "read"),
    [
        ("METHOD", "minhash", "minhash"),
        ("OPTIONS", '{"threshold": 0.7}', {"threshold": 0.7}),
        ("KEEP_TEXT", "False", False),
        ("ACTION", "flag", "flag"),
        ("FIELD", "copy", "copy"),
        ("FOLLOW_DUPLICATES", "0", False),
        ("CLUSTER_BUDGET", "3", 3),
        ("TRAP_PAGES", "0", 0),
        ("TRAP_SHARE", "0.5", 0.5),
        ("TRAP_ACTION", "stop", "stop"),
    ],
)
def test_each_setting_is_read_as_the_command_line_gives_it(
    name: str, given: str, read: Any
) -> None:
    found = settings(**{name: given})
    assert found == dataclasses.replace(settings(), **{name.lower(): read})


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("STORE", ""),
        ("ACTION", "delete"),
        ("FOLLOW_DUPLICATES", "perhaps"),
        ("CLUSTER_BUDGET", 0),
        ("CLUSTER_BUDGET", "many"),
        ("OPTIONS", "[1"),
        ("TRAP_PAGES", -1),
        ("TRAP_SHARE", 1.5),
        ("TRAP_ACTION", "drop"),
    ],
)
def test_a_bad_setting_is_named(name: str, given: object) -> None:
    with pytest.raises(UsageError, match=f"NEARDUP_{name}"):
        settings(**{name: given})


def test_the_guide_has_every_setting_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `NEARDUP_(\w+)` \| (.*?) \|", GUIDE.read_text(), re.MULTILINE))
    fields = {field.name.upper(): field.default for field in dataclasses.fields(CrawlSettings)}
    assert set(rows) == {*fields, "ENABLED"}
    for name in ("ACTION", "FIELD", "TRAP_ACTION"):
        assert rows[name] == f'`"{fields[name]}"`'
    for name in ("FOLLOW_DUPLICATES", "CLUSTER_BUDGET", "TRAP_PAGES", "TRAP_SHARE"):
        assert rows[name] == f"`{fields[name]}`"


# Responses


def response_of(kind: type[Response], body: bytes, content_type: str = "", **more: Any) -> Response:
    headers = {"Content-Type": content_type} if content_type else {}
    request = Request("http://h.example/p", **more)
    return kind("http://h.example/p", headers=headers, body=body, request=request)


def taken(response: Response) -> RawPage | str:
    assert response.request
    return page_from_response(response, response.request, "f00d")


def test_a_page_has_the_url_the_charset_and_the_body() -> None:
    body = "<p>春茶".encode("gb18030")
    found = taken(response_of(HtmlResponse, body, "Text/HTML; charset=GB18030"))
    assert isinstance(found, RawPage)
    assert (found.id, found.url, found.body) == ("http://h.example/p", "http://h.example/p", body)
    assert found.is_html
    assert found.charset.lower() == "gb18030"
    assert found.time is not None


def test_plain_text_is_a_page_too() -> None:
    found = taken(response_of(TextResponse, b"words", "text/plain"))
    assert isinstance(found, RawPage)
    assert not found.is_html


def test_what_is_posted_has_an_id_of_its_own() -> None:
    found = taken(response_of(HtmlResponse, b"<p>a", method="POST"))
    assert isinstance(found, RawPage)
    assert found.id == "http://h.example/p POST f00d"
    assert found.url == "http://h.example/p"


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (response_of(Response, b"\x89PNG", "image/png"), "not-html"),
        (response_of(JsonResponse, b"{}", "application/json"), "not-html"),
        (response_of(XmlResponse, b"<rss/>", "text/xml"), "not-html"),
        (response_of(TextResponse, b"p {}", "text/css"), "not-html"),
        (response_of(HtmlResponse, b"", "text/html"), "empty"),
        (response_of(HtmlResponse, b"<p>" + b" " * 20_000_000), "too-large"),
        (response_of(HtmlResponse, b"<p>a").replace(status=404), "http-status"),
        (response_of(HtmlResponse, b"<p>a", meta={"neardup_dont_check": True}), "not-asked-for"),
    ],
)
def test_what_is_not_looked_at(response: Response, reason: str) -> None:
    assert taken(response) == reason


def test_items_that_carry_a_page() -> None:
    found = page_from_item({"id": 7, "url": "http://h.example/", "text": "words", "price": 3})
    assert isinstance(found, RawPage)
    assert (found.id, found.url, found.is_html) == ("7", "http://h.example/", False)
    assert page_from_item({"text": "words"}) == "no-id"
    assert page_from_item({"url": "http://h.example/"}) == "no-content"


# Traps


@given(
    st.integers(1, 12),
    st.floats(0.1, 1),
    st.lists(st.tuples(st.sampled_from(["a", "b"]), st.booleans()), max_size=80),
)
def test_traps_are_as_a_plain_list_of_the_last_pages_tells(
    pages: int, share: float, seen: list[tuple[str, bool]]
) -> None:
    traps = Traps(pages, share)
    last = {host: deque[bool](maxlen=pages) for host in "ab"}
    told: set[str] = set()
    for host, nothing_new in seen:
        last[host].append(nothing_new)
        holds = len(last[host]) == pages and sum(last[host]) >= share * pages
        first = holds and host not in told
        assert traps.note(host, nothing_new=nothing_new) is first
        assert traps.holds(host) is holds
        assert traps.copies(host) == sum(last[host])
        if first:
            told.add(host)


def test_no_watch_for_traps_when_it_is_off() -> None:
    traps = Traps(0, 0.9)
    assert not any(traps.note("a", nothing_new=True) for _ in range(100))
    assert not traps.holds("a")


# Budget, ledger


def test_the_first_pages_of_a_cluster_pass() -> None:
    with Index.open("memory://") as index:
        for budget in (1, 2, 4):
            asked = Budget(index, budget)
            answers = index.add_many([page(number) for number in range(6)])
            assert [asked.allows(each) for each in answers] == [n < budget for n in range(6)]
            # and again, when the cluster is known to be full
            assert [asked.allows(each) for each in answers] == [n < budget for n in range(6)]


def test_an_item_goes_by_its_identity() -> None:
    ledger = Ledger()
    finding = Finding(Answer("a", False, "c1"), False, "a")
    one, other = {"url": "a"}, {"url": "a"}
    ledger.enter(one, finding)
    assert ledger.take(other) is None
    assert ledger.take(one) is finding
    assert ledger.take(one) is None


def test_items_that_never_come_are_forgotten() -> None:
    ledger = Ledger()
    finding = Finding(Answer("a", False, "c1"), False, "a")
    items: list[dict[str, int]] = [{} for _ in range(MOST_ITEMS + 1)]
    for item in items:
        ledger.enter(item, finding)
    assert ledger.take(items[0]) is None
    assert ledger.take(items[1]) is finding


# The index in its thread


class SlowIndex(Index):
    """Waits until it is let go, and notes what came together."""

    def prepare(self) -> None:
        self.go, self.waiting = threading.Event(), threading.Event()
        self.batches: list[int] = []

    def _store(self, arrivals: Callable[[], Any]) -> dict[str, Answer]:
        def counted() -> Any:
            arrived = arrivals()
            self.batches.append(len(arrived.ids))
            return arrived

        assert threading.current_thread() is not threading.main_thread()
        self.waiting.set()
        assert self.go.wait(60)
        return super()._store(counted)


@pytest.fixture
def slow() -> Iterator[SlowIndex]:
    index = SlowIndex.open("memory://")
    assert isinstance(index, SlowIndex)
    index.prepare()
    yield index
    index.close()


def test_pages_that_wait_are_added_together_and_the_loop_goes_on(slow: SlowIndex) -> None:
    checking = Checking(slow, Budget(slow, 1))

    async def add_many() -> list[tuple[Answer, bool]]:
        waiting = [checking.add(page(number)) for number in range(100)]
        await asyncio.sleep(0)  # the loop turns while the index is busy
        slow.go.set()
        return [await each for each in waiting]

    found = asyncio.run(add_many())
    assert [answer.id for answer, _ in found] == [page(number).id for number in range(100)]
    assert [passes for _, passes in found] == [True] + [False] * 99
    assert sum(slow.batches) == 100
    assert len(slow.batches) <= 3


def test_a_request_that_was_cancelled_harms_no_other(slow: SlowIndex) -> None:
    checking = Checking(slow, Budget(slow, 1))

    async def add_and_cancel() -> Answer:
        checking.add(page(0))
        while not slow.waiting.is_set():  # later pages come too late for its commit
            await asyncio.sleep(0.001)
        cancelled, kept = checking.add(page(1)), checking.add(page(2))
        asyncio.ensure_future(cancelled).cancel()
        await asyncio.sleep(0)
        slow.go.set()
        return (await kept)[0]

    assert asyncio.run(add_and_cancel()).of == page(0).id
    checking._writer.close()
    assert slow.page(page(1).id) is None


class Stats:
    """As Scrapy's."""

    def __init__(self) -> None:
        self.counts: dict[str, Any] = {}

    def inc_value(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def set_value(self, name: str, value: object) -> None:
        self.counts[name] = value


def test_a_page_passes_when_the_store_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise StoreError("the disk is full")

    stats = Stats()
    crawl = Crawl(settings(), stats)
    monkeypatch.setattr(Index, "_store", fail)
    with caplog.at_level(logging.ERROR):
        assert finish(crawl.look_at(page(0))) is None
    assert stats.counts == {"neardup/errors": 1}
    assert "http://h0.example/ was not checked: the disk is full" in caplog.text
    assert crawl.follows_links_of(None)
    monkeypatch.undo()
    found = finish(crawl.look_at(page(0)))
    assert found is not None
    assert not found.is_copy
    crawl.close()


@pytest.mark.parametrize(
    ("given", "relation", "copy", "follows"),
    [
        ({}, Relation.NEAR, True, True),
        ({"FOLLOW_DUPLICATES": False}, Relation.NEAR, True, False),
        ({"FOLLOW_DUPLICATES": False}, Relation.NEAR, False, True),  # within the budget
        ({"FOLLOW_DUPLICATES": False}, Relation.UNDECIDED, False, True),
        ({"TRAP_ACTION": "stop"}, Relation.NEAR, True, False),
        ({"TRAP_ACTION": "stop"}, Relation.UNDECIDED, False, False),
        ({"TRAP_ACTION": "stop"}, None, False, True),  # a new page of a host in a trap
    ],
)
def test_whose_links_are_followed(
    given: dict[str, Any], relation: Relation | None, copy: bool, follows: bool
) -> None:
    crawl = Crawl(settings(TRAP_PAGES=1, **given), Stats())
    crawl._traps.note("h", nothing_new=True)
    answer = Answer("a", copy, "c1", None, relation)
    assert crawl.follows_links_of(Finding(answer, copy, "h")) is follows
    crawl.close()
