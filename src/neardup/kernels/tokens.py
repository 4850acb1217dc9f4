"""Tokens of folded UTF-8 text: where they are, and a stable 64-bit hash of each.

* A word is a maximal run of letters, digits and marks. Apostrophes and hyphens end it
  (docs/decisions/0003-folding-and-tokens.md says why).
* A character of a script that is written without spaces (Han, Kana, Bopomofo, Thai, Lao, Khmer,
  Myanmar) is a token by itself, with the marks that stand on it. Hangul is spaced, so words.
* A mark continues a token and never begins one.

The hash takes the token's UTF-8 bytes eight at a time as a number, the first byte lowest, the last
eight filled up with zeros (no token has a zero byte), then the finaliser of MurmurHash3, all modulo
2**64. Tokens of up to eight bytes never share a hash. It is written to disk: it must never change.

    h = 0;  for each eight bytes w:  h = (h ^ w) * 0x9e3779b97f4a7c15;  h ^= h >> 32
    h ^= h >> 33;  h *= 0xff51afd7ed558ccd;  h ^= h >> 33;  h *= 0xc4ceb9fe1a85ec53;  h ^= h >> 33
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.characters import (
    MARK,
    ROLE_BITS,
    SINGLE,
    WORD,
    WORD_BITS,
    role_of,
)
from neardup.kernels.data import character_classes
from neardup.kernels.jit import Bytes, Numbers, inlined_kernel, kernel
from neardup.kernels.utf8 import code_point_at

EIGHT = 8  # bytes that are taken in at once
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)
MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
SHIFT = np.uint64(33)


def token_hashes(data: Bytes, offsets: Numbers) -> tuple[NDArray[np.uint64], Numbers]:
    """`(hashes, document_offsets)`: those of document d are at
    `document_offsets[d]:document_offsets[d + 1]`."""
    hashes, _, _, places = _tokens(data, offsets, *character_classes(), False)
    return hashes[: places[-1]], places


def token_spans(data: Bytes, offsets: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """`(starts, ends, document_offsets)`: where in `data` the tokens are."""
    _, starts, ends, places = _tokens(data, offsets, *character_classes(), True)
    return starts[: places[-1]], ends[: places[-1]], places


@kernel
def _tokens(
    data: Bytes, offsets: Numbers, index: NDArray[np.uint16], pages: Bytes, spans: bool
) -> tuple[NDArray[np.uint64], Numbers, Numbers, Numbers]:
    """Hashes, starts, ends and document offsets, with room for all tokens; either hashes or spans
    are filled, the others are empty."""
    most = _most_tokens(offsets)
    hashes = np.empty(0 if spans else most, np.uint64)
    starts = np.empty(most if spans else 0, np.int64)
    ends = np.empty(len(starts), np.int64)
    places = np.zeros(len(offsets), np.int64)
    for document in range(len(offsets) - 1):
        begin, end = offsets[document], offsets[document + 1]
        place = places[document]
        found = _scan(data, begin, end, index, pages, hashes, starts, ends, place)
        places[document + 1] = place + found
    return hashes, starts, ends, places


@kernel
def _most_tokens(offsets: Numbers) -> int:
    """Room enough: two words have a byte between them, and a single character is three bytes or
    more, so n bytes hold (n + 1) / 2 tokens at most."""
    return int(offsets[-1] - offsets[0]) // 2 + len(offsets)


@inlined_kernel
def taken_in(state: np.uint64, eight: np.uint64) -> np.uint64:
    """The state after eight more bytes."""
    state = (state ^ eight) * MULTIPLIER
    return state ^ state >> HALF


@kernel
def _state_after(data: Bytes, begin: int, end: int) -> np.uint64:
    """The state after the bytes of one token."""
    state = np.uint64(0)
    for at in range(begin, end, EIGHT):
        eight = np.uint64(0)
        for step in range(min(EIGHT, end - at)):
            eight |= np.uint64(data[at + step]) << np.uint64(8 * step)
        state = taken_in(state, eight)
    return state


@kernel
def mixed(state: np.uint64) -> np.uint64:
    """The finaliser of MurmurHash3: every bit of the state touches every bit of the hash."""
    state = (state ^ state >> SHIFT) * MIX_1
    state = (state ^ state >> SHIFT) * MIX_2
    return state ^ state >> SHIFT


@kernel
def _scan(
    data: Bytes,
    begin: int,
    end: int,
    index: NDArray[np.uint16],
    pages: Bytes,
    hashes: NDArray[np.uint64],
    starts: Numbers,
    ends: Numbers,
    place: int,
) -> int:
    """Count the tokens of one document; write hashes or spans from `place` on."""
    first = place
    at = begin
    while at < end:
        byte = data[at]
        if byte < 0x80 and pages[byte] & ROLE_BITS != WORD_BITS:
            at += 1  # between tokens
            continue
        code, size = code_point_at(data, at, end)
        role = role_of(code, index, pages)
        start = at
        at += size
        if role not in (WORD, SINGLE):
            continue
        goes_on = role == WORD
        while at < end:
            byte = data[at]
            if byte < 0x80:
                if not goes_on or pages[byte] & ROLE_BITS != WORD_BITS:
                    break
                at += 1
                continue
            code, size = code_point_at(data, at, end)
            role = role_of(code, index, pages)
            if role != MARK and not (goes_on and role == WORD):
                break
            at += size
        if len(hashes):
            hashes[place] = mixed(_state_after(data, start, at))
        else:
            starts[place] = start
            ends[place] = at
        place += 1
    return place - first
