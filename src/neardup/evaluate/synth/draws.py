"""Random choices that are the same everywhere: raw bits of Philox, and our own use of them.

NumPy promises the raw bits of a bit generator for ever, but not what its distributions make of
them; nor does `random` for its choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import xxhash
from numpy.typing import NDArray

Item = TypeVar("Item")
_AT_ONCE = 256


class Draws:
    """A stream of choices named by a key: the same key, the same choices."""

    def __init__(self, *key: int | str) -> None:
        named = "/".join(map(str, key)).encode()
        self._bits = np.random.Philox(key=xxhash.xxh3_128_intdigest(named))
        self._held: list[int] = []
        self._small: list[int] = []

    def raw(self, count: int) -> NDArray[np.uint64]:
        """So many times 64 random bits."""
        bits: NDArray[np.uint64] = self._bits.random_raw(count)
        return bits

    def bits(self) -> int:
        """52 random bits."""
        if not self._held:
            self._held = (self.raw(_AT_ONCE) >> np.uint64(12)).tolist()
        return self._held.pop()

    def small(self, count: int) -> list[int]:
        """So many numbers from 0 to 63, many at a time because sentences are full of them."""
        if len(self._small) < count:
            self._small += (self.raw(_AT_ONCE).astype("<u8").view(np.uint8) & 63).tolist()
        taken = self._small[-count:] if count else []
        del self._small[len(self._small) - count :]
        return taken

    def below(self, limit: int) -> int:
        """From 0 to `limit` - 1."""
        return self.bits() % limit

    def between(self, low: float, high: float) -> float:
        """From `low` up to `high`."""
        return low + (high - low) * (self.bits() / 2**52)

    def chance(self, share: float) -> bool:
        """True in this share of cases."""
        return self.bits() < share * 2**52

    def pick(self, items: Sequence[Item]) -> Item:
        """One of them."""
        return items[self.bits() % len(items)]

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """`count` of them at most, each once, in the order drawn."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(min(count, len(left)))]


def zipf_table(words: Sequence[str], size: int, shift: int = 8) -> NDArray[np.object_]:
    """`size` entries in which the word of rank r stands as often as 1 / (r + shift).

    A pick from the table is a pick by Zipf's law (Mandelbrot's form: no word is overly common).
    """
    weights = 1.0 / (np.arange(len(words)) + shift)
    ends = np.cumsum(weights) / weights.sum() * size
    ranks = np.searchsorted(ends, np.arange(size), side="right").clip(max=len(words) - 1)
    table: NDArray[np.object_] = np.array(words, dtype=object)[ranks]
    return table
