"""Pages that come slowly, quickly, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from queue import Queue

import pytest

from neardup import RawPage, html_page
from neardup.cli.answers import as_they_come


def page(number: int) -> RawPage:
    return html_page("<p>words", url=f"http://h.example/{number}")


def test_a_slow_input_is_given_page_by_page() -> None:
    """Each page is asked for only after the one before it was given."""
    allowed: Queue[int] = Queue()

    def slow() -> Iterator[RawPage]:
        for _ in range(3):
            yield page(allowed.get(timeout=60))

    batches = as_they_come(slow(), 64)
    for number in range(3):
        allowed.put(number)
        assert next(batches) == [page(number)]
    assert list(batches) == []


def test_a_quick_input_is_given_whole_in_batches_of_bounded_size() -> None:
    batches = list(as_they_come(map(page, range(1000)), 16))
    assert [each for batch in batches for each in batch] == [page(n) for n in range(1000)]
    assert max(map(len, batches)) <= 16


def test_an_error_comes_after_the_pages_before_it() -> None:
    def failing() -> Iterator[RawPage]:
        yield page(1)
        raise OSError("the pipe broke")

    batches = as_they_come(failing(), 16)
    assert next(batches) == [page(1)]
    with pytest.raises(OSError, match="the pipe broke"):
        next(batches)
