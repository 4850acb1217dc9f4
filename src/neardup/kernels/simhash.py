"""Simhash: fingerprints of documents, and all pairs of fingerprints that differ in few bits.

The fingerprint (Charikar 2002) is a vote: bit b of a document is 1 when more of its features'
hashes have bit b than not (a tie is 0). A feature that occurs twice votes twice: counts are the
weights.

The pairs are found by table look-up (Manku et al. 2007, 3). Cut the 64 bits into b blocks. Two
values that differ in at most k bits differ in at most k blocks, so they agree on some b - k of
them. A table for every choice of b - k blocks, each grouped by the bits of its blocks, therefore
holds every such pair in one of its groups: nothing is missed.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from math import comb

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import Numbers, kernel
from neardup.kernels.memory import doubled
from neardup.kernels.shingles import BASE, mix
from neardup.kernels.text_bits import count_bits

Values = NDArray[np.uint64]

PLANES = 5  # of counters of eights
FULL = 8 * (2**PLANES - 1)  # as many votes as the planes can count
BITS = 64
FARTHEST = 7  # beyond it the tables are too many or too coarse to be a way of searching
GROUPING_COST = 20  # of putting a value into its group, in comparisons


@kernel
def simhash(features: Values, offsets: Numbers) -> Values:
    """The 64-bit fingerprint of each document; 0 for one without features.

    The votes are counted for 64 bits at once: a plane holds one binary digit of all 64 counters.
    Eight hashes at a time are added up to planes of ones, twos, fours and eights (Harley and Seal's
    population count), and the eights to the planes of higher digits.
    """
    fingerprints = np.zeros(offsets.size - 1, np.uint64)
    votes = np.zeros(64, np.int64)
    planes = np.zeros(PLANES, np.uint64)
    for document in range(fingerprints.size):
        at, end = offsets[document], offsets[document + 1]
        votes[:] = 0
        while at + 8 <= end:
            stop = at + min(FULL, (end - at) // 8 * 8)
            ones = twos = fours = np.uint64(0)
            planes[:] = 0
            while at < stop:
                ones, twos_a = _add(ones, features[at], features[at + 1])
                ones, twos_b = _add(ones, features[at + 2], features[at + 3])
                twos, fours_a = _add(twos, twos_a, twos_b)
                ones, twos_a = _add(ones, features[at + 4], features[at + 5])
                ones, twos_b = _add(ones, features[at + 6], features[at + 7])
                twos, fours_b = _add(twos, twos_a, twos_b)
                fours, carry = _add(fours, fours_a, fours_b)
                for plane in range(PLANES):
                    digit = planes[plane]
                    planes[plane] = digit ^ carry
                    carry = digit & carry
                at += 8
            _count(ones, 0, votes)
            _count(twos, 1, votes)
            _count(fours, 2, votes)
            for plane in range(PLANES):
                _count(planes[plane], 3 + plane, votes)
        while at < end:
            _count(features[at], 0, votes)
            at += 1
        fingerprints[document] = _majority(votes, end - offsets[document])
    return fingerprints


@kernel
def _add(a: np.uint64, b: np.uint64, c: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The sum of three digits, 64 times over: the digit that stays, and the one that is carried."""
    both = a ^ b
    return both ^ c, (a & b) | (both & c)


@kernel
def _count(plane: np.uint64, digit: int, votes: Numbers) -> None:
    """Add a plane of binary digits to the votes."""
    for bit in range(64):
        votes[bit] += np.int64((plane >> np.uint64(bit)) & np.uint64(1)) << digit


@kernel
def _majority(votes: Numbers, voters: int) -> np.uint64:
    fingerprint = np.uint64(0)
    for bit in range(64):
        if 2 * votes[bit] > voters:
            fingerprint |= np.uint64(1) << np.uint64(bit)
    return fingerprint


