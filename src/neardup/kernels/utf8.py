"""UTF-8: is it valid, how damaged is it, and the code point at a place.

Letters per script.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.data import character_classes
from neardup.kernels.jit import borrowing_kernel, kernel

STRIDE = 32
REPLACEMENT = 0xFFFD


@borrowing_kernel
def code_point_at(data: NDArray[np.uint8], at: int, end: int) -> tuple[int, int]:
    """The code point that starts at `at`, and its bytes.

    For valid UTF-8. Other bytes give some code point within Unicode and stay before `end`.
    """
    lead = int(data[at])
    if lead < 0x80:
        return lead, 1
    if lead < 0xE0:
        if at + 1 < end:
            return (lead & 0x1F) << 6 | int(data[at + 1]) & 0x3F, 2
    elif lead < 0xF0:
        if at + 2 < end:
            second, third = int(data[at + 1]), int(data[at + 2])
            return (lead & 0x0F) << 12 | (second & 0x3F) << 6 | third & 0x3F, 3
    elif at + 3 < end:
        second, third = int(data[at + 1]), int(data[at + 2])
        high = (lead & 0x07) << 18 | (second & 0x3F) << 12 | (third & 0x3F) << 6
        code = high | int(data[at + 3]) & 0x3F
        if code <= 0x10FFFF:
            return code, 4
    return REPLACEMENT, 1


@borrowing_kernel
def sequence_length(data: NDArray[np.uint8], at: int, end: int) -> int:
    """Bytes of the character at `at` when it is valid UTF-8; else 0, or -1 when `end` cuts it."""
    lead = data[at]
    if lead < 0x80:
        return 1
    if lead < 0xC2 or lead > 0xF4:
        return 0
    size = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    lowest, highest = np.uint8(0x80), np.uint8(0xBF)
    if lead == 0xE0:
        lowest = np.uint8(0xA0)
    elif lead == 0xED:
        highest = np.uint8(0x9F)  # no surrogates
    elif lead == 0xF0:
        lowest = np.uint8(0x90)
    elif lead == 0xF4:
        highest = np.uint8(0x8F)
    for step in range(1, size):
        if at + step >= end:
            return -1
        byte = data[at + step]
        if byte < lowest or byte > highest:
            return 0
        lowest, highest = np.uint8(0x80), np.uint8(0xBF)
    return size


@borrowing_kernel
def skip_ascii(data: NDArray[np.uint8], at: int, end: int) -> int:
    """The next place from `at` on with a byte that is not ASCII, or `end`."""
    while at + STRIDE <= end:
        together = np.uint8(0)
        base = np.uint64(at)  # unsigned: no check for indices from the end, which bars vectors
        for step in range(STRIDE):  # the compiler makes one vector operation of it
            together |= data[base + np.uint64(step)]
        if together >= 0x80:
            break
        at += STRIDE
    while at < end and data[at] < 0x80:
        at += 1
    return at


@borrowing_kernel
def is_utf8(data: NDArray[np.uint8]) -> bool:
    """Whether the bytes are valid UTF-8."""
    at, end = 0, len(data)
    while True:
        at = skip_ascii(data, at, end)
        if at >= end:
            return True
        while at < end and data[at] >= 0x80:
            size = sequence_length(data, at, end)
            if size <= 0:
                return False
            at += size


@borrowing_kernel
def utf8_damage(data: NDArray[np.uint8]) -> tuple[int, int]:
    """How many characters of several bytes are whole, and how many bytes belong to no character.

    A character that the end of the data cuts is not counted as damage.
    """
    at, end = 0, len(data)
    whole, damaged = 0, 0
    while True:
        at = skip_ascii(data, at, end)
        if at >= end:
            return whole, damaged
        size = sequence_length(data, at, end)
        if size < 0:
            return whole, damaged
        whole += size > 0
        damaged += size == 0
        at += max(size, 1)


# The columns of `count_scripts`; the order is that of the shipped table.
SCRIPTS = (
    "Latin",
    "Han",
    "Kana",
    "Hangul",
    "Cyrillic",
    "Greek",
    "Arabic",
    "Hebrew",
    "Thai",
    "Devanagari",
    "other",
)
SCRIPT_BITS = 15


def count_scripts(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many letters of each script (`SCRIPTS`) each document of a UTF-8 buffer has."""
    index, pages = character_classes()
    return _count(data, offsets, index, pages)


@kernel
def _count(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    index: NDArray[np.uint16],
    pages: NDArray[np.uint8],
) -> NDArray[np.int64]:
    documents = len(offsets) - 1
    counts = np.zeros((documents, 16), np.int64)  # the last column is for what is no letter
    for document in range(documents):
        at, end = offsets[document], offsets[document + 1]
        row = counts[document]
        while at < end:
            if data[at] < 0x80:
                row[pages[data[at]] & SCRIPT_BITS] += 1
                at += 1
            else:
                code, size = code_point_at(data, at, end)
                row[pages[int(index[code >> 8]) << 8 | code & 255] & SCRIPT_BITS] += 1
                at += size
    return counts[:, :11].copy()
