"""The views of a page: which of its lines count."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from neardup.methods.news_clusters.extractor import story_title
from neardup.model import Block, BlockKind, Region
from neardup.text.sites import BlockCounts, Survey, add_counts
from neardup.text.views import View, page_lines, view_pages

LONG = "The committee met for three hours and left without a single decision"


def pages(*each: Sequence[Block]) -> pa.RecordBatch:
    """The columns that a view reads."""
    return pa.record_batch(
        {
            "text": pa.array(
                ["\n".join(block.text for block in page) for page in each], pa.string()
            ),
            "kinds": pa.array([[block.kind for block in page] for page in each], _LIST),
            "regions": pa.array([[block.region for block in page] for page in each], _LIST),
            "link_shares": pa.array(
                [[block.link_share for block in page] for page in each], pa.list_(pa.float32())
            ),
        }
    )


_LIST = pa.list_(pa.uint8())


def main_text(batch: pa.RecordBatch) -> list[list[str]]:
    """The lines that the view `main` leaves."""
    viewed = view_pages(batch, View.MAIN, None)
    assert viewed["text"].to_pylist() == [
        "\n".join(each) for each in page_lines(viewed).to_pylist()
    ]
    return list(page_lines(viewed).to_pylist())


def test_the_whole_page_is_every_line() -> None:
    batch = pages([Block("One."), Block("two", region=Region.NAV)])
    assert view_pages(batch, View.WHOLE, None) is batch


def test_columns_run_along_the_lines_that_are_left() -> None:
    blocks = [Block("Menu"), Block(LONG, BlockKind.QUOTE, Region.MAIN, 0.25)]
    viewed = view_pages(pages(blocks), View.MAIN, None)
    assert viewed["kinds"].to_pylist() == [[BlockKind.QUOTE]]
    assert viewed["regions"].to_pylist() == [[Region.MAIN]]
    assert viewed["link_shares"].to_pylist() == [[0.25]]


@pytest.mark.parametrize(
    "text",
    [
        LONG,
        "It rained.",
        "It rained!”",
        "“It rained.”",
        "下雨了。",
        "“下雨了。”",
        "他说（昨天）。",
        "委员会开了三个小时的会议之后没有作出任何一项决定就散会了",
    ],
)
def test_told_blocks_count(text: str) -> None:
    assert main_text(pages([Block(text)])) == [[text]]


@pytest.mark.parametrize("text", ["Sign in", "首页", "Sports", "", "3.5", "Read more:"])
def test_short_blocks_that_are_no_sentence_do_not(text: str) -> None:
    assert main_text(pages([Block(text)])) == [[]]


@pytest.mark.parametrize("region", [Region.HEADER, Region.NAV, Region.ASIDE, Region.FOOTER])
def test_blocks_outside_the_body_do_not(region: Region) -> None:
    assert main_text(pages([Block(LONG, region=region)])) == [[]]


@pytest.mark.parametrize("region", [Region.BODY, Region.MAIN])
def test_blocks_of_the_body_do(region: Region) -> None:
    assert main_text(pages([Block(LONG, region=region)])) == [[LONG]]


def test_half_links_do_not() -> None:
    blocks = [Block(LONG, link_share=0.5), Block(LONG, link_share=0.49)]
    assert main_text(pages(blocks)) == [[LONG]]


def test_controls_do_not() -> None:
    assert main_text(pages([Block(LONG, BlockKind.CONTROL)])) == [[]]


def test_pages_keep_their_own_blocks_and_their_order() -> None:
    batch = pages([], [Block("One."), Block("two"), Block("Three.")], [], [Block("Four.")], [])
    expected = [[], ["One.", "Three."], [], ["Four."], []]
    assert main_text(batch) == expected
    assert main_text(batch.slice(1, 3)) == expected[1:4]


def test_no_pages() -> None:
    assert main_text(pages()) == []


OWN = ["Rain fell on Monday.", "Snow fell on Tuesday.", "Hail fell on Friday.", "Fog came."]
SHARED = "All opinions are those of their authors."


def surveyed(titles: Sequence[str], hosts: Sequence[str]) -> list[list[str]]:
    """The main text of pages that have a line of their own and one in common."""
    lines = [[Block(own), Block(SHARED), Block(SHARED)] for own in OWN[: len(titles)]]
    batch = pages(*lines)
    batch = batch.append_column("title", pa.array(titles)).append_column("host", pa.array(hosts))
    # In two parts, added up, as an engine counts.
    parts = [BlockCounts().count(each) for each in (batch.slice(0, 2), batch.slice(2))]
    survey = Survey.from_counts(len(lines), [add_counts(parts)])
    return list(page_lines(view_pages(batch, View.OWN, survey)).to_pylist())


def test_blocks_of_the_site_do_not_count() -> None:
    found = surveyed(["One", "Two", "Three"], ["a.example"] * 3)
    assert found == [[own] for own in OWN[:3]]


def test_copies_under_one_title_are_no_sign_of_a_site() -> None:
    found = surveyed(["One", "One", "One"], ["a.example"] * 3)
    assert found == [[own, SHARED, SHARED] for own in OWN[:3]]


def test_two_pages_are_too_few_to_tell() -> None:
    found = surveyed(["One", "Two"], ["a.example"] * 2)
    assert found == [[own, SHARED, SHARED] for own in OWN[:2]]


def test_every_host_for_itself() -> None:
    found = surveyed(["One", "Two", "Three", "Four"], ["a.example", "b.example"] * 2)
    assert found == [[own, SHARED, SHARED] for own in OWN]


def test_unknown_hosts_are_no_site() -> None:
    found = surveyed(["One", "Two", "Three", "Four"], [""] * 4)
    assert found == [[own, SHARED, SHARED] for own in OWN]


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Storm hits the coast | The Paper", "Storm hits the coast"),
        ("The Paper - Storm hits the coast", "Storm hits the coast"),
        ("Covid-19 cases fall", "Covid-19 cases fall"),
        ("台风登陆沿海地区_新闻网", "台风登陆沿海地区"),
        ("台风登陆沿海地区-新闻网", "台风登陆沿海地区"),
        ("", ""),
    ],
)
def test_story_title(title: str, expected: str) -> None:
    assert story_title(title) == expected
