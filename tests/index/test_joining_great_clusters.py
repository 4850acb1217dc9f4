"""Many pages of one batch that join one great cluster leave the index whole."""

from __future__ import annotations

import pytest

from index_checks import check_whole
from neardup import Index, html_page
from neardup.index import components

PAGES = 240  # more than a great cluster has, and fewer than make a key hot


def page(number: int) -> str:
    """All pages are much alike, and every second one repeats the one before it."""
    topic = number // 2
    return "".join(
        f"<p>Report {topic} part {part} speaks of item {topic * 31 + part * 7} and of no other.</p>"
        for part in range(8)
    )


@pytest.mark.parametrize("most", [5, components.MOST_PAGES])
def test_many_pages_join_great_clusters_at_once(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(components, "MOST_PAGES", most)
    with Index.open("memory://") as index:
        for first in range(0, PAGES, 60):
            numbers = range(first, first + 60)
            index.add_many(
                html_page(
                    page(number), id=str(number), url=f"http://s{number % 50}.example/{number}"
                )
                for number in numbers
            )
            assert check_whole(index) == {str(number) for number in range(first + 60)}
