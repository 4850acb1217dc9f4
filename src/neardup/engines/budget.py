"""Memory: how much a run may take, and how work is cut so that it does."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

Item = TypeVar("Item")

DEFAULT_MEMORY = 4 * 1000**3
SHARE = 0.1  # of the memory allowed, for one pass over keys; the rest is pages, ids and libraries

PARTS = 64  # of keys, about, to pick every range from
MOST_TOGETHER = 32  # groups of pages of which one part of keys is made


def together(items: Sequence[Item]) -> list[Sequence[Item]]:
    """Items some at a time: many small parts would make picking ranges from each of them slow."""
    size = min(max(len(items) // PARTS, 1), MOST_TOGETHER)
    return [items[start : start + size] for start in range(0, len(items), size)]


def key_ranges(size: int, memory: int) -> list[tuple[int, int]]:
    """Ranges that cut all 64-bit keys so that each holds its share of `size` bytes in memory.

    Keys are hashes, so equal ranges hold about equally many.
    """
    passes = max(1, -(-size // int(memory * SHARE)))
    width = 2**64 // passes
    starts = [number * width for number in range(passes)]
    return [(start, end - 1) for start, end in pairwise([*starts, 2**64])]
