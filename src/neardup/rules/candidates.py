"""Candidates: pages that share a key.

A key shared by very many pages is hot. What makes a key hot is either a mirror (pages that are
copies of each other) or boilerplate (a line that unrelated pages share). Pairing each page of a
hot key with the next few only keeps the work linear and loses nothing that matters: copies form a
chain that is joined all the same, and near-duplicates that share boilerplate share their own keys
as well.

Pages that have many keys each may share one by chance: a turn of phrase. Such pairs grow with the
square of the pages, while near-duplicates share many keys: `worth_judging` bounds them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from neardup.arrays import Hashes, Numbers, distinct
from neardup.kernels.grouping import (
    among_first,
    have_turn,
    no_turns,
    pairs_within_groups,
    take_turns,
)
from neardup.kernels.key_order import in_order_of_keys, shared_keys, sums_of_keys

HOT = 256  # a key of more pages is hot: instead of 32,640 pairs it gives 4,080
REACH = 16  # a page of a hot key is paired with this many following pages


def packed(left: Numbers, right: Numbers) -> Numbers:
    """Pairs of rows as one number each; rows are below 2 ** 31."""
    return left << 32 | right


def unpacked(pairs: Numbers) -> tuple[Numbers, Numbers]:
    """The rows of `packed` pairs."""
    return pairs >> 32, pairs & 0xFFFFFFFF


def pairs_sharing_keys(rows: Numbers, keys: Hashes) -> tuple[Numbers, Numbers, Numbers]:
    """Every pair of rows that shares a key, once, smaller row first, sorted; and how many keys
    it shares.

    Hot keys give only some of their pairs: see above.
    """
    rows, starts = _groups(rows, keys)
    numbers, places = _dense(rows)
    pairs, shared = pairs_within_groups(places, starts, HOT, REACH)
    left, right = unpacked(pairs)
    if numbers is not None:
        left, right = numbers[left], numbers[right]
    return left, right, shared.copy()


def added_up(pairs: Numbers, shared: Numbers) -> tuple[Numbers, Numbers]:
    """Each of the `packed` pairs once, sorted, with the sum of its shared keys."""
    if (pairs[1:] > pairs[:-1]).all():
        return pairs, shared
    spread = np.uint64(64 - int(pairs.max()).bit_length())  # over all of 64 bits, as keys are
    keys, sums = sums_of_keys(*in_order_of_keys(pairs.view(np.uint64) << spread, shared))
    return (keys >> spread).view(np.int64), sums.copy()


def worth_judging(ranges: Iterable[tuple[Numbers, Numbers]], rows: int, most: int) -> Numbers:
    """The `packed` pairs that are worth judging: all but those that share one key only and are not
    among the first `most` such pairs of both their rows, in an order that follows nothing in the
    pages. All pairs need not fit in memory.

    Each range has all pairs of some smaller rows, with how many keys they share. What a smaller row
    has is known in its range; of each larger row the smallest turns so far are kept.
    """
    smallest = no_turns(rows, most)
    chosen, singles = [np.empty(0, np.int64)], [np.empty(0, bool)]
    for pairs, shared in ranges:
        left, right = unpacked(pairs)
        single, turns = shared == 1, chance_order(left, right)
        take_turns(smallest, right, turns, single)
        first = left[0] if left.size else 0
        stays = ~single | among_first(left - first, turns, single, most)
        chosen.append(pairs[stays])
        singles.append(single[stays])
    pairs, single = np.concatenate(chosen), np.concatenate(singles)
    left, right = unpacked(pairs)
    every: Numbers = pairs[~single | have_turn(smallest, right, chance_order(left, right))]
    return every


def chance_order(left: Numbers, right: Numbers) -> Hashes:
    """A number for each pair, no two the same, by which pairs that share one key are chosen."""
    pairs = packed(left, right).view(np.uint64)
    pairs ^= pairs >> np.uint64(29)
    pairs *= np.uint64(0x9E3779B97F4A7C15)
    return pairs


def _dense(rows: Numbers) -> tuple[Numbers | None, Numbers]:
    """`(None, rows)`; or, if there are larger numbers than there are rows, the distinct numbers and
    the ranks of the rows among them, for arrays with a place for each number."""
    highest = int(rows.max(initial=0))
    if highest <= rows.size:
        return None, rows
    spread = np.uint64(64 - highest.bit_length())  # over all of 64 bits, as keys are
    keys, places = in_order_of_keys(rows.view(np.uint64) << spread, np.arange(rows.size))
    is_first = np.ones(rows.size, bool)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    ranks = np.empty_like(rows)
    ranks[places] = np.cumsum(is_first) - 1
    return (keys[is_first] >> spread).view(np.int64), ranks


def pairs_with_first(rows: Numbers, keys: Hashes) -> tuple[Numbers, Numbers]:
    """Each row with the smallest row it shares a key with.

    For methods whose keys decide: n - 1 pairs describe a group of n pages.
    """
    rows, starts = _groups(rows, keys)
    firsts = np.repeat(rows[starts[:-1]], np.diff(starts))
    return distinct_pairs(firsts[firsts != rows], rows[firsts != rows])


def _groups(rows: Numbers, keys: Hashes) -> tuple[Numbers, Numbers]:
    """Rows sorted by (key, row), and the start of each key's rows, followed by the end.

    Only keys shared by several rows are included.
    """
    return shared_keys(*in_order_of_keys(keys, rows))


def distinct_pairs(left: Numbers, right: Numbers) -> tuple[Numbers, Numbers]:
    """The distinct pairs, sorted."""
    return unpacked(distinct(packed(left, right)))
