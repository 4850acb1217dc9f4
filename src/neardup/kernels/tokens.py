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
    character_classes,
    role_of,
)
from neardup.kernels.jit import Bytes, Numbers, borrowing_kernel, inlined_kernel, kernel
from neardup.kernels.text_bits import (
    ALL,
    BLOCK,
    LAST,
    SHIFT,
    Bits,
    count_bits,
    eight_bytes,
    is_set,
    lowest_bit,
    within,
)
from neardup.kernels.utf8 import code_point_at

EIGHT = 8  # bytes that are taken in at once
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)
MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
MIX_SHIFT = np.uint64(33)


def token_hashes(data: Bytes, offsets: Numbers) -> tuple[NDArray[np.uint64], Numbers]:
    """`(hashes, document_offsets)`: those of document d are at
    `document_offsets[d]:document_offsets[d + 1]`."""
    hashes, _, _, places = tokens_of(data, offsets, *character_classes(), False)
    return hashes[: places[-1]], places


def token_spans(data: Bytes, offsets: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """`(starts, ends, document_offsets)`: where in `data` the tokens are."""
    _, starts, ends, places = tokens_of(data, offsets, *character_classes(), True)
    return starts[: places[-1]], ends[: places[-1]], places


@kernel
def tokens_of(
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
    state = (state ^ state >> MIX_SHIFT) * MIX_1
    state = (state ^ state >> MIX_SHIFT) * MIX_2
    return state ^ state >> MIX_SHIFT


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


Hashes = NDArray[np.uint64]
Offsets = NDArray[np.int64]

USUAL = 2 * EIGHT  # bytes; hardly any word is longer
AT_ONCE = 256  # words that are hashed together
LOWER = np.uint64(0x2020202020202020)


@kernel
def room_for_words() -> tuple[Offsets, Hashes]:
    """Scratch arrays for `hash_words`: a block may yield as many borders as it has bytes, and
    borders are written eight at a time."""
    return np.empty(2 * AT_ONCE + BLOCK + EIGHT, np.int64), np.empty((3, AT_ONCE), np.uint64)


@borrowing_kernel
def count_words(runs: Bits, offsets: Offsets, document: int, clean: int, counts: Offsets) -> int:
    """Write the number of words of each document from this one on; returns the first document that
    is not counted, because it reaches beyond `clean` or begins in the middle of a run."""
    begin = offsets[document]
    while document < len(counts) and offsets[document + 1] <= clean:
        first, end = offsets[document], offsets[document + 1]
        if first > begin and is_set(runs, first - 1) and is_set(runs, first):
            break
        count, before = 0, np.uint64(0)
        for block in range(first >> SHIFT, (end >> SHIFT) + 1):
            word = within(runs, block, first, end)
            count += count_bits(word & ~(word << np.uint64(1) | before))
            before = word >> np.uint64(LAST)
        counts[document] = count
        document += 1
    return document


@borrowing_kernel
def hash_words(
    data: Bytes,
    runs: Bits,
    begin: int,
    end: int,
    borders: Offsets,
    contents: Hashes,
    hashes: Hashes,
) -> None:
    """Write the hashes of all words of data[begin:end], where every run is a word."""
    count, place, before = 0, 0, np.uint64(0)
    for block in range(begin >> SHIFT, (end >> SHIFT) + 1):
        changes, before = _changes(runs, block, begin, end, before)
        found = count + count_bits(changes)
        while changes:
            for step in range(EIGHT):  # branch-free; surplus entries are overwritten later
                borders[np.uint64(count) + np.uint64(step)] = (block << SHIFT) + lowest_bit(changes)
                changes &= changes - np.uint64(1)
            count += EIGHT
        count = found
        if count >= 2 * AT_ONCE:
            _hash_some(data, borders[: 2 * AT_ONCE], contents, hashes[place:])
            place += AT_ONCE
            count -= 2 * AT_ONCE
            for at in range(count):
                borders[at] = borders[2 * AT_ONCE + at]
    _hash_some(data, borders[:count], contents, hashes[place:])


@borrowing_kernel
def _hash_some(data: Bytes, borders: Offsets, contents: Hashes, hashes: Hashes) -> None:
    """Write the hashes of the words whose starts and ends alternate in `borders`."""
    words = len(borders) // 2
    firsts, seconds, sizes = contents[0], contents[1], contents[2]
    longest = 0
    for word in range(words):
        begin = borders[2 * word]
        firsts[word] = _lower_bytes(data, begin)
        seconds[word] = _lower_bytes(data, begin + EIGHT)
        size = borders[2 * word + 1] - begin
        sizes[word] = size
        longest = max(longest, size)
    for word in range(words):  # compiles to vector operations
        hashes[word] = mixed(_usual_state(firsts[word], seconds[word], int(sizes[word])))
    if longest > USUAL:
        for word in range(words):
            begin, end = borders[2 * word], borders[2 * word + 1]
            if end - begin > USUAL:
                hashes[word] = hash_word(data, begin, end)


@inlined_kernel
def hash_word(data: Bytes, begin: int, end: int) -> np.uint64:
    """The hash of a word of ASCII letters and digits."""
    second = _lower_bytes(data, begin + EIGHT)
    state = _usual_state(_lower_bytes(data, begin), second, end - begin)
    if end - begin > USUAL:
        state = _long_state(data, begin, end, state)
    return mixed(state)


@inlined_kernel
def _usual_state(first: np.uint64, second: np.uint64, size: int) -> np.uint64:
    """The hash state after the first sixteen bytes of a word of `size` bytes. It does not branch on
    the size, which the processor could not predict."""
    state = taken_in(np.uint64(0), first & ALL >> np.uint64(64 - 8 * min(size, EIGHT)))
    rest = min(max(size - EIGHT, 1), EIGHT)
    longer = taken_in(state, second & ALL >> np.uint64(64 - 8 * rest))
    return longer if size > EIGHT else state


@borrowing_kernel
def _long_state(data: Bytes, begin: int, end: int, state: np.uint64) -> np.uint64:
    """The hash state after all bytes of a word, given that after the first sixteen."""
    for at in range(begin + USUAL, end, EIGHT):
        rest = np.uint64(64 - 8 * min(end - at, EIGHT))
        state = taken_in(state, _lower_bytes(data, at) & ALL >> rest)
    return state


@inlined_kernel
def _lower_bytes(data: Bytes, at: int) -> np.uint64:
    """Eight bytes with letters in lower case, by setting a bit that digits have anyway."""
    if at + EIGHT <= len(data):
        return eight_bytes(data, at) | LOWER
    rest = np.uint64(0)
    for step in range(len(data) - at):
        rest |= np.uint64(data[at + step]) << np.uint64(8 * step)
    return rest | LOWER


@inlined_kernel
def _changes(
    runs: Bits, block: int, begin: int, end: int, before: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """A bit for each start and end of a run in a block, and whether a run continues after it.

    The last block includes the bit of the byte after the document."""
    word = within(runs, block, begin, end)
    return word ^ (word << np.uint64(1) | before), word >> np.uint64(LAST)
