"""Plain texts of a column as the scanner writes them: one line a block, white space collapsed.

A line end always ends a block, so lines are written one by one. Most of them are as they should be
and are copied: `_is_normal` looks at 64 bytes at a time. Only the others go through the scanner's
writer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import borrowing_kernel as kernel
from neardup.kernels.jit import inlined_kernel
from neardup.kernels.lines import newline_bits
from neardup.kernels.scan_bytes import Bytes
from neardup.kernels.scan_text import (
    BLANK,
    BLOCK_START,
    BLOCKS,
    CONTEXT,
    NEWLINE,
    POSITION,
    PREFORMATTED,
    STATE_SIZE,
    Marks,
    State,
    end_block,
    write_literal,
)
from neardup.kernels.text_bits import (
    BLOCK,
    Bits,
    between_bits,
    count_bits,
    equal_bits,
    next_set,
)

Offsets = NDArray[np.int64]


class NormalTexts(NamedTuple):
    """The text of some rows."""

    text: Bytes  # end to end
    ends: Offsets  # row n is text[ends[n]:ends[n + 1]]
    lines: Offsets  # as `ends`, among the lines
    lengths: Offsets  # of each row, in characters


def normal_texts(data: Bytes, offsets: Offsets) -> NormalTexts:
    """The texts, each line a block.

    Row n is `data[offsets[n]:offsets[n + 1]]`, UTF-8. Its text is that of `scan.scan_page`.
    """
    data, offsets = data[offsets[0] : offsets[-1]], offsets - offsets[0]
    text = np.empty(data.size + offsets.size, np.uint8)
    marks = np.empty(data.size // 2 + offsets.size, np.uint32)
    ends, lines, lengths = (np.zeros_like(offsets) for _ in range(3))
    state = np.zeros(STATE_SIZE, np.int64)
    state[CONTEXT] = PREFORMATTED
    _write_texts(data, offsets, newline_bits(data), text, marks, state, ends, lines, lengths)
    return NormalTexts(text[: ends[-1]], ends, lines, lengths[:-1])


@kernel
def _write_texts(
    data: Bytes,
    offsets: Offsets,
    newlines: Bits,
    text: Bytes,
    marks: Marks,
    state: State,
    ends: Offsets,
    lines: Offsets,
    lengths: Offsets,
) -> None:
    filled = blocks = 0
    for row in range(len(offsets) - 1):
        at, end, start = offsets[row], offsets[row + 1], filled
        while at < end:
            stop = next_set(newlines, at, end)
            if _is_normal(data, at, stop):
                _copy(data[at:stop], text[filled : filled + stop - at])
                filled += stop - at + 1
                text[filled - 1] = NEWLINE
                blocks += 1
            elif stop > at:
                state[POSITION] = state[BLOCK_START] = filled
                state[BLOCKS] = 0
                write_literal(data, at, stop, text, marks, state)
                end_block(text, marks, state)
                filled = state[POSITION]
                blocks += state[BLOCKS]
            at = stop + 1
        if filled > start:
            filled -= 1  # lines are joined by newlines, not ended by them
        ends[row + 1], lines[row + 1] = filled, blocks
        lengths[row] = _characters(text[start:filled])


@kernel
def _characters(text: Bytes) -> int:
    """How many bytes begin a character."""
    count, at = 0, 0
    while at + BLOCK <= len(text):
        count += BLOCK - count_bits(between_bits(text, at, np.uint8(0x80), np.uint8(0xBF)))
        at += BLOCK
    for byte in text[at:]:
        count += byte & 0xC0 != 0x80
    return count


@kernel
def _is_normal(data: Bytes, at: int, stop: int) -> bool:
    """Whether the scanner would write a line as it is; an empty one it does not write.

    The answer may be no for a line that is: for the last of the buffer, after which no block of
    bytes can be read, and for neighbours of the characters in question.
    """
    last = stop - 1
    if last < at or data[at] == BLANK or data[last] <= BLANK or data[last] == 127:
        return False
    while at < last:
        if at + BLOCK + 2 > len(data):
            return False
        odd = _odd(data, at)
        if last - at < BLOCK:
            odd &= (np.uint64(1) << np.uint64(last - at)) - np.uint64(1)
        if odd:
            return False
        at += BLOCK
    return True


@inlined_kernel
def _odd(data: Bytes, at: int) -> np.uint64:
    """Of 64 bytes, those where the scanner changes something: control characters, a blank before
    another, and wide characters that are white space or invisible."""
    odd = between_bits(data, at, np.uint8(0), np.uint8(BLANK - 1))
    odd |= equal_bits(data, at, np.uint8(127))
    blanks = equal_bits(data, at, np.uint8(BLANK))
    if blanks:
        odd |= blanks & equal_bits(data, at + 1, np.uint8(BLANK))
    if between_bits(data, at, np.uint8(128), np.uint8(255)):
        odd |= _odd_wide(data, at)
    return odd  # type: ignore[no-any-return]


@kernel
def _odd_wide(data: Bytes, at: int) -> np.uint64:
    """Of 64 bytes, the first of characters of several bytes that are white space or invisible
    (`scan_text._is_blank`, `_is_invisible`): all of these, and some of their neighbours."""
    odd = equal_bits(data, at, np.uint8(0xF3))
    first = equal_bits(data, at, np.uint8(0xC2))  # U+0080 to U+00A0, U+00AD
    if first:
        second = between_bits(data, at + 1, np.uint8(0), np.uint8(0xA0))
        odd |= first & (second | equal_bits(data, at + 1, np.uint8(0xAD)))
    first = equal_bits(data, at, np.uint8(0xE1))
    if first:
        second = equal_bits(data, at + 1, np.uint8(0x85)) | equal_bits(data, at + 1, np.uint8(0x9A))
        second |= equal_bits(data, at + 1, np.uint8(0x9E))
        odd |= first & (second | equal_bits(data, at + 1, np.uint8(0xA0)))
    first = equal_bits(data, at, np.uint8(0xE2))
    if first:
        third = between_bits(data, at + 2, np.uint8(0), np.uint8(0x8F))
        third |= between_bits(data, at + 2, np.uint8(0xA8), np.uint8(0xAF))
        odd |= first & equal_bits(data, at + 1, np.uint8(0x80)) & third
        third = between_bits(data, at + 2, np.uint8(0x9F), np.uint8(0xAF))
        odd |= first & equal_bits(data, at + 1, np.uint8(0x81)) & third
    first = equal_bits(data, at, np.uint8(0xE3))
    if first:
        second = equal_bits(data, at + 1, np.uint8(0x80))
        odd |= first & second & equal_bits(data, at + 2, np.uint8(0x80))
        second = equal_bits(data, at + 1, np.uint8(0x85))
        odd |= first & second & equal_bits(data, at + 2, np.uint8(0xA4))
    first = equal_bits(data, at, np.uint8(0xEF))
    if first:
        second = equal_bits(data, at + 1, np.uint8(0xB8)) | equal_bits(data, at + 1, np.uint8(0xBB))
        second |= between_bits(data, at + 1, np.uint8(0xBE), np.uint8(0xBF))
        odd |= first & second
    return odd  # type: ignore[no-any-return]


@kernel
def _copy(some: Bytes, to: Bytes) -> None:
    for at in range(len(some)):  # the compiler makes vector operations of it
        to[at] = some[at]
