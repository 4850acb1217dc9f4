"""The writer: what comes while it is busy is written together, and nobody pays for another."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from typing import Any, cast

import pytest

from neardup import text_page
from neardup.errors import StoreError
from neardup.index import Answer, Index
from neardup.index.index import PAGES_AT_ONCE
from neardup.index.intake import Arrived, take_in
from neardup.index.writer import LARGE, PARSED_AHEAD, Writer
from neardup.model import RawPage
from neardup.service.logs import Metrics
from neardup.service.problems import Problem
from neardup.service.service import Workers


class Busy:
    """An index whose first write lasts until it is let go."""

    def __init__(self) -> None:
        self.parsed: list[list[str]] = []
        self.written: list[list[str]] = []
        self.begun, self.let_go = threading.Event(), threading.Event()
        self.asked, self.locked = threading.Event(), threading.Lock()

    def _take_in(self, pages: list[RawPage]) -> Arrived:
        self.parsed.append([page.id for page in pages])
        return take_in(pages, packed=True)

    def _store(self, arrivals: Callable[[], Arrived]) -> dict[str, Answer]:
        self.asked.set()
        with self.locked:
            arrived = arrivals()
        self.begun.set()
        assert self.let_go.wait(20)
        stored = arrived.pages["id"].to_pylist()
        if "bad" in stored:
            raise ValueError("a page that nobody thought of")
        if "away" in stored:
            raise StoreError("the server is away")
        assert arrived.texts is not None
        assert len(arrived.texts) == len(stored)
        self.written.append(stored)
        return {each: Answer(each, False, "c1") for each in stored}


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


def ids_of(future: Future[list[Answer]]) -> list[str]:
    return [answer.id for answer in future.result(20)]


def test_what_waits_is_written_together(writer: Writer, index: Busy) -> None:
    futures = [add(writer, f"{n}a", f"{n}b") for n in range(5)]
    index.let_go.set()
    assert [ids_of(each) for each in futures] == [[f"{n}a", f"{n}b"] for n in range(5)]
    assert index.written[1:] == [[f"{n}{x}" for n in range(5) for x in "ab"]]


def test_what_comes_while_another_process_writes_is_written_at_once(index: Busy) -> None:
    writer = Writer(cast(Index, cast(Any, index)), lambda count: None)
    index.let_go.set()
    with index.locked:  # by the other process
        futures = [add(writer, "a")]
        assert index.asked.wait(20)
        large = text_page("words " * (LARGE // 6 + 1), id="large")
        futures += [add(writer, "b"), add(writer, "bad"), writer.add([large]), add(writer, "c")]
    assert [ids_of(futures[each]) for each in (0, 1, 3, 4)] == [["a"], ["b"], ["large"], ["c"]]
    with pytest.raises(ValueError, match="nobody"):
        futures[2].result(20)
    writer.close()
    assert ["b", "bad"] in index.parsed  # together, and not with what takes long to parse
    assert index.written == [["a"], ["b"], ["large", "c"]]


def test_one_page_twice_is_written_in_turn(writer: Writer, index: Busy) -> None:
    futures = [add(writer, "a"), add(writer, "b"), add(writer, "a"), add(writer, "c")]
    index.let_go.set()
    assert [ids_of(each) for each in futures] == [["a"], ["b"], ["a"], ["c"]]
    assert index.written[1:] == [["a", "b"], ["a", "c"]]


def test_a_bad_page_spoils_only_its_own_request(writer: Writer, index: Busy) -> None:
    futures = [add(writer, "a"), add(writer, "bad"), add(writer, "b")]
    index.let_go.set()
    assert ids_of(futures[0]) == ["a"]
    with pytest.raises(ValueError, match="nobody"):
        futures[1].result(20)
    assert ids_of(futures[2]) == ["b"]


def test_a_store_that_is_away_is_asked_once(writer: Writer, index: Busy) -> None:
    """Each of them would wait as long as the first."""
    futures = [add(writer, "a"), add(writer, "away"), add(writer, "b")]
    index.let_go.set()
    for future in futures:
        with pytest.raises(StoreError, match="away"):
            future.result(20)
    assert ids_of(add(writer, "c")) == ["c"]


def test_other_work_keeps_its_place(writer: Writer, index: Busy) -> None:
    before = add(writer, "before")
    seen = writer.do(lambda: [page for ids in index.written for page in ids])
    after = add(writer, "after")
    index.let_go.set()
    assert seen.result(20) == ["first", "before"]
    assert ids_of(before) + ids_of(after) == ["before", "after"]


def test_errors_of_other_work_are_its_own(writer: Writer, index: Busy) -> None:
    failing = writer.do(lambda: 1 // 0)
    after = add(writer, "after")
    index.let_go.set()
    with pytest.raises(ZeroDivisionError):
        failing.result(20)
    assert ids_of(after) == ["after"]


def test_what_nobody_waits_for_any_more_is_not_begun(writer: Writer, index: Busy) -> None:
    given_up = add(writer, "given up")
    kept = add(writer, "kept")
    assert given_up.cancel()
    index.let_go.set()
    assert ids_of(kept) == ["kept"]
    assert ["kept"] in index.written


def test_groups_have_a_size(writer: Writer, index: Busy) -> None:
    half = PAGES_AT_ONCE // 2 + 1
    futures = [add(writer, *(f"{n}-{m}" for m in range(half))) for n in range(2)]
    index.let_go.set()
    for future in futures:
        assert len(ids_of(future)) == half
    assert [len(ids) for ids in index.written] == [1, half, half]


def test_a_job_beyond_one_commit_is_written_in_several(writer: Writer, index: Busy) -> None:
    many = [f"p{number}" for number in range(2 * PAGES_AT_ONCE + 1)]
    future = add(writer, *many)
    index.let_go.set()
    assert ids_of(future) == many
    assert [len(ids) for ids in index.written] == [1, PAGES_AT_ONCE, PAGES_AT_ONCE, 1]


def test_large_jobs_are_parsed_while_another_is_written(writer: Writer, index: Busy) -> None:
    text = "words " * (LARGE // 6 + 1)
    futures = [
        writer.add([text_page(text, id=f"large{number}")]) for number in range(PARSED_AHEAD + 3)
    ]
    until = time.monotonic() + 20
    while len(index.parsed) < 1 + PARSED_AHEAD and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.1)  # and no more than that
    assert index.parsed[1:] == [[f"large{number}"] for number in range(PARSED_AHEAD)]
    given_up = futures.pop(1)
    assert given_up.cancel()  # it gives its place back
    small = add(writer, "small")
    index.let_go.set()
    assert [ids_of(each)[0] for each in futures] == [f"large{n}" for n in (0, 2, 3, 4)]
    assert ids_of(small) == ["small"]
    assert sum(map(len, index.written)) == 6


def test_a_large_page_that_fails_takes_no_place_for_ever(writer: Writer, index: Busy) -> None:
    text = "words " * (LARGE // 6 + 1)
    futures = [writer.add([text_page(text, id=name)]) for name in ("bad", "a", "b", "c", "d", "e")]
    index.let_go.set()
    with pytest.raises(ValueError, match="nobody"):
        futures[0].result(20)
    assert [ids_of(each)[0] for each in futures[1:]] == list("abcde")


def test_callers_that_come_back_are_awaited(index: Busy) -> None:
    """Four clients, each with the next page once it has its answer: few commits for many pages."""
    writer = Writer(cast(Index, cast(Any, index)), lambda count: None)
    index.let_go.set()

    def client(name: str) -> None:
        for number in range(25):
            assert ids_of(add(writer, f"{name}{number}"))

    threads = [threading.Thread(target=client, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    assert sum(map(len, index.written)) == 100
    assert len(index.written) < 60


def test_a_request_has_its_time(index: Busy) -> None:
    workers = Workers(cast(Index, cast(Any, index)), 1, 0.5, Metrics())

    async def ask() -> list[str]:
        ids_of = []
        asked: list[Awaitable[object]] = [
            workers.add([text_page("words", id="slow")]),
            workers.add([text_page("words", id="never begun")]),
            workers.read(time.sleep, 2.0),
        ]
        for each in asked:
            with pytest.raises(Problem) as late:
                await each
            ids_of.append(f"{late.value.status_code} {late.value.code}")
            assert late.value.headers is not None
            assert int(late.value.headers["Retry-After"]) >= 1
        return ids_of

    assert asyncio.run(ask()) == ["503 too-slow"] * 3
    index.let_go.set()
    workers.close()
    assert index.written == [["slow"]]


def test_closing_finishes_what_was_given(index: Busy) -> None:
    writer = Writer(cast(Index, cast(Any, index)), lambda count: None)
    futures = [add(writer, f"p{n}") for n in range(10)]
    index.let_go.set()
    writer.close()
    assert [ids_of(each) for each in futures] == [[f"p{n}"] for n in range(10)]
