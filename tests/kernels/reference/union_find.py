"""The plain truth for `kernels.union_find`: walk the graph."""

from __future__ import annotations

from collections.abc import Sequence


def connected_components(count: int, left: Sequence[int], right: Sequence[int]) -> list[int]:
    """For each node the smallest node reachable from it."""
    neighbours: list[set[int]] = [set() for _ in range(count)]
    for a, b in zip(left, right, strict=True):
        neighbours[a].add(b)
        neighbours[b].add(a)
    label = [-1] * count
    for start in range(count):
        waiting = [start] if label[start] < 0 else []
        while waiting:
            node = waiting.pop()
            if label[node] < 0:
                label[node] = start
                waiting.extend(neighbours[node])
    return label
