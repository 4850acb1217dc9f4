"""Views: which text of a page counts.

A view is a mask over the lines of a page:

* `whole`: every line.
* `main`: the lines that read as text, judged from the page alone (`main_lines`).
* `own`: of these the ones that the site does not repeat (`sites.BlockCounts`). What a site repeats
  is known from its pages in the run; at crawl time from a sample of those seen so far, so that the
  first pages of a site keep more.

The other columns of a page (title, time, host, counts) stay as they are. Every method runs on every
view. `own-text` is made for `own` and goes further there: instead of a mask, it weighs each line by
how often its site repeats it. On `whole` it knows nothing of sites and weighs lines by their form
alone; on `main` it does the same with the main lines.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import Mask, Numbers, booleans, list_array, offsets_of
from neardup.model import BlockKind, Region

if TYPE_CHECKING:
    from neardup.text.sites import Survey

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


LINE_COLUMNS = ("kinds", "regions", "link_shares")  # of `schemas.PAGES`: one value per line
VIEW_COLUMNS = ("host", "title", "text", *LINE_COLUMNS)  # columns that a view needs


class View(StrEnum):
    """Which text of a page counts."""

    WHOLE = "whole"
    MAIN = "main"
    OWN = "own"


def view_pages(pages: pa.RecordBatch, view: View, survey: Survey | None) -> pa.RecordBatch:
    """Pages (`schemas.PAGES`) with only the lines of a view; `survey` is what sites repeat."""
    return pages if view is View.WHOLE else _keep_lines(pages, view_lines(pages, view, survey))


def view_lines(pages: pa.RecordBatch, view: View, survey: Survey | None) -> Lines:
    if view is View.WHOLE:
        return every_line(pages)
    lines = main_lines(pages)
    return lines if view is View.MAIN or survey is None else survey.own_lines(lines, pages)


def _keep_lines(pages: pa.RecordBatch, lines: Lines) -> pa.RecordBatch:
    """The pages with only some of their lines, in the text and in the columns along it."""
    columns = {name: pages[name] for name in pages.schema.names}
    columns["text"] = pc.binary_join(lines.by_page(lines.texts()), "\n")
    for name in LINE_COLUMNS:
        values = pages[name].flatten().take(pa.array(lines.numbers))
        columns[name] = lines.by_page(values)
    return pa.record_batch(list(columns.values()), schema=pages.schema)
