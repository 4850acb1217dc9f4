"""The lines of pages, and which of them are main text, judged from the page alone.

A line is a block of the page. It is main text when it stands outside navigation, header, footer
and aside, less than half of it is links, it is no button or label, and it is long or ends as a
sentence does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import Mask, Numbers, booleans, list_array, offsets_of
from neardup.model import BlockKind, Region

LINK_SHARE = 0.5
LONG_ENOUGH = 60  # bytes of UTF-8: ten English words or twenty Chinese characters
OUTSIDE = pa.array([Region.HEADER, Region.NAV, Region.ASIDE, Region.FOOTER], pa.uint8())
SENTENCE_END = r"""[.!?…。！？｡।॥؟۔։።។။][.!?…。！？"'”’»›」』)）\]】]*$"""
ENDING = 4  # characters: room for closing quotes and brackets after the full stop


@dataclass(frozen=True)
class Lines:
    """Some lines of a batch of pages."""

    every: pa.StringArray  # the lines of all pages, one after another
    offsets: Numbers  # the first line of each page
    numbers: Numbers  # the indices of the selected lines, ascending

    @property
    def page(self) -> Numbers:
        page: Numbers = np.searchsorted(self.offsets, self.numbers, side="right") - 1
        return page

    def only(self, chosen: Mask) -> Lines:
        return replace(self, numbers=self.numbers[chosen])

    def texts(self) -> pa.StringArray:
        return self.every.take(pa.array(self.numbers))

    def by_page(self, values: pa.Array) -> pa.ListArray:
        """A value for each line, as one list per page."""
        return list_array(values, np.searchsorted(self.numbers, self.offsets))


def page_lines(pages: pa.RecordBatch) -> pa.ListArray:
    """The lines of each page (`schemas.PAGES`), as a list of texts."""
    return list_array(*_split(pages))


def every_line(pages: pa.RecordBatch) -> Lines:
    """All lines of pages."""
    lines, offsets = _split(pages)
    return Lines(lines, offsets, np.arange(len(lines)))


def main_lines(pages: pa.RecordBatch) -> Lines:
    """The main-text lines of pages."""
    lines, offsets = _split(pages)
    reads_as_text = pc.or_(
        pc.greater_equal(pc.binary_length(lines), LONG_ENOUGH),
        pc.match_substring_regex(pc.utf8_slice_codeunits(lines, -ENDING), SENTENCE_END),
    )
    apart = pc.or_(
        pc.is_in(pages["regions"].flatten(), OUTSIDE),
        pc.equal(pages["kinds"].flatten(), pa.scalar(BlockKind.CONTROL, pa.uint8())),
    )
    linked = pc.greater_equal(pages["link_shares"].flatten(), pa.scalar(LINK_SHARE, pa.float32()))
    is_main = booleans(pc.and_not(reads_as_text, pc.or_(apart, linked)))
    return Lines(lines, offsets, np.flatnonzero(is_main))


def _split(pages: pa.RecordBatch) -> tuple[pa.StringArray, Numbers]:
    """The lines of all pages in sequence, and where each page starts among them."""
    counts = pc.list_value_length(pages["kinds"])
    # A page without blocks has an empty text, which would split into one empty line.
    texts = pages["text"].filter(pc.greater(counts, 0))
    return pc.split_pattern(texts, "\n").flatten(), offsets_of(counts.to_numpy())
