"""Texts as JSON writes them: in quotes, with as few escapes as may be, or as their difference from
similar ones; and JSON read so far as to say how much of it there is.

What must be escaped is a quote, a backslash and the control characters below a space; all else
stands as it is, as `json.dumps(text, ensure_ascii=False)` has it.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.jit import Bytes, Numbers, kernel
from neardup.kernels.memory import Addresses, bytes_at

QUOTE, BACKSLASH, SPACE = 34, 92, 32
OPEN_LIST, OPEN_OBJECT, COMMA = 91, 123, 44
LONGEST_ESCAPE = 6  # \u001f

# What stands behind the backslash; 0 for a character that is written by its number.
SHORT_ESCAPES = np.zeros(SPACE, np.uint8)
SHORT_ESCAPES[[8, 9, 10, 12, 13]] = list(b"btnfr")
DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8).copy()


@kernel
def quoted_texts(addresses: Addresses, sizes: Numbers, before: Bytes) -> tuple[Bytes, Numbers]:
    """`(data, offsets)`: each text in quotes, with `before` before it; nothing where the size is
    below 0."""
    room = 0
    for number in range(len(sizes)):
        if sizes[number] >= 0:
            text = bytes_at(addresses[number], sizes[number])
            room += len(before) + 2 + len(text) + (LONGEST_ESCAPE - 1) * _special(text)
    data = np.empty(room, np.uint8)
    offsets = np.zeros(len(sizes) + 1, np.int64)
    filled = 0
    for number in range(len(sizes)):
        if sizes[number] >= 0:
            text = bytes_at(addresses[number], sizes[number])
            filled = _copy(data, filled, before)
            data[filled] = QUOTE
            filled += 1
            filled = _escape(data, filled, text) if _special(text) else _copy(data, filled, text)
            data[filled] = QUOTE
            filled += 1
        offsets[number + 1] = filled
    return data[:filled], offsets


@kernel
def _special(text: Bytes) -> int:
    """How many bytes must be escaped."""
    count = 0
    for byte in text:
        count += (byte < SPACE) | (byte == QUOTE) | (byte == BACKSLASH)
    return count


@kernel
def _copy(data: Bytes, at: int, text: Bytes) -> int:
    for byte in text:
        data[at] = byte
        at += 1
    return at


@kernel
def _escape(data: Bytes, at: int, text: Bytes) -> int:
    for byte in text:
        if byte >= SPACE and byte not in (QUOTE, BACKSLASH):
            data[at] = byte
            at += 1
            continue
        data[at] = BACKSLASH
        if byte >= SPACE:
            data[at + 1] = byte
        elif SHORT_ESCAPES[byte]:
            data[at + 1] = SHORT_ESCAPES[byte]
        else:
            data[at + 1] = 117  # u
            data[at + 2] = data[at + 3] = 48  # 0
            data[at + 4] = DIGITS[byte >> 4]
            data[at + 5] = DIGITS[byte & 15]
            at += 4
        at += 2
    return at


WORTH_SHORTENING = 10  # shared characters from which a difference is shorter than the text
CONTINUES = 0x80  # the high bits of the bytes of a character after its first
FOUR_BYTES = 0xF0  # the first byte of a character that JavaScript counts as two


@kernel
def shared_ends(
    texts: Bytes, offsets: Numbers, others: Bytes, other_offsets: Numbers
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """What each text shares with the other one: characters at the start, characters at the end, the
    first byte between them, and the number of bytes between them, -1 if the texts are equal.

    Texts that share little, or that have characters of four bytes, count as sharing nothing.
    """
    count = len(offsets) - 1
    starts, ends = np.zeros(count, np.int64), np.zeros(count, np.int64)
    firsts, sizes = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for number in range(count):
        text = texts[offsets[number] : offsets[number + 1]]
        other = others[other_offsets[number] : other_offsets[number + 1]]
        start = _shared_start(text, other)
        sizes[number] = len(text)
        if start == len(text) == len(other):
            sizes[number] = -1
            continue
        end = _shared_end(text, other, min(len(text), len(other)) - start)
        before, after = _characters(text[:start]), _characters(text[len(text) - end :])
        if before + after >= WORTH_SHORTENING and _is_short(text) and _is_short(other):
            starts[number], ends[number] = before, after
            firsts[number], sizes[number] = start, len(text) - start - end
    return starts, ends, firsts, sizes


@kernel
def _shared_start(text: Bytes, other: Bytes) -> int:
    """Bytes of whole characters."""
    most, at = min(len(text), len(other)), 0
    while at < most and text[at] == other[at]:
        at += 1
    while at > 0 and (_is_within(text, at) or _is_within(other, at)):
        at -= 1
    return at


@kernel
def _shared_end(text: Bytes, other: Bytes, most: int) -> int:
    count = 0
    while count < most and text[len(text) - 1 - count] == other[len(other) - 1 - count]:
        count += 1
    while count > 0 and _is_within(text, len(text) - count):
        count -= 1
    return count


@kernel
def _is_within(text: Bytes, at: int) -> bool:
    """Whether a character goes on at this byte."""
    return at < len(text) and text[at] & 0xC0 == CONTINUES


@kernel
def _characters(text: Bytes) -> int:
    count = 0
    for byte in text:
        count += byte & 0xC0 != CONTINUES
    return count


@kernel
def _is_short(text: Bytes) -> bool:
    """Whether no character has four bytes."""
    for byte in text:
        if byte >= FOUR_BYTES:
            return False
    return True


@kernel
def count_values(data: Bytes) -> int:
    """How many values JSON text has at most: brackets that open and commas, outside of texts."""
    count, inside, at = 1, False, 0
    while at < len(data):
        byte = data[at]
        if inside:
            if byte == BACKSLASH:
                at += 1  # what it escapes is no quote
            elif byte == QUOTE:
                inside = False
        elif byte == QUOTE:
            inside = True
        elif byte in (OPEN_LIST, OPEN_OBJECT, COMMA):
            count += 1
        at += 1
    return count
