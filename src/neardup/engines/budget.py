"""Memory: how much a run may take, and how work is cut so that it does."""

from __future__ import annotations

from itertools import pairwise

DEFAULT_MEMORY = 4 * 1000**3
SHARE = 0.1  # of the memory allowed, for one pass over keys; the rest is pages, ids and libraries


def key_ranges(size: int, memory: int) -> list[tuple[int, int]]:
    """Ranges that cut all 64-bit keys so that each holds its share of `size` bytes in memory.

    Keys are hashes, so equal ranges hold about equally many.
    """
    passes = max(1, -(-size // int(memory * SHARE)))
    width = 2**64 // passes
    starts = [number * width for number in range(passes)]
    return [(start, end - 1) for start, end in pairwise([*starts, 2**64])]
