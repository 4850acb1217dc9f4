"""Filters of `edit-distance` that lose nothing: feature strings as multisets of symbols.

`kernels.overlap_join` says why prefixes are enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import xxhash
from numpy.typing import NDArray

from neardup.kernels.overlap_join import least_common

GOLDEN = 0x9E3779B97F4A7C15  # spreads the numbers of bands over 64 bits


def prefix_keys(string: str, beta: float) -> list[int]:
    """Keys of which two strings share one if their LCC can reach `beta` of the longer one."""
    members = sorted(xxhash.xxh3_64_intdigest(each.encode()) for each in numbered(string))
    prefix = members[: len(members) - least_common(len(members), beta) + 1]
    bands = length_bands(len(string), beta)
    return [(member + band * GOLDEN) % 2**64 for band in bands for member in prefix]


def ranked_members(strings: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`(members, offsets)` for the overlap join: symbols numbered apart, the rarest first."""
    lengths = np.fromiter(map(len, strings), np.int64, len(strings))
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    codes = np.frombuffer("".join(strings).encode("utf-32-le"), np.uint32).astype(np.int64)
    owners = np.repeat(np.arange(len(strings)), lengths)
    sorted_by_code = np.sort(owners << 21 | codes)  # code points have 21 bits
    fresh = np.concatenate(([True], sorted_by_code[1:] != sorted_by_code[:-1]))[: codes.size]
    places = np.arange(codes.size)
    nth = places - np.maximum.accumulate(np.where(fresh, places, 0))  # 0 for its first occurrence
    _, kinds, counts = np.unique(
        nth << 21 | sorted_by_code & 0x1FFFFF, return_inverse=True, return_counts=True
    )
    rank = np.empty(counts.size, np.int64)
    rank[np.argsort(counts, kind="stable")] = np.arange(counts.size)
    members = np.sort(owners << 32 | rank[kinds]) & 0xFFFFFFFF
    return members, offsets


def numbered(string: str) -> list[str]:
    """The symbols of a string as a set: its second `a` is another member than its first."""
    seen: dict[str, int] = {}
    members = []
    for symbol in string:
        seen[symbol] = nth = seen.get(symbol, 0) + 1
        members.append(f"{symbol}{nth}")
    return members


def length_bands(length: int, beta: float) -> tuple[int, ...]:
    """Two bands of lengths; two strings with `n / m >= beta` always share one.

    A band ends where a string is too long for the shortest string in it. So what is long enough
    for a string is in its band or the next.
    """
    if beta == 0:
        return (0,)
    band, edge = 0, _next_edge(1, beta)
    while length >= edge:
        band, edge = band + 1, _next_edge(edge, beta)
    return (band, band + 1)


@cache
def _next_edge(shortest: int, beta: float) -> int:
    """The smallest length m with `shortest / m < beta`."""
    edge = max(shortest + 1, math.floor(shortest / beta) - 1)
    while shortest / edge >= beta:
        edge += 1
    return edge
