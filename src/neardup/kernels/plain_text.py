"""Plain texts of a column as the scanner writes them: one line a block, white space collapsed.

A line end always ends a block, so lines are written one by one. Most of them are as they should be
and are copied: `_is_normal` tells at several gigabytes a second, because the compiler makes vector
operations of it. Only the others go through the scanner's writer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import borrowing_kernel as kernel
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
from neardup.kernels.text_bits import Bits, next_set

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
            line = data[at:stop]
            if _is_normal(line):
                _copy(line, text[filled : filled + len(line)])
                filled += len(line) + 1
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
    count = 0
    for at in range(len(text)):
        count += text[at] & 0xC0 != 0x80
    return count


@kernel
def _is_normal(line: Bytes) -> bool:
    """Whether the scanner would write a line as it is; an empty one it does not write."""
    last = len(line) - 1
    if last < 0 or line[0] == BLANK or line[last] <= BLANK or line[last] == 127:
        return False
    odd, every = False, np.uint8(0)
    for at in range(last):
        first, second = line[at], line[at + 1]
        every |= first
        odd |= (first < BLANK) | (first == 127)
        odd |= (first == BLANK) & (second == BLANK)
        odd |= (first == 0xC2) & ((second <= 0xA0) | (second == 0xAD))  # U+0080 to U+00A0, U+00AD
    return not (odd or (every > 127 and _may_have_blank(line)))


@kernel
def _may_have_blank(line: Bytes) -> bool:
    """Whether there may be a character of three bytes or more that is white space or invisible
    (`scan_text._is_blank`, `_is_invisible`): all of these, and some of their neighbours."""
    odd = False
    for at in range(len(line) - 2):
        first, second, third = line[at], line[at + 1], line[at + 2]
        general = (third <= 0x8F) | ((third >= 0xA8) & (third <= 0xAF))
        odd |= (first == 0xE2) & (second == 0x80) & general
        odd |= (first == 0xE2) & (second == 0x81) & (third >= 0x9F) & (third <= 0xAF)
        odd |= (first == 0xE3) & (second == 0x80) & (third == 0x80)
        odd |= (first == 0xE3) & (second == 0x85) & (third == 0xA4)
        odd |= (first == 0xE1) & ((second == 0x85) | (second == 0x9A))
        odd |= (first == 0xE1) & ((second == 0x9E) | (second == 0xA0))
        odd |= (first == 0xEF) & ((second == 0xB8) | (second == 0xBB))
        odd |= (first == 0xEF) & ((second == 0xBE) | (second == 0xBF))
        odd |= first == 0xF3
    return odd


@kernel
def _copy(some: Bytes, to: Bytes) -> None:
    for at in range(len(some)):  # the compiler makes vector operations of it
        to[at] = some[at]