def block_masks(blocks: int) -> Values:
    """The bits of each block; sizes differ by one at most."""
    edges = [BITS * block // blocks for block in range(blocks + 1)]
    masks = [(1 << high) - (1 << low) for low, high in pairwise(edges)]
    return np.array(masks, np.uint64)


def table_masks(blocks: int, distance: int) -> Values:
    """The bits that each table groups by: every choice of `blocks - distance` blocks."""
    masks = block_masks(blocks).tolist()
    return np.array([sum(chosen) for chosen in combinations(masks, blocks - distance)], np.uint64)


def best_blocks(count: int, distance: int) -> int:
    """The number of blocks that makes the least work for `count` values spread evenly."""

    def work(blocks: int) -> float:
        key_bits = BITS * (blocks - distance) / blocks
        return comb(blocks, distance) * (GROUPING_COST + count / 2**key_bits / 2)

    return min(range(distance + 1, distance + 8), key=work)


def pairs_within(values: Values, distance: int) -> tuple[Numbers, Numbers]:
    """Every pair of rows whose values differ in at most `distance` bits, once, in order."""
    if not 0 <= distance <= FARTHEST:
        raise ValueError(f"distance must be from 0 to {FARTHEST}, not {distance}")
    blocks = best_blocks(values.size, distance)
    each_block = block_masks(blocks)
    by_table = [
        _pairs_of_table(values, mask, each_block, distance)
        for mask in table_masks(blocks, distance)
    ]
    left = np.concatenate([pair[0] for pair in by_table])
    right = np.concatenate([pair[1] for pair in by_table])
    order = np.lexsort((right, left))
    return left[order], right[order]


@kernel
def distances(left: Values, right: Values) -> Numbers:
    """In how many bits the values of each row differ."""
    counts = np.empty(left.size, np.int64)
    for row in range(left.size):
        counts[row] = count_bits(left[row] ^ right[row])
    return counts


@kernel
def table_keys(values: Values, masks: Values) -> Values:
    """Blocking keys, one row a value and one column a table; no two tables share a key."""
    keys = np.empty((values.size, masks.size), np.uint64)
    for row in range(values.size):
        for table in range(masks.size):
            keys[row, table] = mix(mix(values[row] & masks[table]) + np.uint64(table) * BASE)
    return keys


@kernel
def _grouped(values: Values, mask: np.uint64) -> tuple[Values, Numbers, Numbers]:
    """The values and their rows by group, and where each group starts: a counting sort.

    A group is a hash of the masked bits; groups that fall together only cost comparisons.
    """
    bits = 1
    while bits < 28 and 1 << bits < values.size:
        bits += 1
    shift = np.uint64(64 - bits)
    starts = np.zeros((1 << bits) + 2, np.int64)
    for row in range(values.size):
        starts[np.int64(((values[row] & mask) * BASE) >> shift) + 2] += 1
    for group in range(2, starts.size):
        starts[group] += starts[group - 1]
    grouped = np.empty(values.size, np.uint64)
    rows = np.empty(values.size, np.int64)
    for row in range(values.size):
        bucket = np.int64(((values[row] & mask) * BASE) >> shift) + 1
        grouped[starts[bucket]] = values[row]
        rows[starts[bucket]] = row
        starts[bucket] += 1
    return grouped, rows, starts[:-1]


@kernel
def _is_first_table(difference: np.uint64, mask: np.uint64, each_block: Values, free: int) -> bool:
    """Whether this table is the first of those that hold a pair: it groups by the first `free`
    blocks that are equal. So each pair is given once, and no list of pairs needs sorting for it."""
    first = np.uint64(0)
    for block in each_block:
        if difference & block == 0:
            first |= block
            free -= 1
            if free == 0:
                break
    return bool(first == mask)


@kernel
def _pairs_of_table(
    values: Values, mask: np.uint64, each_block: Values, distance: int
) -> tuple[Numbers, Numbers]:
    """The near pairs that this table is the first to hold, as (smaller row, larger row)."""
    grouped, rows, starts = _grouped(values, mask)
    free = each_block.size - distance
    left = np.empty(1024, np.int64)
    right = np.empty(1024, np.int64)
    filled = 0
    for group in range(starts.size - 1):
        end = starts[group + 1]
        for i in range(starts[group], end):
            for j in range(i + 1, end):
                difference = grouped[i] ^ grouped[j]
                if count_bits(difference) > distance:
                    continue
                if not _is_first_table(difference, mask, each_block, free):
                    continue
                if filled == left.size:
                    left, right = doubled(left), doubled(right)
                left[filled] = min(rows[i], rows[j])
                right[filled] = max(rows[i], rows[j])
                filled += 1
    return left[:filled].copy(), right[:filled].copy()
