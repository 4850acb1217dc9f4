"""Views: which text of a page counts.

A view is a mask over the lines of a page:

* `whole`: every line.
* `main`: the lines that read as text, judged from the page alone (`main_text`).
* `own`: of these the ones that the site does not repeat (`sites.BlockCounts`). What a site repeats
  is known from its pages in the run; at crawl time from a sample of those seen so far, so that the
  first pages of a site keep more.

The other columns of a page (title, time, host, counts) stay as they are. Every method runs on every
view. `own-text` is made for `own` and goes further there: instead of a mask, it weighs each line by
how often its site repeats it. On `whole` it knows nothing of sites and weighs lines by their form
alone; on `main` it does the same with the main lines.
"""

from __future__ import annotations

from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc

from neardup.text.main_text import Lines, every_line, main_lines
from neardup.text.sites import Survey, own_lines

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
    """The lines of a view."""
    if view is View.WHOLE:
        return every_line(pages)
    lines = main_lines(pages)
    return lines if view is View.MAIN or survey is None else own_lines(lines, pages, survey)


def _keep_lines(pages: pa.RecordBatch, lines: Lines) -> pa.RecordBatch:
    """The pages with only some of their lines, in the text and in the columns along it."""
    columns = {name: pages[name] for name in pages.schema.names}
    columns["text"] = pc.binary_join(lines.by_page(lines.texts()), "\n")
    for name in LINE_COLUMNS:
        values = pages[name].flatten().take(pa.array(lines.numbers))
        columns[name] = lines.by_page(values)
    return pa.record_batch(list(columns.values()), schema=pages.schema)
