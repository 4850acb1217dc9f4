"""Raw pages as Arrow batches, which reading passes to parsing.

Readers work record by record; `gather` turns records into batches, bounded in rows and bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import number_array, offsets_of, string_columns
from neardup.errors import InputError
from neardup.model import RawPage, Skip, SkipReason
from neardup.schemas import RAW, TIME

MAX_PAGES = 4096
MAX_BYTES = 8 * 1024**2


class RawBatch(NamedTuple):
    """Consecutive records: the pages among them (`schemas.RAW`) and those that were skipped."""

    pages: pa.RecordBatch
    skips: list[Skip]


# Consecutive records that were taken from a file. What is left to do is done when it is called, in
# any thread, and needs nothing of the other blocks.
Block = Callable[[], RawBatch]


def gathered(records: Iterable[RawPage | Skip]) -> Iterator[Block]:
    """The records in blocks, of readers that work record by record."""
    return (partial(RawBatch, *batch) for batch in gather(records))


def together(blocks: Iterable[tuple[int, Block]]) -> Iterator[Block]:
    """Blocks with their sizes in bytes, small ones together up to `MAX_BYTES`."""
    held, waiting = 0, list[Block]()
    for size, block in blocks:
        if waiting and held + size > MAX_BYTES:
            yield partial(_one_batch, waiting)
            held, waiting = 0, []
        held += size
        waiting.append(block)
    if waiting:
        yield partial(_one_batch, waiting)


def _one_batch(blocks: Sequence[Block]) -> RawBatch:
    batches = [block() for block in blocks]
    if len(batches) == 1:
        return batches[0]
    skips = [skip for batch in batches for skip in batch.skips]
    return RawBatch(pa.concat_batches([batch.pages for batch in batches]), skips)


def only_skips(skips: list[Skip]) -> RawBatch:
    """Records none of which is a page."""
    return RawBatch(raw_batch([]), skips)


def readable(batches: Iterable[RawBatch]) -> Iterator[RawBatch]:
    """The batches; an error if the only record is a file that cannot be read."""
    waiting: list[RawBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.pages.num_rows + len(batch.skips)
        if count > 1:
            yield from waiting
            waiting = []
    check_readable([skip for batch in waiting for skip in batch.skips], count)
    yield from waiting


def check_readable(skips: Sequence[Skip], records: int) -> None:
    """Raise an error if the only record is a file that cannot be read."""
    if records == len(skips) == 1 and skips[0].reason is SkipReason.UNREADABLE:
        raise InputError(f"{skips[0].source.path}: {skips[0].detail}")


def sliced(batches: Iterable[RawBatch], max_pages: int | None) -> Iterator[RawBatch]:
    """The batches in slices of at most `max_pages` pages."""
    for pages, skips in batches:
        for start in range(0, max(pages.num_rows, 1), max_pages or max(pages.num_rows, 1)):
            yield RawBatch(pages.slice(start, max_pages), [] if start else skips)


def gather(
    records: Iterable[RawPage | Skip], max_pages: int = MAX_PAGES, max_bytes: int = MAX_BYTES
) -> Iterator[RawBatch]:
    """The records in batches of at most `max_pages` records and about `max_bytes` bytes.

    A batch ends with the record that reaches a limit, without waiting for another.
    """
    pages: list[RawPage] = []
    skips: list[Skip] = []
    held = 0
    for record in records:
        if isinstance(record, RawPage):
            pages.append(record)
        else:
            skips.append(record)
        held += weight(record)
        if held >= max_bytes or len(pages) + len(skips) >= max_pages:
            batch = RawBatch(raw_batch(pages), skips)
            pages, skips, held = [], [], 0  # frees the memory of the pages for the next batch
            yield batch
    if pages or skips:
        yield RawBatch(raw_batch(pages), skips)


def with_records(pages: pa.RecordBatch, records: Iterable[RawPage | Skip | None]) -> RawBatch:
    """Pages that were read by column, and records between them that were read one by one."""
    every = list(records)
    others = [each for each in every if isinstance(each, RawPage)]
    if others:
        both = pa.concat_batches([pages, raw_batch(others)])
        pages = both.take(pc.array_sort_indices(both["record"]))
    return RawBatch(pages, [each for each in every if isinstance(each, Skip)])


def identities(
    stated: pa.StringArray, urls: pa.StringArray, path: str, records: pa.Array
) -> tuple[pa.StringArray, pa.StringArray]:
    """The columns `id` and `again` of pages by their stated ids, their URLs, and their places in a
    file: `page_from_fields` by column."""
    identity = pc.if_else(is_empty(stated), urls, stated)
    file = path.rpartition("/")[2]
    # An id may also look like the name that a page without one gets: file.jsonl:7.
    may_be_names = pc.any(pc.starts_with(identity, file + ":")).as_py()
    if not (is_empty(identity).true_count or may_be_names):
        return identity, pa.repeat("", len(identity))
    number = records.cast(pa.string())
    name = pc.binary_join_element_wise(file, number, ":")
    identity = pc.if_else(is_empty(identity), name, identity)
    place = pc.binary_join_element_wise(path, number, ":")
    return identity, pc.if_else(pc.equal(identity, name), place, "")


def is_empty(values: pa.Array) -> pa.BooleanArray:
    """Which values have no bytes."""
    return pc.equal(pc.binary_length(values), 0)


def weight(record: RawPage | Skip) -> int:
    """The approximate bytes of a record's content and longer fields."""
    if isinstance(record, RawPage):
        return len(record.body) + len(record.id) + len(record.url) + len(record.title)
    return len(record.id) + len(record.detail)


def raw_batch(pages: Sequence[RawPage]) -> pa.RecordBatch:
    """Pages as a batch of `schemas.RAW`. Lone surrogates, which JSON can hold, become "?"."""
    ids, again, urls, titles, charsets, sources = string_columns(
        [page.id for page in pages],
        [page.again for page in pages],
        [page.url for page in pages],
        [page.title for page in pages],
        [page.charset for page in pages],
        [page.source.path for page in pages],
    )
    columns = [
        ids,
        again,
        urls,
        titles,
        pa.array([page.time for page in pages], TIME),
        _bodies([page.body for page in pages]),
        pa.array([page.is_html for page in pages], pa.bool_()),
        charsets,
        sources,
        number_array(np.array([page.source.record for page in pages], np.int64)),
    ]
    return pa.record_batch(columns, schema=RAW)


def _bodies(bodies: list[bytes]) -> pa.Array:
    """The bodies as one column, copied once; a builder that grows takes twice as long."""
    ends = offsets_of(np.array([len(body) for body in bodies], np.int64))
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(bodies))]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(bodies), buffers)
