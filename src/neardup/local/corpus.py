"""The first stage: read and parse every page, spill the text, settle the ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.errors import InputError
from neardup.local.work import Parts, Run
from neardup.model import Skip
from neardup.pages import Limits, read
from neardup.pages.raw import RawBatch
from neardup.rules.identity import settle_identities
from neardup.schemas import PAGES
from neardup.text.parse import parse

TEXT_AT_ONCE = 2 * 1024**2  # characters, about; a worker holds some ten times that

# What stays in memory of each page, beside the number of characters of its text.
KEPT_COLUMNS = ["url", "canonical_url", "time", "size", "source", "record"]
RECORD = ["id", "again", "digest", *KEPT_COLUMNS, "length"]
LENGTH = pa.field("length", pa.int64())
SPILLED = pa.schema([*PAGES, LENGTH])


@dataclass(frozen=True)
class Spilled:
    """The pages of a run. `ids` and `pages` are in the order of the ids; the parts are not."""

    parts: Parts
    numbers: list[NDArray[np.int64]]  # for each part: its records' page numbers, -1 for no page
    ids: pa.Array
    pages: pa.Table  # url, canonical_url, time, size, length, source, record
    skips: list[Skip]

    def each_part(self) -> Iterator[tuple[Path, NDArray[np.int64]]]:
        """Each part with the page numbers of its records."""
        for part, numbers in zip(self.parts.listed, self.numbers, strict=True):
            yield self.parts.path(part.number), numbers

    def each_group(self) -> Iterator[list[tuple[Path, NDArray[np.int64]]]]:
        """Parts one after another that hold much less text than markup, some at a time."""
        lengths = self.pages["length"].to_numpy()
        group: list[tuple[Path, NDArray[np.int64]]] = []
        room = TEXT_AT_ONCE
        for path, numbers in self.each_part():
            size = lengths[numbers[numbers >= 0]].sum()
            if group and size > room:
                yield group
                group, room = [], TEXT_AT_ONCE
            group.append((path, numbers))
            room -= size
        if group:
            yield group


def parse_inputs(inputs: Sequence[str], limits: Limits, run: Run) -> Spilled:
    """Every page of `inputs`, parsed."""
    parts = run.parts("pages", SPILLED)
    skips: list[Skip] = []
    with run.stages("parse") as stage:
        raws = _setting_skips_aside(read(inputs, limits), skips)
        parts.fill(raws, _parse_part, run.workers, stage)
    with run.stages("identify") as stage:
        schema = pa.schema([SPILLED.field(name) for name in RECORD])
        records = pa.Table.from_batches(parts.each(RECORD), schema)
        if records.num_rows == 0:
            raise InputError(_nothing_read(inputs, skips))
        identities = settle_identities(records)
        stage.advance(records.num_rows)
        pages = records.take(pa.array(identities.rows)).select([*KEPT_COLUMNS, "length"])
    numbers = _numbers(parts, identities.rows)
    return Spilled(parts, numbers, identities.ids, pages, [*skips, *identities.skips])


def _parse_part(raw: pa.RecordBatch) -> tuple[pa.RecordBatch, int]:
    pages = with_lengths(parse(raw))
    return pages, pc.sum(pages["size"]).as_py()


def _setting_skips_aside(
    batches: Iterable[RawBatch], skips: list[Skip]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        skips.extend(batch.skips)
        if batch.pages.num_rows:
            yield batch.pages


def with_lengths(pages: pa.RecordBatch) -> pa.RecordBatch:
    """Pages with the number of characters of their text."""
    return pages.append_column(LENGTH, pc.utf8_length(pages["text"]).cast(pa.int64()))


def _numbers(parts: Parts, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    sizes = [part.rows for part in parts.listed]
    numbers = np.full(sum(sizes), -1)
    numbers[rows] = np.arange(rows.size)
    return np.split(numbers, np.cumsum(sizes)[:-1])


def _nothing_read(inputs: Sequence[str], skips: Sequence[Skip]) -> str:
    if not skips:
        return f"no page in {', '.join(inputs)}"
    first = skips[0]
    place = f"{first.source.path} record {first.source.record}"
    told = f"{first.reason}{': ' + first.detail if first.detail else ''}"
    return f"no page could be read; {len(skips)} skipped, the first at {place}: {told}"
