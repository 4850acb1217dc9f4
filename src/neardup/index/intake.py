"""Pages on their way into the index, as a batch of `schemas.PAGES`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from neardup.arrays import TEXT, compress_rows
from neardup.errors import UsageError
from neardup.model import Page, RawPage
from neardup.pages import check_page
from neardup.pages.raw import raw_batch
from neardup.schemas import PAGES
from neardup.text.parse import ALL, FEW, parse, parse_pages

TOLD = ("id", "url", "host", "title")  # text columns that go into the database
# What a page's row is made of.
ROW = frozenset([*TOLD, "canonical_url", "time", "text", "size", "digest"])


@dataclass(frozen=True)
class Arrived:
    """Arrived pages, without repeated ids."""

    ids: list[str]  # one for each page that arrived, as it is stored
    pages: pa.RecordBatch
    texts: list[bytes] | None  # the compressed pages, if texts are kept
    observed: list[bool | None]  # whether times are those of the records; None: unknown

    def only(self, rows: list[int]) -> Arrived:
        """Some of the pages."""
        if len(rows) == self.pages.num_rows:
            return self
        texts = None if self.texts is None else [self.texts[row] for row in rows]
        observed = [self.observed[row] for row in rows]
        return Arrived(self.ids, self.pages.take(pa.array(rows, pa.int64())), texts, observed)


def together(arrivals: Sequence[Arrived]) -> Arrived:
    """Arrivals as one. If they share an id, the last page counts, as within one."""
    if len(arrivals) == 1:
        return arrivals[0]
    ids = [each for arrived in arrivals for each in arrived.ids]
    batch = pa.concat_batches([arrived.pages for arrived in arrivals])
    texts: list[bytes] | None = []
    for arrived in arrivals:
        texts = None if texts is None or arrived.texts is None else [*texts, *arrived.texts]
    observed = [each for arrived in arrivals for each in arrived.observed]
    whole = Arrived(ids, batch, texts, observed)
    rows = sorted({name: row for row, name in enumerate(batch["id"].to_pylist())}.values())
    return whole.only(rows)


def take_in(
    pages: Sequence[RawPage | Page], *, packed: bool = False, columns: Collection[str] = ALL
) -> Arrived:
    """Parse pages. Of several pages with the same id the last one counts.

    Two ids are equal if they are stored as the same text (`_without_nul`). `columns` are those
    needed beside `ROW`.
    """
    columns = ROW.union(columns)
    for page in pages:
        check_page(page)
    last = {page.id: place for place, page in enumerate(pages)}
    raws = [page for place, page in enumerate(pages) if last[page.id] == place]
    if any(not page.id for page in raws):
        raise UsageError("a page without an id or URL cannot be stored: give it an id")
    batches = [_parsed(group, columns) for group in _same_kind(raws)]
    batch = _without_nul(_joined(batches))
    stored = batch["id"].to_pylist()
    names = dict(zip((page.id for page in raws), stored, strict=True))
    rows = sorted({name: row for row, name in enumerate(stored)}.values())
    if len(rows) < batch.num_rows:
        batch = batch.take(pa.array(rows, pa.int64()))
    texts = compress_rows(batch, range(batch.num_rows), TEXT) if packed else None
    is_observed = [page.time is not None if isinstance(page, RawPage) else None for page in raws]
    observed = [is_observed[row] for row in rows]
    return Arrived([names[page.id] for page in pages], batch, texts, observed)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.concat_batches(batches) if batches else parse(raw_batch([]))


def _same_kind(pages: Sequence[RawPage | Page]) -> list[list[RawPage | Page]]:
    groups: list[list[RawPage | Page]] = []
    for page in pages:
        if not groups or type(groups[-1][-1]) is not type(page):
            groups.append([])
        groups[-1].append(page)
    return groups


def _parsed(pages: list[RawPage | Page], columns: Collection[str]) -> pa.RecordBatch:
    if isinstance(pages[0], RawPage):
        raws = [page for page in pages if isinstance(page, RawPage)]
        if len(raws) <= FEW:
            return parse_pages(raws, columns)
        return parse(raw_batch(raws), columns=columns)
    rows = [_row(page) for page in pages if isinstance(page, Page)]
    batch = pa.RecordBatch.from_pylist(rows, PAGES)
    return batch.select([name for name in PAGES.names if name in columns])


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
    """Text without NUL, which PostgreSQL cannot store: an id must be the same in every store."""
    without = set()  # addresses of bytes without NUL: columns may share them
    for name in TOLD:
        column = batch[name]
        content = column.buffers()[2]  # a look at the bytes is enough for nearly all pages
        if content is None or content.address in without:
            continue
        if b"\0" not in content.to_pybytes():
            without.add(content.address)
            continue
        if pc.any(pc.match_substring(column, "\0")).as_py():
            place = batch.schema.get_field_index(name)
            batch = batch.set_column(
                place, batch.schema.field(name), pc.replace_substring(column, "\0", "\ufffd")
            )
    return batch
