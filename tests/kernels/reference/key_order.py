"""The plain truth for `kernels.key_order`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby


def in_order_of_keys(keys: Sequence[int], numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Keys and numbers by key; equal keys stay as they stand."""
    return sorted(zip(keys, numbers, strict=True), key=lambda pair: pair[0])


def sums_of_keys(keys: Sequence[int], counts: Sequence[int]) -> dict[int, int]:
    """The sum of the counts of each key."""
    sums: Counter[int] = Counter()
    for key, count in zip(keys, counts, strict=True):
        sums[key] += count
    return dict(sums)


def shared_keys(keys: Sequence[int], rows: Sequence[int]) -> list[list[int]]:
    """The rows of each key that several have, in the order of keys and of rows."""
    groups = groupby(sorted(zip(keys, rows, strict=True)), key=lambda pair: pair[0])
    found = [[row for _, row in group] for _, group in groups]
    return [rows for rows in found if len(rows) > 1]
