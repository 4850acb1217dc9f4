"""Lines and sentences of page text: where they are, what they are called, how dense they are.

Text is UTF-8 with one line per block. A sentence here is a piece of a line up to a mark that may
end one: a cheap cut that only has to fall on the same places in every copy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import Bytes, inlined_kernel, kernel
from neardup.kernels.shingles import BASE, mix
from neardup.kernels.text_bits import (
    BLOCK,
    LAST,
    Bits,
    between_bits,
    count_bits,
    count_set,
    eight_bytes,
    equal_bits,
    lowest_bit,
    next_set,
)

NEWLINE = 10
ZERO, NINE = 48, 57  # the digits
WINDOW = 32  # bytes: some five words or ten Han characters, more than a turn of phrase
TRACES = 4  # of a line; a power of two
SPACE, THREE_BYTES = 32, 0xE0  # the first byte of a UTF-8 character of three or four bytes
GREATEST = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel
def newline_bits(data: NDArray[np.uint8]) -> Bits:
    """A bit for each byte that ends a line, as `text_bits` has them; for who needs no others."""
    newlines = np.zeros(len(data) // BLOCK + 1, np.uint64)
    whole = len(data) // BLOCK
    for number in range(whole):
        newlines[number] = equal_bits(data, number * BLOCK, np.uint8(NEWLINE))
    for at in range(whole * BLOCK, len(data)):
        newlines[whole] |= np.uint64(data[at] == NEWLINE) << np.uint64(at & LAST)
    return newlines


@kernel
def line_offsets(
    newlines: Bits, offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`(starts, document_lines)`: where each line of each document starts, with the end of all as
    the last, and where each document's lines start among them. A document of no bytes has none.
    """
    documents = len(offsets) - 1
    starts = np.empty(_count(newlines) + documents + 1, np.int64)
    document_lines = np.zeros(documents + 1, np.int64)
    count = 0
    for document in range(documents):
        at, end = offsets[document], offsets[document + 1]
        while at < end:
            starts[count] = at
            count += 1
            at = next_set(newlines, at, end) + 1
            if at == end:  # the last line is empty
                starts[count] = end
                count += 1
        document_lines[document + 1] = count
    starts[count] = offsets[documents]
    return starts[: count + 1], document_lines


@kernel
def _count(bits: Bits) -> int:
    count = 0
    for word in bits:
        count += count_bits(word)
    return count


@kernel
def line_hashes(data: NDArray[np.uint8], starts: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A number for the bytes of each line, its line end apart; eight bytes at a step."""
    hashes = np.empty(len(starts) - 1, np.uint64)
    for line in range(len(hashes)):
        at, end = starts[line], starts[line + 1]
        if end > at and data[end - 1] == NEWLINE:
            end -= 1
        value = np.uint64(end - at)
        while at + 8 <= end:
            value = (value ^ eight_bytes(data, at)) * BASE
            value ^= value >> np.uint64(29)
            at += 8
        for place in range(at, end):
            value = (value ^ np.uint64(data[place])) * BASE
            value ^= value >> np.uint64(29)
        hashes[line] = mix(value)
    return hashes


@kernel
def without_digits(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The text with a 0 for every digit: dates and counters change from one visit to the next."""
    masked = np.empty_like(data)
    for at in range(len(data)):  # the compiler makes vector operations of it
        masked[at] = ZERO if ZERO <= data[at] <= NINE else data[at]
    return masked


@kernel
def line_numbers(
    data: NDArray[np.uint8], starts: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.uint64]]:
    """`line_hashes` and `line_traces` of the lines, their digits apart."""
    masked = without_digits(data)
    long_lines, traces = line_traces(masked, starts)
    return line_hashes(masked, starts), long_lines, traces


