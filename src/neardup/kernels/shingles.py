"""Runs of tokens as 64-bit numbers (shingles, spot signatures), and sets of such numbers.

Everything here is ragged: document d has `values[offsets[d]:offsets[d + 1]]`. The number of a run
is a polynomial in `BASE` whose coefficients are the hashes of its tokens, modulo 2**64, then mixed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import Bytes, kernel

Hashes = NDArray[np.uint64]
Offsets = NDArray[np.int64]

BASE = np.uint64(0x9E3779B97F4A7C15)
FIRST_MIX = np.uint64(0xBF58476D1CE4E5B9)
SECOND_MIX = np.uint64(0x94D049BB133111EB)
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
CONTENT, SKIPPED, ANTECEDENT = 0, 1, 2  # the role of a token in spot signatures


@kernel
def mix(value: np.uint64) -> np.uint64:
    """The finaliser of splitmix64: one to one, and every bit depends on every other."""
    value = (value ^ (value >> SHIFTS[0])) * FIRST_MIX
    value = (value ^ (value >> SHIFTS[1])) * SECOND_MIX
    return value ^ (value >> SHIFTS[2])


@kernel
def mix_all(values: Hashes | NDArray[np.uint32]) -> Hashes:
    """`mix` of each value."""
    mixed = np.empty(values.size, np.uint64)
    for place in range(values.size):
        mixed[place] = mix(np.uint64(values[place]))
    return mixed


@kernel
def document_hashes(tokens: Hashes, offsets: Offsets) -> Hashes:
    """One number for the token sequence of a document; 0 for a document without tokens."""
    hashes = np.zeros(offsets.size - 1, np.uint64)
    for document in range(hashes.size):
        begin, end = offsets[document], offsets[document + 1]
        value = np.uint64(0)
        for place in range(begin, end):
            value = value * BASE + tokens[place]
        if end > begin:
            hashes[document] = mix(value + np.uint64(end - begin))
    return hashes


@kernel
def shingle_offsets(offsets: Offsets, size: int) -> Offsets:
    """Where the shingles of `size` tokens of each document begin."""
    places = np.zeros(offsets.size, np.int64)
    for document in range(offsets.size - 1):
        tokens = offsets[document + 1] - offsets[document]
        shingles = max(tokens - size + 1, min(tokens, 1))
        places[document + 1] = places[document] + shingles
    return places


@kernel
def shingle_hashes(tokens: Hashes, offsets: Offsets, size: int) -> tuple[Hashes, Offsets]:
    """A number for every run of `size` tokens, in order, with repeats.

    The polynomial rolls along the tokens: times `BASE`, plus the token that enters, less the one
    that leaves. A document with fewer tokens than `size` is one shingle of all it has; one without
    tokens has none.
    """
    places = shingle_offsets(offsets, size)
    hashes = np.empty(places[-1], np.uint64)
    leaving = np.uint64(1)  # the factor of the token that leaves the run
    for _ in range(size):
        leaving *= BASE
    for document in range(offsets.size - 1):
        begin, end = offsets[document], offsets[document + 1]
        if end == begin:
            continue
        first = min(begin + size, end)
        value = np.uint64(0)
        for place in range(begin, first):
            value = value * BASE + tokens[place]
        filled = places[document]
        hashes[filled] = mix(value)
        for place in range(first, end):
            value = value * BASE + (tokens[place] - tokens[place - size] * leaving)
            filled += 1
            hashes[filled] = mix(value)
    return hashes, places


@kernel
def sort_distinct(values: Hashes, offsets: Offsets) -> tuple[Hashes, Offsets]:
    """The set of each document: its values sorted, each once."""
    places = np.zeros(offsets.size, np.int64)
    distinct = np.empty(values.size, np.uint64)
    filled = 0
    for document in range(offsets.size - 1):
        ordered = np.sort(values[offsets[document] : offsets[document + 1]])
        for place in range(ordered.size):
            if place == 0 or ordered[place] != ordered[place - 1]:
                distinct[filled] = ordered[place]
                filled += 1
        places[document + 1] = filled
    return distinct[:filled].copy(), places


@kernel
def number_repeats(values: Hashes, offsets: Offsets) -> Hashes:
    """Each document's multiset as a set, sorted: the nth copy of a value is a value of its own.

    The sets of two documents have as many values in common as the multisets have copies.
    """
    numbered = np.empty(values.size, np.uint64)
    for document in range(offsets.size - 1):
        begin, end = offsets[document], offsets[document + 1]
        ordered = np.sort(values[begin:end])
        copies = np.uint64(0)
        for place in range(ordered.size):
            repeated = place > 0 and ordered[place] == ordered[place - 1]
            copies = copies + np.uint64(1) if repeated else np.uint64(0)
            numbered[begin + place] = mix(ordered[place] + copies * BASE)
        numbered[begin:end] = np.sort(numbered[begin:end])
    return numbered


@kernel
def common_counts(
    left: Hashes, left_offsets: Offsets, right: Hashes, right_offsets: Offsets
) -> Offsets:
    """How many values the sorted sets of each pair of rows have in common."""
    counts = np.zeros(left_offsets.size - 1, np.int64)
    for row in range(counts.size):
        counts[row] = count_common(
            left,
            left_offsets[row],
            left_offsets[row + 1],
            right,
            right_offsets[row],
            right_offsets[row + 1],
        )
    return counts


@kernel
def count_common(one: Hashes, i: int, i_end: int, two: Hashes, j: int, j_end: int) -> int:
    """How many values `one[i:i_end]` and `two[j:j_end]`, both sorted, have in common (repeats count
    as often as both have them).

    A merge without branches: the side with the smaller value advances; on a match both do.
    """
    common = 0
    while i < i_end and j < j_end:
        a, b = one[i], two[j]
        common += a == b
        i += a <= b
        j += b <= a
    return common


@kernel
def spot_signatures(
    tokens: Hashes, offsets: Offsets, roles: Bytes, chains: Offsets, distance: int
) -> tuple[Hashes, Offsets]:
    """The spot signatures of each document (Theobald et al. 2008), in order, with repeats.

    Each antecedent, a stop word, begins one: itself and a chain of `chains[document]` content
    tokens after it, taking every `distance`-th. A chain that the document's end cuts is none.
    """
    signatures = np.empty(tokens.size, np.uint64)  # at most one a token
    places = np.zeros(offsets.size, np.int64)
    content = np.empty(tokens.size, np.int64)
    filled = 0
    for document in range(offsets.size - 1):
        begin, end = offsets[document], offsets[document + 1]
        found = 0
        for place in range(begin, end):
            if roles[place] == CONTENT:
                content[found] = place
                found += 1
        before = 0  # content tokens before `place`
        for place in range(begin, end):
            if roles[place] == CONTENT:
                before += 1
            elif roles[place] == ANTECEDENT and before + chains[document] * distance <= found:
                value = tokens[place]
                for link in range(1, chains[document] + 1):
                    value = value * BASE + tokens[content[before + link * distance - 1]]
                signatures[filled] = mix(value)
                filled += 1
        places[document + 1] = filled
    return signatures[:filled].copy(), places
