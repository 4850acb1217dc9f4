"""The plain truth for `kernels.shingles`, one document at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

BASE = 0x9E3779B97F4A7C15
WORD = 2**64


def mix(value: int) -> int:
    """The finaliser of splitmix64."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % WORD
    return value ^ (value >> 31)


def polynomial(tokens: Sequence[int]) -> int:
    """The tokens as digits in the base `BASE`."""
    value = 0
    for token in tokens:
        value = (value * BASE + token) % WORD
    return value


def document_hash(tokens: Sequence[int]) -> int:
    """One number for all tokens in their order."""
    return mix((polynomial(tokens) + len(tokens)) % WORD) if tokens else 0


def shingle_hashes(tokens: Sequence[int], size: int) -> list[int]:
    """A number for every run of `size` tokens, or for all of them when they are fewer."""
    if not tokens:
        return []
    starts = range(max(len(tokens) - size + 1, 1))
    return [mix(polynomial(tokens[start : start + size])) for start in starts]


def sort_distinct(values: Sequence[int]) -> list[int]:
    """The values sorted, each once."""
    return sorted(set(values))


def number_repeats(values: Sequence[int]) -> list[int]:
    """The multiset as a set, sorted."""
    counts = Counter(values).items()
    return sorted(
        mix((value + copy * BASE) % WORD) for value, many in counts for copy in range(many)
    )


def common_count(left: Sequence[int], right: Sequence[int]) -> int:
    """How many values two sets have in common."""
    return len(set(left) & set(right))