@kernel
def line_traces(
    data: NDArray[np.uint8], starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """`(long_lines, traces)`: the lines of two windows at least, and `TRACES` numbers for each of
    them, most of which stay when a word of it changes.

    The windows of a line are the runs of `WINDOW` bytes that begin with a word or a character of
    three bytes or more. A hash puts each window into one of `TRACES` parts, and the smallest hash
    of a part is a trace (one-permutation MinHash). A changed word changes the windows that it is
    in, so of a line that has lost a tenth of its windows nine traces in ten remain. A part without
    windows, which a long line hardly has, has trace 0.
    """
    long_lines = _long_lines(data, starts)
    traces = np.empty((len(long_lines), TRACES), np.uint64)
    for number in range(len(long_lines)):
        begin, end = starts[long_lines[number]], starts[long_lines[number] + 1]
        if data[end - 1] == NEWLINE:
            end -= 1
        smallest = traces[number]
        smallest[:] = GREATEST
        last = end - WINDOW
        after_space = np.uint64(1)  # whether a word begins with the block, as the line does
        for first in range(begin, last + 1, BLOCK):
            spaces, found = _spaces_and_wide(data, first)
            found |= spaces << np.uint64(1) | after_space
            after_space = spaces >> np.uint64(LAST)
            if last - first < LAST:
                found &= (np.uint64(2) << np.uint64(last - first)) - np.uint64(1)
            while found:
                at = first + lowest_bit(found)
                found &= found - np.uint64(1)
                value = eight_bytes(data, at)
                for step in range(8, WINDOW, 8):
                    value = value * BASE + eight_bytes(data, at + step)
                value = mix(value)
                smallest[value % np.uint64(TRACES)] = min(
                    smallest[value % np.uint64(TRACES)], value
                )
        for part in range(TRACES):
            if smallest[part] == GREATEST:
                smallest[part] = 0
    return long_lines, traces


@kernel
def _long_lines(data: NDArray[np.uint8], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of the lines of two windows at least, their line ends apart."""
    long_lines = np.empty(len(data) // (2 * WINDOW), np.int64)
    found = 0
    for line in range(len(starts) - 1):
        size = starts[line + 1] - starts[line]
        if size > 2 * WINDOW or (size == 2 * WINDOW and data[starts[line + 1] - 1] != NEWLINE):
            long_lines[found] = line
            found += 1
    return long_lines[:found].copy()


@inlined_kernel
def _spaces_and_wide(data: Bytes, first: int) -> tuple[np.uint64, np.uint64]:
    """Of the 64 bytes from `first` on, the bits of spaces, and of the first bytes of characters of
    three bytes or more; none of bytes after the last."""
    if first + BLOCK <= len(data):
        wide = between_bits(data, first, np.uint8(THREE_BYTES), np.uint8(255))
        return equal_bits(data, first, np.uint8(SPACE)), wide
    spaces, wide = np.uint64(0), np.uint64(0)
    for at in range(first, len(data)):
        spaces |= np.uint64(data[at] == SPACE) << np.uint64(at - first)
        wide |= np.uint64(data[at] >= THREE_BYTES) << np.uint64(at - first)
    return spaces, wide


@kernel
def sentence_offsets(
    ends: Bits, starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`(pieces, line_pieces)`: where each sentence starts, with the end of all as the last, and
    where each line's sentences start among them. Every line has one at least.
    """
    lines = len(starts) - 1
    pieces = np.empty(_count(ends) + lines + 1, np.int64)
    line_pieces = np.zeros(lines + 1, np.int64)
    count = 0
    for line in range(lines):
        at, end = starts[line], starts[line + 1]
        while True:
            pieces[count] = at
            count += 1
            at = next_set(ends, at, end - 1) + 1
            if at >= end:
                break
        line_pieces[line + 1] = count
    pieces[count] = starts[lines]
    return pieces[: count + 1], line_pieces


@kernel
def dense_lines(
    unspaced: Bits, starts: NDArray[np.int64], tokens: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which lines are written in characters rather than words: those where at least half of the
    `tokens` of the line are Han, Kana or Thai by their first byte.
    """
    dense = np.zeros(len(starts) - 1, np.bool_)
    for line in range(len(dense)):
        characters = count_set(unspaced, starts[line], starts[line + 1])
        dense[line] = characters > 0 and 2 * characters >= tokens[line]
    return dense


@kernel
def line_starts(
    data: NDArray[np.uint8], starts: NDArray[np.int64], chosen: NDArray[np.int64], most: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The first bytes of some lines, at most `most` and whole characters, as a buffer and its
    offsets.
    """
    text = np.empty(len(chosen) * most, np.uint8)
    ends = np.zeros(len(chosen) + 1, np.int64)
    filled = 0
    for number in range(len(chosen)):
        begin, end = starts[chosen[number]], starts[chosen[number] + 1]
        if end > begin and data[end - 1] == NEWLINE:
            end -= 1
        if end - begin > most:
            end = begin + most
            while end > begin and data[end] & 0xC0 == 0x80:
                end -= 1
        _copy(data[begin:end], text[filled:])
        filled += end - begin
        ends[number + 1] = filled
    return text[:filled], ends


@kernel
def _copy(some: NDArray[np.uint8], to: NDArray[np.uint8]) -> None:
    for at in range(len(some)):  # the compiler makes vector operations of it
        to[at] = some[at]
