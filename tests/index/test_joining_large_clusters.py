"""Many pages of one batch that join one large cluster leave the index whole."""

from __future__ import annotations

import pytest

from index_checks import check_whole, groups
from neardup import Index, html_page
from neardup.index.candidates import BOUNDS, Bounds
from sample_pages import html

PAGES = 240  # more than a large cluster has, and fewer than make a key hot


def page(number: int) -> str:
    """All pages are much alike, and every second one repeats the one before it."""
    topic = number // 2
    return "".join(
        f"<p>Report {topic} part {part} speaks of item {topic * 31 + part * 7} and of no other.</p>"
        for part in range(8)
    )


@pytest.mark.parametrize("most", [5, BOUNDS.component])
def test_many_pages_join_large_clusters_at_once(most: int) -> None:
    with Index.open("memory://") as index:
        index.bounds = Bounds(component=most)
        for first in range(0, PAGES, 60):
            numbers = range(first, first + 60)
            index.add_many(
                html_page(
                    page(number), id=str(number), url=f"http://s{number % 50}.example/{number}"
                )
                for number in numbers
            )
            assert check_whole(index) == {str(number) for number in range(first + 60)}


def test_feedback_and_replaced_pages_in_a_large_cluster() -> None:
    copies = [
        html_page(html("ferry"), id=f"copy{n}", url=f"http://h{n}.example/") for n in range(9)
    ]
    every = frozenset(copy.id for copy in copies)
    with Index.open("memory://") as index:
        index.bounds = Bounds(component=4)
        index.add_many(copies)
        for one, other in (("copy0", "copy5"), ("copy3", "copy8")):
            index.give_feedback(one, other, duplicate=False)
            apart = max(one, other)
            assert groups(index) == {every - {apart}, frozenset({apart})}
            check_whole(index)
            index.take_back_feedback(one, other)
            assert groups(index) == {every}
        for name in ("copy0", "copy6"):
            index.add(html_page(html("bridge"), id=name, url=f"http://{name}.example/"))
            assert groups(index) == {every - {name}, frozenset({name})}
            check_whole(index)
            assert index.add(html_page(html("ferry"), id=name, url=f"http://{name}.ex/")).duplicate
            assert groups(index) == {every}
            check_whole(index)
