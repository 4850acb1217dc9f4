"""The pages of a run: ids, metadata and text.

A `Corpus` is built from inputs (text is spilled to a work directory, and the run can be resumed),
from parsed pages in memory, from an earlier result, or from a store. Later stages take a corpus and
need not know where it came from. Pages are numbered in the order of their ids, and every later
choice depends on that number only, so the result does not depend on the order of input, on threads
or on the size of batches.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neardup.arrays import Mask, Numbers, decompress, offsets_of, one_batch, string_buffers
from neardup.errors import InputError
from neardup.kernels.utf8 import character_counts
from neardup.local.exchange import is_of_spark, pages_of_spark
from neardup.local.result import PAGES_FILE, Result
from neardup.local.run import Stage
from neardup.local.work import MemoryParts, PartFile, Parts, Run
from neardup.model import Skip, SkipReason, Source
from neardup.pages import Limits
from neardup.pages.inputs import find_files
from neardup.pages.raw import Block, check_readable
from neardup.pages.readers import Reading
from neardup.rules.identity import COLUMNS, Identities, settle_identities
from neardup.schemas import DESCRIPTION, PAGES, TIME
from neardup.stores.records import PageRow
from neardup.stores.session import Content, Session
from neardup.text.parse import parse

STORED_AT_ONCE = 1_000
TEXT_AT_ONCE = 2 * 1024**2  # approximate characters; a worker needs about ten times that
HELD_SHARE = 0.05  # of the memory limit: bytes of ids, addresses and so on that stay in memory

LOGGER = logging.getLogger("neardup.pages")
LAST_SOURCE = 1 << 30  # the number of the source that is read when all others are
NO_PAGE = -1  # the page number of a record that did not become a page
# Columns that are at hand for each page, besides those derived from its record.
PAGE_COLUMNS = ["url", "canonical_url", "time", "size", "source", "record"]
DERIVED = pa.schema(
    [
        pa.field("length", pa.int64()),  # characters of text
        pa.field("observed", pa.bool_()),  # the time is that of the record; the page states none
    ]
)
SPILLED = pa.schema([*PAGES, *DERIVED])
CARRIED = [*PAGE_COLUMNS, *DERIVED.names]
AT_HAND = pa.schema([SPILLED.field(name) for name in ("id", *CARRIED)])
IDENTITY = ["id", "again", "digest", *CARRIED]


class PageRows:
    """What is at hand of every page: its id, and columns of `CARRIED`, by page number.

    Of many pages they are in files, mapped into memory and released after use.
    """

    def __init__(
        self, batches: Sequence[pa.RecordBatch], files: Sequence[PartFile | None] = ()
    ) -> None:
        self._batches = batches
        self._files = files or [None] * len(batches)
        self._starts = offsets_of(np.array([batch.num_rows for batch in batches], np.int64))

    @classmethod
    def of(cls, pages: pa.Table) -> PageRows:
        """Rows in memory."""
        return cls(pages.to_batches() or [one_batch(pages)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def names(self) -> list[str]:
        """The columns that are there."""
        names: list[str] = self._batches[0].schema.names
        return names

    def each(self, name: str) -> Iterator[pa.Array]:
        """A column in pieces, which are not for keeping."""
        for number, batch in enumerate(self._batches):
            yield batch[name]
            self._release(number)

    def column(self, name: str) -> pa.Array:
        """A column of all pages, in memory."""
        column = pa.concat_arrays([batch[name] for batch in self._batches])
        for number in range(len(self._batches)):
            self._release(number)
        return column

    def numbers(self, name: str) -> Numbers:
        """A column of numbers of all pages."""
        column: Numbers = self.column(name).to_numpy()
        return column

    def take(self, pages: Numbers, names: Sequence[str]) -> pa.RecordBatch:
        """Columns of some pages, in this order. Of mapped files one is in memory at a time."""
        if len(self._batches) == 1:
            return self._taken(0, pages, names)
        order = np.argsort(pages, kind="stable")
        cuts = np.searchsorted(pages[order], self._starts)
        taken = [self._batches[0].select(names)[:0]]
        for number, (first, last) in enumerate(pairwise(cuts.tolist())):
            if last > first:
                rows = pages[order[first:last]] - self._starts[number]
                taken.append(self._taken(number, rows, names))
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        return pa.concat_batches(taken).take(pa.array(place))

    def _taken(self, number: int, rows: Numbers, names: Sequence[str]) -> pa.RecordBatch:
        taken = self._batches[number].select(names).take(pa.array(rows))
        self._release(number)
        return taken

    def _release(self, number: int) -> None:
        if (file := self._files[number]) is not None:
            file.release()


@dataclass(frozen=True)
class TextPart:
    """Some records with their text: one part of those of a run."""

    parts: Parts
    part: int
    numbers: Numbers  # the page number of each record, or NO_PAGE

    def read(self, columns: Sequence[str]) -> pa.RecordBatch:
        """These columns of every record."""
        return self.parts.read(self.part, columns)


@dataclass(frozen=True)
class Corpus:
    """Pages, in the order of their ids."""

    pages: PageRows
    parts: Sequence[TextPart]  # in any order; pages of an earlier result have none
    skips: Sequence[Skip] = ()  # records that did not become pages

    def __len__(self) -> int:
        return len(self.pages)

    @property
    def ids(self) -> pa.StringArray:
        """The ids of all pages, in memory."""
        return self.pages.column("id")

    @classmethod
    def from_inputs(
        cls,
        inputs: Sequence[str],
        limits: Limits,
        run: Run,
        columns: Collection[str] = PAGES.names,
    ) -> Corpus:
        """All pages of `inputs`, read and parsed, with their text spilled to the work directory.

        `columns` are those of `schemas.PAGES` that a method reads, and `description` if the report
        wants it; only they and what every run needs are made.
        """
        wanted = {*columns, *IDENTITY, "title", "text"}
        fields = [field for field in (*PAGES, DESCRIPTION, *DERIVED) if field.name in wanted]
        parts = run.parts("pages", pa.schema(fields))
        with run.stages("parse") as stage:
            skips = _parse_side_by_side(inputs, limits, parts, run.workers, stage)
        with run.stages("identify") as stage:
            count = sum(part.rows for part in parts.listed)
            check_readable(skips, count + len(skips))
            if count == 0:
                raise InputError(_nothing_read(inputs, skips))
            ids = pa.chunked_array([batch["id"] for batch in parts.each(["id"])]).combine_chunks()
            identities = settle_identities(ids, partial(_records, parts, COLUMNS))
            del ids
            pages = _in_order(identities, parts, run, stage)
        numbers = np.full(count, NO_PAGE)
        numbers[identities.rows] = np.arange(identities.rows.size)
        return cls(pages, _text_parts(parts, numbers), [*skips, *identities.skips])

    @classmethod
    def from_pages(cls, *batches: pa.RecordBatch) -> Corpus:
        """Parsed pages in memory; their ids are distinct.

        Of `schemas.PAGES`, columns that are in `PAGE_COLUMNS` or that the method reads are needed.
        """
        ids = pa.chunked_array([batch["id"] for batch in batches]).combine_chunks()
        pages = pa.Table.from_batches([_carried(batch) for batch in batches])
        numbers = np.arange(len(ids))
        if not pc.all(pc.less(ids[:-1], ids[1:])).as_py():
            order = pc.array_sort_indices(ids)
            numbers[order.to_numpy()] = np.arange(len(ids))
            pages = pages.take(order)
        return cls(PageRows.of(pages), _text_parts(MemoryParts.of(batches), numbers))

    @classmethod
    def from_result(cls, folder: Path) -> Corpus:
        """The pages of an earlier result, without their text."""
        if is_of_spark(folder):
            table = pages_of_spark(folder)
        else:
            table = pq.read_table(folder / PAGES_FILE, columns=["id", *CARRIED])
        if "observed" not in table.schema.names:  # a result older than 0.2
            table = table.append_column("observed", pa.nulls(len(table), pa.bool_()))
        skips = [
            Skip(
                Source(row["source"], row["record"]),
                SkipReason(row["reason"]),
                row["detail"],
                row["id"],
            )
            for row in Result(folder).skipped()
        ]
        return cls(PageRows.of(table.select(AT_HAND.names).cast(AT_HAND)), [], skips)

    @classmethod
    def from_store(
        cls, session: Session, rows: Sequence[PageRow], run: Run, *, text: bool
    ) -> Corpus:
        """Stored pages in the order of their ids, with their text if the store keeps it."""
        if not text:
            return cls(PageRows.of(stored_columns(rows)), [])
        parts = run.parts("pages", SPILLED)
        with run.stages("read", total=len(rows)) as stage:
            stored = (
                with_derived(batch, stored_columns(some)["observed"].chunk(0))
                for some, batch in stored_batches(session, "texts", rows, PAGES)
            )
            parts.fill(stored, lambda batch: (batch, 0), 1, stage)
        pages = PageRows.of(pa.Table.from_batches([*parts.each(AT_HAND.names)], AT_HAND))
        return cls(pages, _text_parts(parts, np.arange(len(rows))))

    def extended(self, earlier: Corpus) -> tuple[Corpus, Numbers]:
        """These pages and those of an earlier corpus, renumbered; and the numbers of the latter.

        A page whose id occurs in the earlier corpus is skipped.
        """
        fresh = pc.invert(pc.is_in(self.ids, earlier.ids)).to_numpy(zero_copy_only=False)
        new_rows = np.flatnonzero(fresh)
        both = [earlier.pages.take(np.arange(len(earlier)), AT_HAND.names)]
        both.append(self.pages.take(new_rows, AT_HAND.names))
        pages = pa.concat_batches(both)
        order = pc.array_sort_indices(pages["id"]).to_numpy().astype(np.int64)
        number = np.empty(order.size, np.int64)
        number[order] = np.arange(order.size)
        renumbered = np.full(len(self) + 1, NO_PAGE)  # the last entry stands for NO_PAGE
        renumbered[new_rows] = number[len(earlier) :]
        extended = Corpus(
            PageRows([pages.take(pa.array(order))]),
            [replace(each, numbers=renumbered[each.numbers]) for each in self.parts],
            [*self.skips, *self._seen_before(~fresh)],
        )
        return extended, number[: len(earlier)]

    def _seen_before(self, seen: Mask) -> Iterator[Skip]:
        detail = "the earlier result has this id"
        records = self.pages.take(np.flatnonzero(seen), ["id", "source", "record"])
        for record in records.to_pylist():
            place = Source(record["source"], record["record"])
            yield Skip(place, SkipReason.DUPLICATE_ID, detail, record["id"])

    def groups(self) -> Iterator[list[TextPart]]:
        """The parts in groups, since a part holds much less text than it had markup."""
        lengths = self.pages.numbers("length") if self.parts else np.empty(0, np.int64)
        group: list[TextPart] = []
        room = TEXT_AT_ONCE
        for part in self.parts:
            size = lengths[part.numbers[part.numbers != NO_PAGE]].sum()
            if group and size > room:
                yield group
                group, room = [], TEXT_AT_ONCE
            group.append(part)
            room -= size
        if group:
            yield group

    def read_column(self, column: str, pages: Numbers, longest: int) -> pa.StringArray:
        """A text column of some pages, cut to this many characters; empty where a page has no text.

        `pages` are distinct and may be in any order.
        """
        row_of, texts = np.full(len(self), -1), [pa.array([], pa.string())]
        for numbers, batch in self.read_pages([column], pages):
            row_of[numbers] = np.arange(numbers.size) + sum(map(len, texts))
            texts.append(pc.utf8_slice_codeunits(batch[column], 0, longest))
        rows = row_of[pages]
        return pc.fill_null(pa.concat_arrays(texts).take(pa.array(rows, mask=rows < 0)), "")

    def read_pages(
        self, columns: Sequence[str], pages: Numbers
    ) -> Iterator[tuple[Numbers, pa.RecordBatch]]:
        """Columns of some pages, with the page numbers, part by part. Pages without text are left
        out, and so are those read without these columns."""
        is_wanted = np.zeros(len(self) + 1, np.bool_)  # the last entry stands for NO_PAGE
        is_wanted[pages] = True
        for part in self.parts:
            rows = np.flatnonzero(is_wanted[part.numbers])
            if rows.size and {*columns} <= {*part.parts.schema.names}:
                yield part.numbers[rows], part.read(columns).take(pa.array(rows))


def read_group(group: Sequence[TextPart], columns: Sequence[str]) -> pa.RecordBatch:
    """The records of some parts that became pages (those with a repeated id did not)."""
    parts = [part.read(columns) for part in group]
    records = parts[0] if len(parts) == 1 else pa.concat_batches(parts)
    is_page = np.concatenate([part.numbers for part in group]) != NO_PAGE
    return records if is_page.all() else records.take(pa.array(np.flatnonzero(is_page)))


def group_numbers(group: Sequence[TextPart]) -> Numbers:
    """The page numbers of `read_group`."""
    numbers = np.concatenate([part.numbers for part in group])
    return np.asarray(numbers[numbers != NO_PAGE], np.int64)


def with_derived(pages: pa.RecordBatch, observed: pa.Array | None = None) -> pa.RecordBatch:
    """The pages with `DERIVED`; without `observed` it is unknown where their times come from."""
    lengths = _lengths(pages["text"])
    observed = pa.nulls(pages.num_rows, pa.bool_()) if observed is None else observed
    columns = [*pages.columns, lengths, observed]
    return pa.record_batch(columns, schema=pa.schema([*pages.schema, *DERIVED]))


def stored_batches(
    session: Session, kind: Content, rows: Sequence[PageRow], schema: pa.Schema
) -> Iterator[tuple[Sequence[PageRow], pa.RecordBatch]]:
    """Texts or features of stored pages, in batches."""
    for start in range(0, len(rows), STORED_AT_ONCE):
        some = rows[start : start + STORED_AT_ONCE]
        packed = session.content(kind, [row.number for row in some])
        yield some, decompress(schema, [packed[row.number] for row in some])


def stored_columns(rows: Sequence[PageRow]) -> pa.Table:
    """What policies (`rules.keeping`) look at, of stored pages."""
    times = pa.array([row.time for row in rows], pa.int64())
    observed = [None if row.observed is None else bool(row.observed) for row in rows]
    return pa.table(
        {
            "id": pa.array([row.id for row in rows], pa.string()),
            "length": pa.array([row.length for row in rows], pa.int64()),
            "time": times.cast(TIME),
            "observed": pa.array(observed, pa.bool_()),
            "url": pa.array([row.url for row in rows], pa.string()),
            "canonical_url": pa.array([row.canonical_url for row in rows], pa.string()),
        }
    )


def _text_parts(parts: Parts, numbers: Numbers) -> list[TextPart]:
    """The parts with page numbers; `numbers` are those of all records, one after another."""
    cuts = np.cumsum([part.rows for part in parts.listed])[:-1]
    split = np.split(numbers, cuts)
    return [
        TextPart(parts, part.number, each) for part, each in zip(parts.listed, split, strict=True)
    ]


def _lengths(texts: pa.StringArray) -> pa.Array:
    return pa.array(character_counts(*string_buffers(texts)))


def _carried(pages: pa.RecordBatch) -> pa.RecordBatch:
    """What stays at hand of pages in memory; a time is the record's own unless it says so."""
    derived = {
        "length": lambda: _lengths(pages["text"]),
        "observed": lambda: pa.nulls(pages.num_rows, pa.bool_()),
    }
    columns = [
        derived[name]() if name in derived and name not in pages.schema.names else pages[name]
        for name in AT_HAND.names
    ]
    return pa.record_batch(columns, schema=AT_HAND)


