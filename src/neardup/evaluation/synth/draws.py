"""Random choices that are the same on every machine and version: SplitMix64, seeded by key.

Neither NumPy nor `random` guarantees how its distributions use random bits, and creating one of
their generators for each of the many short streams here would cost more than the draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import xxhash
from numpy.typing import NDArray

from neardup.arrays import Numbers

Item = TypeVar("Item")
_FEW, _MANY = 32, 256  # drawn ahead: many streams are short
_STEP = np.uint64(0x9E37_79B9_7F4A_7C15)
_FIRST, _SECOND = np.uint64(0xBF58_476D_1CE4_E5B9), np.uint64(0x94D0_49BB_1331_11EB)
_ONWARDS = np.arange(1, _MANY + 1, dtype=np.uint64) * _STEP


class Draws:
    """A stream of random choices; the same key gives the same choices."""

    def __init__(self, *key: int | str) -> None:
        named = "/".join(map(str, key)).encode()
        self._state = np.array([xxhash.xxh3_64_intdigest(named)], np.uint64)
        self._held: list[int] = []
        self._ahead = _FEW

    def raw(self, count: int) -> NDArray[np.uint64]:
        """`count` random 64-bit numbers."""
        few = count <= _MANY
        onwards = _ONWARDS[:count] if few else np.arange(1, count + 1, dtype=np.uint64) * _STEP
        bits = onwards + self._state
        if count:
            self._state = bits[-1:].copy()
        bits ^= bits >> np.uint64(30)
        bits *= _FIRST
        bits ^= bits >> np.uint64(27)
        bits *= _SECOND
        bits ^= bits >> np.uint64(31)
        return bits

    def bits(self) -> int:
        """52 random bits."""
        if not self._held:
            self._held = (self.raw(self._ahead) >> np.uint64(12)).tolist()
            self._ahead = _MANY
        return self._held.pop()

    def skewed(self, count: int) -> Numbers:
        """`count` numbers from 0 to 63, low ones far more often: 0 in a tenth of cases.

        The product of two uniform draws: a subject has a few words that keep recurring.
        """
        even = self.raw(-(-count // 4)).astype("<u8").view(np.uint8)[: 2 * count] & 63
        return (even[::2].astype(np.int64) * even[1::2]) >> 6

    def below(self, limit: int) -> int:
        """From 0 to `limit` - 1."""
        return self.bits() % limit

    def rank(self, count: int) -> int:
        """From 0 to `count` - 1 by Zipf's law: a few numbers are drawn often, most hardly ever."""
        return int((count + 1) ** self.between(0, 1)) - 1

    def between(self, low: float, high: float) -> float:
        """From `low` up to `high`."""
        return low + (high - low) * (self.bits() / 2**52)

    def chance(self, share: float) -> bool:
        """True in this share of cases."""
        return self.bits() < share * 2**52

    def pick(self, items: Sequence[Item]) -> Item:
        return items[self.bits() % len(items)]

    def picks(self, items: Sequence[Item], count: int) -> list[Item]:
        """`count` of them, with repeats."""
        return [items[place] for place in (self.raw(count) % np.uint64(len(items))).tolist()]

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """At most `count` of them, each once, in the order drawn."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(min(count, len(left)))]


def zipf_table(words: Sequence[str], size: int, shift: int = 8) -> NDArray[np.object_]:
    """A table of `size` entries in which the word of rank r has a share of 1 / (r + shift).

    A uniform pick from the table follows Zipf's law, in Mandelbrot's form: no word dominates.
    """
    weights = 1.0 / (np.arange(len(words)) + shift)
    ends = np.cumsum(weights) / weights.sum() * size
    ranks = np.searchsorted(ends, np.arange(size), side="right").clip(max=len(words) - 1)
    table: NDArray[np.object_] = np.array(words, dtype=object)[ranks]
    return table
