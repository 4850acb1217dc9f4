"""Pages on their way into the index, as a batch of `schemas.PAGES`."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from neardup.errors import UsageError
from neardup.model import Page, RawPage
from neardup.schemas import PAGES
from neardup.text.parse import parse

TOLD = ("id", "url", "host", "title")  # columns of text that databases hold


def take_in(pages: Sequence[RawPage | Page]) -> pa.RecordBatch:
    """The pages parsed, each id once: of pages with one id in a batch the last counts."""
    last = {page.id: place for place, page in enumerate(pages)}
    raws = [page for place, page in enumerate(pages) if last[page.id] == place]
    if any(not page.id for page in raws):
        raise UsageError("a page without an id or URL cannot be remembered: give it an id")
    batches = [_parsed(group) for group in _same_kind(raws)]
    batch = pa.concat_batches(batches) if batches else parse([])
    return _without_nul(batch)


def _same_kind(pages: Sequence[RawPage | Page]) -> list[list[RawPage | Page]]:
    groups: list[list[RawPage | Page]] = []
    for page in pages:
        if not groups or type(groups[-1][-1]) is not type(page):
            groups.append([])
        groups[-1].append(page)
    return groups


def _parsed(pages: list[RawPage | Page]) -> pa.RecordBatch:
    if isinstance(pages[0], RawPage):
        return parse([page for page in pages if isinstance(page, RawPage)])
    rows = [_row(page) for page in pages if isinstance(page, Page)]
    return pa.RecordBatch.from_pylist(rows, PAGES)


def _row(page: Page) -> dict[str, object]:
    row = {name: getattr(page, name) for name in PAGES.names if hasattr(page, name)}
    blocks = page.blocks
    return row | {
        "again": "",
        "text": page.text,
        "kinds": [int(block.kind) for block in blocks],
        "regions": [int(block.region) for block in blocks],
        "link_shares": [block.link_share for block in blocks],
        "digest": xxhash.xxh3_64_intdigest(page.text.encode("utf-8", "replace")),
        "source": "memory",
        "record": 0,
    }


def _without_nul(batch: pa.RecordBatch) -> pa.RecordBatch:
    """PostgreSQL has no text with a NUL in it, and an id must be the same in every store."""
    for name in TOLD:
        column = batch[name]
        if pc.any(pc.match_substring(column, "\0")).as_py():
            place = batch.schema.get_field_index(name)
            batch = batch.set_column(
                place, batch.schema.field(name), pc.replace_substring(column, "\0", "\ufffd")
            )
    return batch
