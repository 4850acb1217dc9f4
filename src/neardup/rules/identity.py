"""One id, one page.

A second record under an id takes the id it brought for that case (a recrawl in a WARC: the URL
with its date) or is skipped. Which record is the second does not depend on the order of input:
records under one id are taken by (time, content, place).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import Mask, Numbers
from neardup.model import Skip, SkipReason, Source

COLUMNS = ["id", "again", "time", "digest", "source", "record"]
Read = Callable[[Numbers], pa.Table]  # `COLUMNS` of some records, whose rows ascend


@dataclass(frozen=True)
class Identities:
    """The pages that have an id of their own, in the order of the ids."""

    ids: pa.Array
    rows: Numbers  # where each page stands among the records read
    skips: list[Skip]


def settle_identities(ids: pa.StringArray, read: Read) -> Identities:
    """Give each record an id or skip it. All that is needed of most records is the id; `read` gives
    the rest of those whose id is there several times."""
    order = pc.array_sort_indices(ids).to_numpy().view(np.int64)
    in_order = ids.take(pa.array(order))
    repeats = _repeats(in_order)
    if not repeats.any():
        return Identities(in_order, order, [])
    rows = order[_with_first(repeats)]
    renamed, skipped = _settle_repeats(ids, _repeated(rows, read))
    is_skipped = np.zeros(len(ids), bool)
    is_skipped[skipped["row"].to_numpy()] = True
    names = pa.array([name for _, name in sorted(renamed.items())], pa.string())
    is_renamed = np.zeros(len(ids), bool)
    is_renamed[list(renamed)] = True
    taken = np.flatnonzero(~is_skipped)
    ids = pc.replace_with_mask(ids, pa.array(is_renamed), names).take(pa.array(taken))
    final = pc.array_sort_indices(ids)
    skips = [_skip(record) for record in skipped.sort_by("row").to_pylist()]
    return Identities(ids.take(final), taken[final.to_numpy()], skips)


def _repeats(sorted_ids: pa.Array) -> Mask:
    """True where an id stands again right after itself."""
    again = np.zeros(len(sorted_ids), bool)
    if len(sorted_ids) > 1:
        again[1:] = pc.equal(sorted_ids[1:], sorted_ids[:-1]).to_numpy(zero_copy_only=False)
    return again


def _with_first(repeats: Mask) -> Mask:
    """The repeats, and what stands first under their ids."""
    either: Mask = repeats | np.append(repeats[1:], False)
    return either


def _repeated(rows: Numbers, read: Read) -> pa.Table:
    """The records whose ids are there several times, by id and in the order in which they are
    taken, with their `row`."""
    rows = np.sort(rows)
    records = read(rows).append_column("row", pa.array(rows))
    return records.sort_by([(name, "ascending") for name in ("id", *COLUMNS[2:])])


def _settle_repeats(ids: pa.StringArray, records: pa.Table) -> tuple[dict[int, str], pa.Table]:
    """New names by row for the repeats that brought one nobody has, and the records to skip."""
    repeats = _repeats(records["id"].combine_chunks())
    first = np.maximum.accumulate(np.where(repeats, 0, np.arange(repeats.size)))[repeats]
    brought = records["again"].combine_chunks()
    # Names that records have, and of a copy of the first record, which is not a recrawl.
    taken = {*ids.filter(pc.is_in(ids, brought)).to_pylist(), *brought.take(first).to_pylist()}
    renamed: dict[int, str] = {}
    skipped: list[int] = []
    places = np.flatnonzero(repeats).tolist()
    names = brought.filter(pa.array(repeats)).to_pylist()
    rows = records["row"].to_numpy()[repeats].tolist()
    for place, row, name in zip(places, rows, names, strict=True):
        if name and name not in taken:
            taken.add(name)
            renamed[row] = name
        else:
            skipped.append(place)
    return renamed, records.take(pa.array(skipped, pa.int64()))


def _skip(record: Mapping[str, Any]) -> Skip:
    source = Source(record["source"], record["record"])
    return Skip(source, SkipReason.DUPLICATE_ID, "another record has this id", record["id"])
