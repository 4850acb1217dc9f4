"""Hashes of words of ASCII letters and digits, many at a time.

A word is a run of set bits in `text_bits`. Letters are hashed in lower case.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import Bytes, borrowing_kernel, inlined_kernel, kernel
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
from neardup.kernels.tokens import EIGHT, mixed, taken_in

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
