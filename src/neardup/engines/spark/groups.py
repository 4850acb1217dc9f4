"""Rows that come sorted, in whole groups: what tasks do with the rows of a shuffle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

ROWS_AT_ONCE = 500_000  # about


def whole_groups(
    batches: Iterable[pa.RecordBatch], by: list[str], rows_at_once: int = ROWS_AT_ONCE
) -> Iterator[pa.Table]:
    """The rows of sorted batches, so many at a time, and never a part of a group.

    A group is rows next to each other with equal numbers in the columns `by`.
    """
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        if count < rows_at_once:
            continue
        table = pa.Table.from_batches(held)
        last = last_group(table, by)
        if last:
            yield table.slice(0, last).combine_chunks()
            held, count = table.slice(last).combine_chunks().to_batches(), table.num_rows - last
    if count:
        yield pa.Table.from_batches(held).combine_chunks()


def last_group(table: pa.Table, by: list[str]) -> int:
    """Where the last group starts."""
    changes = np.flatnonzero(new_groups(table, by))
    return int(changes[-1]) if changes.size else 0


def new_groups(table: pa.Table, by: list[str]) -> NDArray[np.bool_]:
    """Which rows are the first of a group."""
    new = np.zeros(table.num_rows, bool)
    new[:1] = True
    for name in by:
        values = table[name].to_numpy()
        new[1:] |= values[1:] != values[:-1]
    return new
