"""The writer: what comes while it is busy is written together, and nobody pays for another."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Iterator
from concurrent.futures import Future
from typing import Any, cast

import pytest

from neardup import text_page
from neardup.errors import StoreError
from neardup.index import Answer, Index
from neardup.index.writer import PAGES_TOGETHER, Writer
from neardup.model import RawPage
from neardup.service.logs import Metrics
from neardup.service.problems import Problem
from neardup.service.service import Workers


class Busy:
    """An index whose first write lasts until it is let go."""

    def __init__(self) -> None:
        self.written: list[list[str]] = []
        self.begun, self.let_go = threading.Event(), threading.Event()

    def add_many(self, pages: list[RawPage]) -> list[Answer]:
        self.begun.set()
        assert self.let_go.wait(20)
        ids = [page.id for page in pages]
        if "bad" in ids:
            raise StoreError("no room for bad pages")
        self.written.append(ids)
        return [Answer(page.id, False, "c1") for page in pages]


@pytest.fixture
def index() -> Busy:
    return Busy()


@pytest.fixture
def writer(index: Busy) -> Iterator[Writer]:
    """A writer that is busy with a first page."""
    made = Writer(cast(Index, cast(Any, index)), lambda count: None)
    first = add(made, "first")
    assert index.begun.wait(20)
    yield made
    index.let_go.set()
    made.close()
    assert first.result(20)


def add(writer: Writer, *ids: str) -> Future[list[Answer]]:
    return writer.add([text_page("words", id=id_) for id_ in ids])


def told(future: Future[list[Answer]]) -> list[str]:
    return [answer.id for answer in future.result(20)]


def test_what_waits_is_written_together(writer: Writer, index: Busy) -> None:
    futures = [add(writer, f"{n}a", f"{n}b") for n in range(5)]
    index.let_go.set()
    assert [told(each) for each in futures] == [[f"{n}a", f"{n}b"] for n in range(5)]
    assert index.written[1:] == [[f"{n}{x}" for n in range(5) for x in "ab"]]


def test_one_page_twice_is_written_in_turn(writer: Writer, index: Busy) -> None:
    futures = [add(writer, "a"), add(writer, "b"), add(writer, "a"), add(writer, "c")]
    index.let_go.set()
    assert [told(each) for each in futures] == [["a"], ["b"], ["a"], ["c"]]
    assert index.written[1:] == [["a", "b"], ["a", "c"]]


def test_a_bad_page_spoils_only_its_own_request(writer: Writer, index: Busy) -> None:
    futures = [add(writer, "a"), add(writer, "bad"), add(writer, "b")]
    index.let_go.set()
    assert told(futures[0]) == ["a"]
    with pytest.raises(StoreError):
        futures[1].result(20)
    assert told(futures[2]) == ["b"]


def test_other_work_keeps_its_place(writer: Writer, index: Busy) -> None:
    before = add(writer, "before")
    seen = writer.do(lambda: [page for ids in index.written for page in ids])
    after = add(writer, "after")
    index.let_go.set()
    assert seen.result(20) == ["first", "before"]
    assert told(before) + told(after) == ["before", "after"]


def test_errors_of_other_work_are_its_own(writer: Writer, index: Busy) -> None:
    failing = writer.do(lambda: 1 // 0)
    after = add(writer, "after")
    index.let_go.set()
    with pytest.raises(ZeroDivisionError):
        failing.result(20)
    assert told(after) == ["after"]


def test_what_nobody_waits_for_any_more_is_not_begun(writer: Writer, index: Busy) -> None:
    given_up = add(writer, "given up")
    kept = add(writer, "kept")
    assert given_up.cancel()
    index.let_go.set()
    assert told(kept) == ["kept"]
    assert ["kept"] in index.written


def test_groups_have_a_size(writer: Writer, index: Busy) -> None:
    half = PAGES_TOGETHER // 2 + 1
    futures = [add(writer, *(f"{n}-{m}" for m in range(half))) for n in range(2)]
    index.let_go.set()
    for future in futures:
        assert len(told(future)) == half
    assert [len(ids) for ids in index.written] == [1, half, half]


def test_a_request_has_its_time(index: Busy) -> None:
    workers = Workers(cast(Index, cast(Any, index)), 1, 0.5, Metrics())

    async def ask() -> list[str]:
        told = []
        asked: list[Awaitable[object]] = [
            workers.add([text_page("words", id="slow")]),
            workers.add([text_page("words", id="never begun")]),
            workers.read(time.sleep, 2.0),
        ]
        for each in asked:
            with pytest.raises(Problem) as late:
                await each
            told.append(f"{late.value.status_code} {late.value.code}")
            assert late.value.headers is not None
            assert int(late.value.headers["Retry-After"]) >= 1
        return told

    assert asyncio.run(ask()) == ["503 too-slow"] * 3
    index.let_go.set()
    workers.close()
    assert index.written == [["slow"]]


def test_closing_finishes_what_was_given(index: Busy) -> None:
    writer = Writer(cast(Index, cast(Any, index)), lambda count: None)
    futures = [add(writer, f"p{n}") for n in range(10)]
    index.let_go.set()
    writer.close()
    assert [told(each) for each in futures] == [[f"p{n}"] for n in range(10)]
