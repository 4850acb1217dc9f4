"""One id, one page.

A second record under an id takes the id it brought for that case (a recrawl in a WARC: the URL
with its date) or is skipped. Which record is the second does not depend on the order of input:
records under one id are taken by (time, content, place).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import Mask, Numbers
from neardup.model import Skip, SkipReason, Source

COLUMNS = ["id", "again", "time", "digest", "source", "record"]


@dataclass(frozen=True)
class Identities:
    """The pages that have an id of their own, in the order of the ids."""

    ids: pa.Array
    rows: Numbers  # where each page stands among the records read
    skips: list[Skip]


def settle_identities(records: pa.Table) -> Identities:
    """Give each record an id or skip it. `records` has the columns of `COLUMNS`."""
    ids = records["id"].combine_chunks()
    order = _order(records, ids)
    repeated = _repeats(ids.take(order))
    if not repeated.any():
        return Identities(ids.take(order), order.to_numpy(), [])
    renamed, skipped = _settle_repeats(records, order.to_numpy(), repeated)
    names = ids.to_pylist()
    for row, name in renamed.items():
        names[row] = name
    taken = np.setdiff1d(np.arange(len(names)), skipped)
    ids = pa.array(names, pa.string()).take(pa.array(taken))
    final = pc.array_sort_indices(ids)
    skips = [_skip(records, row) for row in skipped]
    return Identities(ids.take(final), taken[final.to_numpy()], skips)


def _order(records: pa.Table, ids: pa.Array) -> pa.Array:
    by = pa.table({"id": ids, **{name: records[name] for name in COLUMNS[2:]}})
    keys = [(name, "ascending") for name in by.column_names]
    return pc.sort_indices(by, sort_keys=keys).cast(pa.int64())


def _repeats(sorted_ids: pa.Array) -> Mask:
    """True where an id stands again right after itself."""
    again = np.zeros(len(sorted_ids), bool)
    if len(sorted_ids) > 1:
        again[1:] = pc.equal(sorted_ids[1:], sorted_ids[:-1]).to_numpy(zero_copy_only=False)
    return again


def _settle_repeats(
    records: pa.Table, order: Numbers, repeated: Mask
) -> tuple[dict[int, str], list[int]]:
    """New names by row for the repeats that brought one nobody has, and the rows to skip."""
    rows = order[repeated].tolist()
    again = dict(zip(rows, records["again"].take(pa.array(rows)).to_pylist(), strict=True))
    first = order[np.maximum.accumulate(np.where(repeated, 0, np.arange(order.size)))][repeated]
    first_again = records["again"].take(pa.array(first)).to_pylist()
    taken = {*records["id"].to_pylist(), *first_again}  # a copy of the same record is not a recrawl
    renamed: dict[int, str] = {}
    skipped: list[int] = []
    for row in rows:
        if again[row] and again[row] not in taken:
            taken.add(again[row])
            renamed[row] = again[row]
        else:
            skipped.append(row)
    return renamed, sorted(skipped)


def _skip(records: pa.Table, row: int) -> Skip:
    source = Source(records["source"][row].as_py(), records["record"][row].as_py())
    name = records["id"][row].as_py()
    return Skip(source, SkipReason.DUPLICATE_ID, "another record has this id", name)
