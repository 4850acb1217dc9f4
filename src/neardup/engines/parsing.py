"""The first stage: read and parse every page, spill the text, settle the ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.engines.identity import settle_identities
from neardup.engines.stages import Stages
from neardup.engines.threads import ordered_map
from neardup.engines.work import Parts
from neardup.errors import InputError
from neardup.model import RawPage, Skip
from neardup.pages import Limits, batches, read
from neardup.schemas import PAGES
from neardup.text.parse import parse

PAGES_AT_ONCE = 512
BYTES_AT_ONCE = 8 * 1024**2

# What stays in memory of each page, beside the number of characters of its text.
RECORD = ["id", "again", "url", "canonical_url", "time", "size", "digest", "source", "record"]


@dataclass(frozen=True)
class Spilled:
    """The pages of a run. `ids` and `pages` are in the order of the ids; the parts are not."""

    parts: Parts
    sizes: list[int]  # records in each part
    ids: pa.Array
    pages: pa.Table  # url, canonical_url, time, size, length, source, record
    rows: NDArray[np.int64]  # where each page stands in the parts
    skips: list[Skip]


def parse_inputs(
    inputs: Sequence[str], limits: Limits, work: Path, workers: int, stages: Stages
) -> Spilled:
    """Every page of `inputs`, parsed."""
    parts = Parts(work / "pages", PAGES)
    skips: list[Skip] = []
    with stages("parse") as stage:
        raws = _setting_skips_aside(read(inputs, limits), skips)

        def parse_part(item: tuple[int, list[RawPage]]) -> tuple[int, int]:
            number, batch = item
            parts.write(number, parse(batch))
            return len(batch), sum(len(raw.body) for raw in batch)

        numbered = enumerate(batches(raws, PAGES_AT_ONCE, BYTES_AT_ONCE))
        sizes = []
        for count, size in ordered_map(parse_part, numbered, workers):
            sizes.append(count)
            stage.advance(count, size)
    with stages("identify") as stage:
        records = _read_records(parts)
        if records.num_rows == 0:
            raise InputError(_nothing_read(inputs, skips))
        identities = settle_identities(records)
        stage.advance(records.num_rows)
        pages = records.take(pa.array(identities.rows)).drop_columns(["id", "again", "digest"])
    skips += identities.skips
    return Spilled(parts, sizes, identities.ids, pages, identities.rows, skips)


def _setting_skips_aside(records: Iterable[RawPage | Skip], skips: list[Skip]) -> Iterator[RawPage]:
    for record in records:
        if isinstance(record, Skip):
            skips.append(record)
        else:
            yield record


def _read_records(parts: Parts) -> pa.Table:
    schema = pa.schema([*(PAGES.field(name) for name in RECORD), ("length", pa.int64())])
    return pa.Table.from_batches(
        (_record_columns(part) for part in parts.each([*RECORD, "text"])), schema
    )


def _record_columns(part: pa.RecordBatch) -> pa.RecordBatch:
    lengths = pc.utf8_length(part["text"]).cast(pa.int64())
    return part.select(RECORD).append_column("length", lengths)


def _nothing_read(inputs: Sequence[str], skips: Sequence[Skip]) -> str:
    if not skips:
        return f"no page in {', '.join(inputs)}"
    first = skips[0]
    place = f"{first.source.path} record {first.source.record}"
    told = f"{first.reason}{': ' + first.detail if first.detail else ''}"
    return f"no page could be read; {len(skips)} skipped, the first at {place}: {told}"
