"""Lines and sentences of page text: where they are, what they are called, how dense they are.

Text is UTF-8 with one line a block. A sentence here is a piece of a line up to a mark that may
end one; a cheap cut that falls on the same places in every copy is all that is asked of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel
from neardup.kernels.shingles import BASE, mix

NEWLINE, SPACE, STOP = 10, 32, 46
EXCLAMATION, QUESTION, SEMICOLON = 33, 63, 59

# Bytes that can be the last of a mark that ends a sentence: . ! ? ; and those of 。 ！ ？ ；
MAY_END = np.zeros(256, np.uint8)
MAY_END[[STOP, EXCLAMATION, QUESTION, SEMICOLON, 0x82, 0x81, 0x9F, 0x9B]] = 1


@kernel
def line_offsets(
    data: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`(starts, document_lines)`: where each line of each document starts, with the end of all as
    the last, and where each document's lines start among them. A document of no bytes has none.
    """
    documents = len(offsets) - 1
    total = 0
    for document in range(documents):
        total += offsets[document + 1] > offsets[document]
        for at in range(offsets[document], offsets[document + 1]):
            total += data[at] == NEWLINE
    starts = np.empty(total + 1, np.int64)
    document_lines = np.zeros(documents + 1, np.int64)
    found = 0
    for document in range(documents):
        begin, end = offsets[document], offsets[document + 1]
        if end > begin:
            starts[found] = begin
            found += 1
        for at in range(begin, end):
            if data[at] == NEWLINE:
                starts[found] = at + 1
                found += 1
        document_lines[document + 1] = found
    starts[found] = offsets[documents]
    return starts, document_lines


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
            word = np.uint64(0)
            for step in range(8):
                word |= np.uint64(data[at + step]) << np.uint64(8 * step)
            value = (value ^ word) * BASE
            value ^= value >> np.uint64(29)
            at += 8
        for place in range(at, end):
            value = (value ^ np.uint64(data[place])) * BASE
            value ^= value >> np.uint64(29)
        hashes[line] = mix(value)
    return hashes


@kernel
def sentence_offsets(
    data: NDArray[np.uint8], starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`(pieces, line_pieces)`: where each sentence starts, with the end of all as the last, and
    where each line's sentences start among them. Every line has one at least.
    """
    lines = len(starts) - 1
    room = lines + 1
    for at in range(starts[0], starts[lines]):
        room += MAY_END[data[at]]
    pieces = np.empty(room, np.int64)
    line_pieces = np.zeros(lines + 1, np.int64)
    found = 0
    for line in range(lines):
        end = starts[line + 1]
        pieces[found] = starts[line]
        found += 1
        for at in range(starts[line], end - 1):
            if MAY_END[data[at]] and _ends_here(data, at, end):
                pieces[found] = at + 1
                found += 1
        line_pieces[line + 1] = found
    pieces[found] = starts[lines]
    return pieces[: found + 1], line_pieces


@kernel
def _ends_here(data: NDArray[np.uint8], at: int, end: int) -> bool:
    """Whether the byte at `at` is the last of a mark that ends a sentence."""
    byte = data[at]
    if byte == STOP:
        return at + 1 >= end or data[at + 1] <= SPACE
    if byte in (EXCLAMATION, QUESTION, SEMICOLON):
        return True
    if byte == 0x82:  # 。
        return at >= 2 and data[at - 1] == 0x80 and data[at - 2] == 0xE3
    if byte in (0x81, 0x9F, 0x9B):  # ！ ？ ；
        return at >= 2 and data[at - 1] == 0xBC and data[at - 2] == 0xEF
    return False


@kernel
def dense_lines(
    data: NDArray[np.uint8], starts: NDArray[np.int64], tokens: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which lines are written in characters rather than words: those where at least half of the
    `tokens` of the line are Han, Kana or Thai by their first byte.
    """
    dense = np.zeros(len(starts) - 1, np.bool_)
    for line in range(len(dense)):
        characters = 0
        for at in range(starts[line], starts[line + 1]):
            byte = data[at]
            characters += 0xE3 <= byte <= 0xE9 or byte == 0xF0
            if byte == 0xE0 and at + 1 < starts[line + 1]:
                characters += 0xB8 <= data[at + 1] <= 0xBB
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
        for at in range(begin, end):
            text[filled] = data[at]
            filled += 1
        ends[number + 1] = filled
    return text[:filled], ends
