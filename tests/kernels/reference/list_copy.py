"""The plain truth for `kernels.list_copy`: lists as lists."""

from __future__ import annotations

from collections.abc import Sequence


def copied(
    lists: Sequence[Sequence[int]], rows: Sequence[int], places: Sequence[int], target: list[int]
) -> list[int]:
    """The target with the lists of some rows in it, each at its place."""
    found = list(target)
    for row, place in zip(rows, places, strict=True):
        found[place : place + len(lists[row])] = lists[row]
    return found
