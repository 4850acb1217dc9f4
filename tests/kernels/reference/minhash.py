"""The plain truth for `kernels.minhash`, one document at a time."""

from __future__ import annotations

from collections.abc import Sequence

from kernels.reference.shingles import BASE, WORD, mix

EMPTY = 2**32 - 1


def one_permutation(values: Sequence[int], bins: int) -> list[int]:
    """The smallest high half in each bin; empty bins borrow."""
    if not values:
        return [EMPTY] * bins
    held: list[list[int]] = [[] for _ in range(bins)]
    for value in values:
        held[(value >> 32) * bins >> 32].append(min(value >> 32, EMPTY - 1))
    return [min(held[_full_bin(held, at)]) for at in range(bins)]


def _full_bin(held: Sequence[Sequence[int]], at: int) -> int:
    """The bin itself, or the first full one in its own sequence of places."""
    place, attempt = at, 0
    while not held[place]:
        attempt += 1
        place = (mix((at * BASE + attempt) % WORD) >> 32) * len(held) >> 32
    return place


def permutations(values: Sequence[int], count: int) -> list[int]:
    """The low half of the smallest value under each permutation."""
    if not values:
        return [EMPTY] * count
    samples = []
    for which in range(count):
        factor = mix((2 * which + 1) * BASE % WORD) | 1
        summand = mix((2 * which + 2) * BASE % WORD)
        smallest = min((factor * value + summand) % WORD for value in values)
        samples.append(min(smallest % 2**32, EMPTY - 1))
    return samples


def agreements(left: Sequence[int], right: Sequence[int]) -> int:
    """In how many samples two rows agree."""
    return sum(a == b != EMPTY for a, b in zip(left, right, strict=True))


def group_hashes(samples: Sequence[int], size: int) -> list[int]:
    """A number for each run of `size` samples."""
    hashes = []
    for group in range(len(samples) // size):
        value = group + 1
        for sample in samples[group * size : (group + 1) * size]:
            value = mix((value * BASE + sample) % WORD)
        hashes.append(value)
    return hashes
