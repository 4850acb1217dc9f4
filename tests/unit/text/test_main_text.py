"""The main text of a page: which blocks count."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from neardup.model import Block, BlockKind, Region
from neardup.text.main_text import main_blocks

LONG = "The committee met for three hours and left without a single decision"


def pages(*each: Sequence[Block]) -> pa.RecordBatch:
    """The columns that `main_blocks` reads."""
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
    assert main_blocks(pages([Block(text)])).to_pylist() == [[text]]


@pytest.mark.parametrize("text", ["Sign in", "首页", "Sports", "", "3.5", "Read more:"])
def test_short_blocks_that_are_no_sentence_do_not(text: str) -> None:
    assert main_blocks(pages([Block(text)])).to_pylist() == [[]]


@pytest.mark.parametrize("region", [Region.HEADER, Region.NAV, Region.ASIDE, Region.FOOTER])
def test_blocks_outside_the_body_do_not(region: Region) -> None:
    assert main_blocks(pages([Block(LONG, region=region)])).to_pylist() == [[]]


@pytest.mark.parametrize("region", [Region.BODY, Region.MAIN])
def test_blocks_of_the_body_do(region: Region) -> None:
    assert main_blocks(pages([Block(LONG, region=region)])).to_pylist() == [[LONG]]


def test_half_links_do_not() -> None:
    blocks = [Block(LONG, link_share=0.5), Block(LONG, link_share=0.49)]
    assert main_blocks(pages(blocks)).to_pylist() == [[LONG]]


def test_controls_do_not() -> None:
    assert main_blocks(pages([Block(LONG, BlockKind.CONTROL)])).to_pylist() == [[]]


def test_pages_keep_their_own_blocks_and_their_order() -> None:
    batch = pages([], [Block("One."), Block("two"), Block("Three.")], [], [Block("Four.")], [])
    expected = [[], ["One.", "Three."], [], ["Four."], []]
    assert main_blocks(batch).to_pylist() == expected
    assert main_blocks(batch.slice(1, 3)).to_pylist() == expected[1:4]


def test_no_pages() -> None:
    assert main_blocks(pages()).to_pylist() == []
