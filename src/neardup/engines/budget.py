"""Memory: how much a run may take, and how work is cut so that it does."""

from __future__ import annotations

from collections.abc import Iterator

DEFAULT_MEMORY = 4 * 1000**3
SHARE = 0.1  # of the memory allowed, for one pass over keys; the rest is pages, ids and libraries


def key_ranges(size: int, memory: int) -> Iterator[tuple[int, int]]:
    """Ranges that cut all 64-bit keys so that each holds its share of `size` bytes in memory.

    Keys are hashes, so equal ranges hold about equally many.
    """
    passes = max(1, -(-size // int(memory * SHARE)))
    width = 2**64 // passes
    for number in range(passes):
        last = 2**64 - 1 if number == passes - 1 else (number + 1) * width - 1
        yield number * width, last
