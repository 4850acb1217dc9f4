"""The main text of a page: the blocks that are told, not those that lead about.

A block counts when it stands outside navigation, header, footer and aside, less than half of it
is links, it is no button or label, and it is long enough or ends as a sentence does.

Where the pages were surveyed first (`site_counts`), a block that its host shows on several pages
with another title is the site's and does not count either. Copies of one story under one title
do not make a block the site's, and pages whose host is not known keep all of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

from neardup.kernels.shingles import mix_all
from neardup.model import BlockKind, Region
from neardup.schemas import COUNTS

LINK_SHARE = 0.5
LONG_ENOUGH = 60  # bytes of UTF-8: ten English words or twenty Chinese characters
OUTSIDE = pa.array([Region.HEADER, Region.NAV, Region.ASIDE, Region.FOOTER], pa.uint8())
SENTENCE_END = r"""[.!?…。！？｡।॥؟۔։።។။][.!?…。！？"'”’»›」』)）\]】]*$"""
ENDING = 4  # characters: room for closing quotes and brackets after the full stop


# Where a title goes over to the name of its site; a bare dash only between Chinese characters.
# White space is tried from its first character only: from each, long runs would take cubic time.
TITLE_SEAMS = re.compile(
    r"(?:(?<!\s)\s+)?[|｜_]+\s*|(?<!\s)\s+[-–—·»«]+\s+"
    r"|(?<=[\u3400-\u9fff])[-–—]+(?=[\u3400-\u9fff])"
)
OTHER_PAGES = 2  # of another title, on which a host shows a block that is its own

Keys = NDArray[np.uint64]


def main_blocks(
    pages: pa.RecordBatch, count: Callable[[Keys], NDArray[np.int64]] | None = None
) -> pa.ListArray:
    """The main blocks of each page (`schemas.PAGES`), in page order, as a list of texts.

    `count` looks up what `site_counts` counted over all pages.
    """
    lines, offsets = _lines(pages)
    is_main = _is_main(pages, lines)
    if count is not None:
        chosen = np.flatnonzero(is_main)
        is_main[chosen] = _is_own(pages, lines, offsets, chosen, count)
    before = np.concatenate([[0], np.cumsum(is_main)])
    kept = lines.filter(pa.array(is_main))
    return pa.ListArray.from_arrays(pa.array(before[offsets], pa.int32()), kept)


def site_counts(pages: pa.RecordBatch) -> pa.RecordBatch:
    """The pages of a host that show a block, and those of one title (`schemas.COUNTS`)."""
    lines, offsets = _lines(pages)
    chosen = np.flatnonzero(_is_main(pages, lines))
    block, with_title = _keys(pages, lines, offsets, chosen)
    page = _page_of(chosen, offsets)
    once = np.unique(np.stack([page.astype(np.uint64), block]), axis=1, return_index=True)[1]
    keys, counts = np.unique(np.concatenate([block[once], with_title[once]]), return_counts=True)
    return pa.record_batch([keys, counts.astype(np.int64)], schema=COUNTS)


def story_title(title: str) -> str:
    """The title without the name of its site: its longest part."""
    return max(TITLE_SEAMS.split(title), key=len)


def _is_own(
    pages: pa.RecordBatch,
    lines: pa.StringArray,
    offsets: NDArray[np.int64],
    chosen: NDArray[np.int64],
    count: Callable[[Keys], NDArray[np.int64]],
) -> NDArray[np.bool_]:
    """Which of the chosen lines are the page's own, not its site's."""
    block, with_title = _keys(pages, lines, offsets, chosen)
    own = count(block) - count(with_title) < OTHER_PAGES
    hostless = pc.equal(pages["host"], "").to_numpy(zero_copy_only=False)
    found: NDArray[np.bool_] = own | hostless[_page_of(chosen, offsets)]
    return found


def _keys(
    pages: pa.RecordBatch,
    lines: pa.StringArray,
    offsets: NDArray[np.int64],
    chosen: NDArray[np.int64],
) -> tuple[Keys, Keys]:
    """A number for the host and text of each chosen line, and one for its page's title too."""
    page = _page_of(chosen, offsets)
    hosts, titles = _hashes(pages["host"])[page], _hashes(pages["title"])[page]
    block = mix_all(mix_all(hosts) ^ _hashes(lines.take(pa.array(chosen))))
    return block, mix_all(block ^ titles)


def _page_of(chosen: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    page: NDArray[np.int64] = np.searchsorted(offsets, chosen, side="right") - 1
    return page


def _hashes(texts: pa.StringArray) -> Keys:
    content = texts.cast(pa.binary()).to_pylist()
    return np.array([xxhash.xxh3_64_intdigest(text) for text in content], np.uint64)


def _lines(pages: pa.RecordBatch) -> tuple[pa.StringArray, NDArray[np.int64]]:
    """The lines of all pages one after another, and where each page starts among them."""
    kinds = pages["kinds"]
    counts = pc.list_value_length(kinds).to_numpy()
    # A page without blocks has an empty text, which would split into one empty line.
    texts = pages["text"].filter(pc.greater(pc.list_value_length(kinds), 0))
    return pc.split_pattern(texts, "\n").flatten(), np.concatenate([[0], np.cumsum(counts)])


def _is_main(pages: pa.RecordBatch, lines: pa.StringArray) -> NDArray[np.bool_]:
    told = pc.or_(
        pc.greater_equal(pc.binary_length(lines), LONG_ENOUGH),
        pc.match_substring_regex(pc.utf8_slice_codeunits(lines, -ENDING), SENTENCE_END),
    )
    apart = pc.or_(
        pc.is_in(pages["regions"].flatten(), OUTSIDE),
        pc.equal(pages["kinds"].flatten(), pa.scalar(BlockKind.CONTROL, pa.uint8())),
    )
    linked = pc.greater_equal(pages["link_shares"].flatten(), pa.scalar(LINK_SHARE, pa.float32()))
    found: NDArray[np.bool_] = pc.and_not(told, pc.or_(apart, linked)).to_numpy(
        zero_copy_only=False
    )
    return found
