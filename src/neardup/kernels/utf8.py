"""UTF-8: reading and writing code points, and whether bytes are valid.

A character is one byte below 0x80, or a lead byte and one to three continuation bytes:

    code points      bytes
    up to 7F         0xxxxxxx
    up to 7FF        110xxxxx 10xxxxxx
    up to FFFF       1110xxxx 10xxxxxx 10xxxxxx
    up to 10FFFF     11110xxx 10xxxxxx 10xxxxxx 10xxxxxx
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.jit import Bytes, Numbers, borrowing_kernel, inlined_kernel
from neardup.kernels.text_bits import BLOCK, between_bits, count_bits, equal_bits

STRIDE = 32  # bytes that are checked at once for being ASCII
REPLACEMENT = 0xFFFD


@borrowing_kernel
def code_point_at(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """The code point that starts at `at`, and how many bytes it has.

    For valid UTF-8. Other bytes give some code point within Unicode, and no byte from `end` on is
    read: tables can be indexed with the result unchecked.
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
def write_code_point(out: Bytes, at: int, code: int) -> int:
    """Write a code point at `at`; the place after it."""
    if code < 0x80:
        out[at] = code
        return at + 1
    if code < 0x800:
        out[at] = 0xC0 | code >> 6
        out[at + 1] = 0x80 | code & 0x3F
        return at + 2
    if code < 0x10000:
        out[at] = 0xE0 | code >> 12
        out[at + 1] = 0x80 | code >> 6 & 0x3F
        out[at + 2] = 0x80 | code & 0x3F
        return at + 3
    out[at] = 0xF0 | code >> 18
    out[at + 1] = 0x80 | code >> 12 & 0x3F
    out[at + 2] = 0x80 | code >> 6 & 0x3F
    out[at + 3] = 0x80 | code & 0x3F
    return at + 4


@borrowing_kernel
def sequence_length(data: Bytes, at: int, end: int) -> int:
    """Bytes of the character at `at` when it is valid UTF-8; else 0, or -1 when `end` cuts it."""
    lead = data[at]
    if lead < 0x80:
        return 1
    if lead < 0xC2 or lead > 0xF4:
        return 0
    size = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    # The second byte has a narrower range after four leads (Unicode, table 3-7).
    lowest, highest = np.uint8(0x80), np.uint8(0xBF)
    if lead == 0xE0:
        lowest = np.uint8(0xA0)  # below it two bytes would do
    elif lead == 0xED:
        highest = np.uint8(0x9F)  # no surrogates
    elif lead == 0xF0:
        lowest = np.uint8(0x90)  # below it three bytes would do
    elif lead == 0xF4:
        highest = np.uint8(0x8F)  # Unicode ends at 10FFFF
    for step in range(1, size):
        if at + step >= end:
            return -1
        byte = data[at + step]
        if byte < lowest or byte > highest:
            return 0
        lowest, highest = np.uint8(0x80), np.uint8(0xBF)
    return size


@borrowing_kernel
def skip_ascii(data: Bytes, at: int, end: int) -> int:
    """The first place from `at` on whose byte is not ASCII, or `end`."""
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
def is_utf8(data: Bytes) -> bool:
    """Whether the bytes are valid UTF-8."""
    return is_sound(data, 0, len(data))


@borrowing_kernel
def is_sound(data: Bytes, at: int, end: int) -> bool:
    """Whether data[at:end] is valid UTF-8; 64 bytes at a time, the last of them one by one.

    Every lead byte asks for continuation bytes in the one to three places after it. The bytes are
    valid if those are where the continuation bytes are, none is of no character, and none after
    four leads is out of the narrower range that they ask for (Unicode, table 3-7).
    """
    asked = np.uint64(0)  # continuation bytes that the block before asks for
    while at + BLOCK < end:  # one byte more than a block: second bytes may be behind it
        high = between_bits(data, at, np.uint8(0x80), np.uint8(0xFF))
        if high | asked:
            pairs = between_bits(data, at, np.uint8(0xC2), np.uint8(0xDF))
            triples = between_bits(data, at, np.uint8(0xE0), np.uint8(0xEF))
            fours = between_bits(data, at, np.uint8(0xF0), np.uint8(0xF4))
            rest = between_bits(data, at, np.uint8(0x80), np.uint8(0xBF))
            first, second, third = pairs | triples | fours, triples | fours, fours
            asked |= first << np.uint64(1) | second << np.uint64(2) | third << np.uint64(3)
            if asked != rest or high != (first | rest) or _is_narrower(data, at, fours):
                return False
            asked = first >> np.uint64(63) | second >> np.uint64(62) | third >> np.uint64(61)
        at += BLOCK
    if asked:  # back to the first byte of the character across the border
        at -= 1
        while (data[at] & 0xC0) == 0x80:
            at -= 1
    while at < end:
        size = sequence_length(data, at, end)
        if size <= 0:
            return False
        at += size
    return True


@inlined_kernel
def _is_narrower(data: Bytes, at: int, fours: np.uint64) -> bool:
    """Whether a second byte among those from `at` + 1 on would make a character too long for its
    bytes (after E0 and F0), a surrogate (ED) or one beyond Unicode (F4)."""
    wrong = np.uint64(0)
    leads = equal_bits(data, at, np.uint8(0xE0))
    if leads:
        wrong |= leads & between_bits(data, at + 1, np.uint8(0x80), np.uint8(0x9F))
    leads = equal_bits(data, at, np.uint8(0xED))
    if leads:
        wrong |= leads & between_bits(data, at + 1, np.uint8(0xA0), np.uint8(0xBF))
    if fours:
        leads = equal_bits(data, at, np.uint8(0xF0))
        wrong |= leads & between_bits(data, at + 1, np.uint8(0x80), np.uint8(0x8F))
        leads = equal_bits(data, at, np.uint8(0xF4))
        wrong |= leads & between_bits(data, at + 1, np.uint8(0x90), np.uint8(0xBF))
    return bool(wrong)


def character_counts(data: Bytes, ends: Numbers) -> Numbers:
    """How many characters each text of valid UTF-8 has; text t is data[ends[t]:ends[t + 1]]."""
    counts = np.empty(len(ends) - 1, np.int64)
    _count_characters(data, ends, counts)
    return counts


@borrowing_kernel
def _count_characters(data: Bytes, ends: Numbers, counts: Numbers) -> None:
    for text in range(len(counts)):
        at, end = ends[text], ends[text + 1]
        count = end - at
        while at + BLOCK <= end:
            count -= count_bits(between_bits(data, at, np.uint8(0x80), np.uint8(0xBF)))
            at += BLOCK
        while at < end:
            count -= (data[at] & 0xC0) == 0x80
            at += 1
        counts[text] = count


@borrowing_kernel
def utf8_damage(data: Bytes) -> tuple[int, int]:
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
