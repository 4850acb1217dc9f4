"""Pages that come slowly, quickly, or not at all."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import Queue

import pytest

from neardup import Index, RawPage, html_page
from neardup.cli.answers import as_they_come
from neardup.index import Answer
from neardup.model import Skip, SkipReason, Source


def page(number: int) -> RawPage:
    return html_page(f"<p>words {number}", url=f"http://h.example/{number}")


@pytest.fixture
def index() -> Iterator[Index]:
    with Index.open("memory://") as made:
        yield made


def test_a_slow_input_is_answered_page_by_page(index: Index) -> None:
    """Each page is asked for only after the one before it was answered."""
    allowed: Queue[int] = Queue()

    def slow() -> Iterator[RawPage]:
        for _ in range(3):
            yield page(allowed.get(timeout=60))

    answers = as_they_come(slow(), index)
    for number in range(3):
        allowed.put(number)
        assert next(answers).id == page(number).id
    assert list(answers) == []


def test_a_quick_input_is_answered_whole_in_order_with_few_commits(index: Index) -> None:
    records: list[RawPage | Skip] = [page(number) for number in range(300)]
    records[50] = Skip(Source("-", 50), SkipReason.EMPTY, "nothing", "http://h.example/50")
    answers = list(as_they_come(iter(records), index))
    assert [each.id for each in answers] == [page(number).id for number in range(300)]
    assert answers[50] is records[50]
    moments = {stored.added for stored in map(index.page, map(str, ids(answers))) if stored}
    assert len(moments) < 60


def ids(answers: list[Answer | Skip]) -> list[str]:
    return [each.id for each in answers]


def test_an_error_comes_after_the_answers_before_it(index: Index) -> None:
    def failing() -> Iterator[RawPage]:
        yield page(1)
        raise OSError("the pipe broke")

    answers = as_they_come(failing(), index)
    assert next(answers).id == page(1).id
    with pytest.raises(OSError, match="the pipe broke"):
        next(answers)


def test_leaving_early_ends_the_writer(index: Index) -> None:
    answers = as_they_come(map(page, range(500)), index)
    next(answers)
    answers.close()
    assert not any(thread.name == "neardup-writer" for thread in threading.enumerate())
    assert 0 < len(index) < 500