def _records(parts: Parts, names: Sequence[str], rows: Numbers) -> pa.Table:
    """Columns of some records, by their ascending rows among all parts."""
    starts = offsets_of(np.array([part.rows for part in parts.listed], np.int64))
    cuts = np.searchsorted(rows, starts).tolist()
    taken = []
    for part, start, (first, last) in zip(parts.listed, starts, pairwise(cuts), strict=False):
        if last > first:
            batch = parts.read(part.number, names)
            is_whole = last - first == part.rows
            taken.append(batch if is_whole else batch.take(pa.array(rows[first:last] - start)))
    return pa.Table.from_batches(taken, pa.schema([parts.schema.field(name) for name in names]))


def _in_order(identities: Identities, parts: Parts, run: Run, stage: Stage) -> PageRows:
    """The rows of all pages; those of a range at a time, in files, if all take much of the memory.

    Every range goes through the columns of all parts, which takes a second or two for ten million
    pages.
    """
    rows = identities.rows
    some = parts.read(parts.listed[0].number, AT_HAND.names)
    size = some.nbytes * rows.size // some.num_rows
    ranges = int(size // (run.memory * HELD_SHARE)) + 1
    place = run if ranges > 1 else replace(run, work=None)
    pages = place.parts("identified", AT_HAND, compressed=False, cuts=ranges)

    def make(cut: tuple[int, int]) -> tuple[pa.RecordBatch, int]:
        first, last = cut
        order = np.argsort(rows[first:last])
        records = _records(parts, CARRIED, rows[first:last][order])
        numbers = np.empty_like(order)
        numbers[order] = np.arange(order.size)
        carried = one_batch(records.take(pa.array(numbers)))
        ids = identities.ids[first:last]
        return pa.record_batch([ids, *carried.columns], schema=AT_HAND), 0

    cuts = [rows.size * number // ranges for number in range(ranges + 1)]
    pages.fill(pairwise(cuts), make, run.workers, stage)
    return PageRows(*pages.mapped())


def _parse_side_by_side(
    inputs: Sequence[str], limits: Limits, parts: Parts, workers: int, stage: Stage
) -> list[Skip]:
    """Parse the pages of all inputs into parts; what was skipped, in the order of the parts."""
    reading = Reading(limits, keep_original=False)
    skipped: dict[int, list[Skip]] = {}

    def parse_block(block: Block, number: int, is_left: bool) -> pa.RecordBatch | None:
        raw, skips = block()
        if skips:
            skipped[number] = skips
            _log(skips)
        if is_left or not raw.num_rows:
            return None
        return with_derived(parse(raw, columns=parts.schema.names), raw["time"].is_valid())

    parts.fill_side_by_side(reading.sources(find_files(inputs)), parse_block, workers, stage)
    last = [reading.last_source()]
    parts.fill_side_by_side(last, parse_block, 1, stage, first=LAST_SOURCE)
    return [skip for _, skips in sorted(skipped.items()) for skip in skips]


def _log(skips: Sequence[Skip]) -> None:
    for skip in skips:
        LOGGER.debug(
            "skipped %s record %d: %s %s",
            skip.source.path,
            skip.source.record,
            skip.reason,
            skip.detail,
        )


def _nothing_read(inputs: Sequence[str], skips: Sequence[Skip]) -> str:
    if not skips:
        return f"no page in {', '.join(inputs)}"
    first = skips[0]
    place = f"{first.source.path} record {first.source.record}"
    reason = f"{first.reason}{': ' + first.detail if first.detail else ''}"
    return f"no page could be read; {len(skips)} skipped, the first at {place}: {reason}"
