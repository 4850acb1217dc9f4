"""The main text of a page: the blocks that are told, not those that lead about.

A block counts when it stands outside navigation, header, footer and aside, less than half of it
is links, it is no button or label, and it is long enough or ends as a sentence does.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.model import BlockKind, Region

LINK_SHARE = 0.5
LONG_ENOUGH = 60  # bytes of UTF-8: ten English words or twenty Chinese characters
OUTSIDE = pa.array([Region.HEADER, Region.NAV, Region.ASIDE, Region.FOOTER], pa.uint8())
SENTENCE_END = r"""[.!?…。！？｡।॥؟۔։።។။][.!?…。！？"'”’»›」』)）\]】]*$"""
ENDING = 4  # characters: room for closing quotes and brackets after the full stop


def main_blocks(pages: pa.RecordBatch) -> pa.ListArray:
    """The main blocks of each page (`schemas.PAGES`), in page order, as a list of texts."""
    lines, offsets = _lines(pages)
    is_main = _is_main(pages, lines)
    before = np.concatenate([[0], np.cumsum(is_main)])
    kept = lines.filter(pa.array(is_main))
    return pa.ListArray.from_arrays(pa.array(before[offsets], pa.int32()), kept)


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
