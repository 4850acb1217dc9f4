# ruff: noqa: PLR1714 - compiled: comparisons, not tuples to search
"""Writing text: white space collapsed, one line a block, and what each block is.

The state of the writer is an array of integers (`POSITION` ... ), so that every step of the
scanner can be a function of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.entities import decode_reference
from neardup.kernels.jit import borrowing_kernel as kernel
from neardup.kernels.jit import inlined_kernel
from neardup.kernels.scan_bytes import Bytes, after_space, white_bits
from neardup.kernels.text_bits import (
    BLOCK,
    between_bits,
    copy_block,
    count_bits,
    equal_bits,
    lowest_bit,
)
from neardup.kernels.utf8 import write_code_point

State = NDArray[np.int64]
Marks = NDArray[np.uint32]  # kind, region and link share of a block, in one number each

# The state of the writer.
POSITION = 0  # where the next byte of text goes
BLOCK_START = 1  # where the open block began
BLOCKS = 2  # how many blocks are written
SPACE = 3  # whether white space is due before the next character
WIDE = 4  # how many wide spaces are in that white space
LINK_START = 5  # where the part of the open block inside the open link began
LINK_CHARACTERS = 6  # characters of the open block in links that are closed
CONTEXT = 7  # the bits below
DEPTH = 8  # open elements, see scan_tree
SCOPE_AT = 9
SPECIAL_AT = 10
ITEM_AT = 11
TABLES = 12
IMAGES = 13
ANCHORS = 14
REVEALED = 15  # facts that hide an element and are not believed
PIECES = 16  # how many are noted, see scan_assembly
WATCHED = 17
LOWEST = 18
WATCHED_PIECE = 19  # the piece that ends with the element at WATCHED
BOUNDARY_AT = 20  # the innermost boundary that is open
MOVES = 21  # pieces that a browser shows elsewhere
CALLS = 22  # that move pieces
SCRIPTS = 23  # scripts that are no data
INNERMOST = 24  # from here on, for each element, its innermost open frame
STATE_SIZE = INNERMOST + 256

# The context that text stands in. Kind and region are as in `model`.
SKIPPED = 1
PREFORMATTED = 2
FOREIGN = 4
LINK = 8  # in a link that began since the last table cell or the like
OUTER_LINK = 16  # in a link around that
KIND_SHIFT, KIND_MASK = 8, 15
REGION_SHIFT, REGION_MASK = 12, 7

# How a mark is put together. The share has the 24 bits that a float32 holds.
MARK_REGION_SHIFT, SHARE_SHIFT, WHOLE = 4, 7, (1 << 24) - 1

NEWLINE, BLANK = 10, 32
LAST_BIT = np.uint64(1 << 63)
INDENT = 2  # wide spaces that begin a paragraph

# Classes of bytes.
PLAIN, WHITE, DROPPED, LEAD, MARKUP = range(5)
CLASS = np.zeros(256, np.uint8)
CLASS[:32] = DROPPED
CLASS[127] = DROPPED
CLASS[[9, 10, 12, 13, 32]] = WHITE
CLASS[[0xC2, 0xE1, 0xE2, 0xE3, 0xEF, 0xF3]] = LEAD  # of what may be white space or invisible
CLASS[[0x26, 0x3C]] = MARKUP


@inlined_kernel
def end_block(text: Bytes, marks: Marks, state: State) -> None:
    """Close the open block, if it has any text."""
    state[SPACE] = 0
    state[WIDE] = 0
    if state[POSITION] > state[BLOCK_START]:
        _write_mark(text, marks, state)


@kernel
def _write_mark(text: Bytes, marks: Marks, state: State) -> None:
    """Note what the open block is, and end its line."""
    position, start = state[POSITION], state[BLOCK_START]
    context = state[CONTEXT]
    linked = state[LINK_CHARACTERS]
    if context & (LINK | OUTER_LINK):
        linked += count_characters(text, state[LINK_START], position)
    number = state[BLOCKS]
    kind = (context >> KIND_SHIFT) & KIND_MASK
    region = (context >> REGION_SHIFT) & REGION_MASK
    share = 0
    if linked:
        share = np.int64(linked * WHOLE / count_characters(text, start, position))
    marks[number] = share << SHARE_SHIFT | region << MARK_REGION_SHIFT | kind
    text[position] = NEWLINE
    state[POSITION] = position + 1
    state[BLOCK_START] = position + 1
    state[BLOCKS] = number + 1
    state[LINK_CHARACTERS] = 0
    state[LINK_START] = position + 1


@inlined_kernel
def enter_link(state: State) -> None:
    """Text from here on is inside a link."""
    if not state[CONTEXT] & (LINK | OUTER_LINK):
        state[LINK_START] = state[POSITION]
    state[CONTEXT] |= LINK


@inlined_kernel
def set_context(text: Bytes, state: State, context: int) -> None:
    """Change the context; what was written in a link that ends now is counted."""
    before = state[CONTEXT] & (LINK | OUTER_LINK)
    now = context & (LINK | OUTER_LINK)
    if before and not now:
        state[LINK_CHARACTERS] += count_characters(text, state[LINK_START], state[POSITION])
    elif now and not before:
        state[LINK_START] = state[POSITION]
    state[CONTEXT] = context


@kernel
def count_characters(text: Bytes, start: int, end: int) -> int:
    """Characters other than spaces in a piece of valid UTF-8."""
    count = end - start
    while start < end and start + BLOCK <= len(text):
        others = equal_bits(text, start, np.uint8(BLANK))
        others |= between_bits(text, start, np.uint8(0x80), np.uint8(0xBF))
        if end - start < BLOCK:
            others &= (np.uint64(1) << np.uint64(end - start)) - np.uint64(1)
        count -= count_bits(others)
        start += BLOCK
    for i in range(start, end):
        count -= text[i] == BLANK or (text[i] & 0xC0) == 0x80
    return count


@inlined_kernel
def write_text(data: Bytes, i: int, end: int, text: Bytes, marks: Marks, state: State) -> int:
    """Write text from i up to the next `<` or `&`, or `end`; where that is."""
    while i < end:
        kind = CLASS[data[i]]
        if kind == MARKUP:
            return i
        if kind == WHITE:
            state[SPACE] = 1
            if not state[CONTEXT] & PREFORMATTED:
                i = after_white(data, i + 1, end)
                continue
            if data[i] == 10 or data[i] == 13:
                end_block(text, marks, state)
                state[SPACE] = 1
            i += 1
        elif kind == PLAIN:
            position = _before_character(text, marks, state)
            i, state[POSITION] = _copy_plain(data, i, end, text, position)
        elif kind == LEAD:
            i = _write_lead(data, i, end, text, marks, state)
        else:
            i += 1
    return i


@inlined_kernel
def after_white(data: Bytes, i: int, end: int) -> int:
    """As `after_space`, for where there may be much of it."""
    while i + BLOCK <= end:
        others = ~white_bits(data, i)
        if others:
            place: int = i + lowest_bit(others)
            return place
        i += BLOCK
    return after_space(data, i, end)


@inlined_kernel
def _copy_plain(data: Bytes, i: int, end: int, text: Bytes, to: int) -> tuple[int, int]:
    """Copy plain characters, with single blanks between them, which need no collapsing; the places
    after them in both.

    Whole blocks are copied: what is to be written from `i` on has room for as many bytes.
    """
    while i + BLOCK <= end:
        others = _others(data, i)
        blanks = equal_bits(data, i, np.uint8(BLANK))
        # Of a blank that ends the block nobody knows what follows, so it is due white space.
        others |= blanks & ((others | blanks) >> np.uint64(1) | LAST_BIT)
        copy_block(data, i, text, to)
        size = lowest_bit(others)
        i, to = i + size, to + size
        if size < BLOCK:
            return i, to
    while i < end and (CLASS[data[i]] == PLAIN or _is_single_blank(data, i, end)):
        text[to] = data[i]
        i, to = i + 1, to + 1
    return i, to


@inlined_kernel
def _others(data: Bytes, at: int) -> np.uint64:
    """Of 64 bytes, those that are neither plain nor a blank."""
    others = between_bits(data, at, np.uint8(0), np.uint8(BLANK - 1))
    others |= equal_bits(data, at, np.uint8(0x26)) | equal_bits(data, at, np.uint8(0x3C))
    others |= equal_bits(data, at, np.uint8(127))
    if between_bits(data, at, np.uint8(128), np.uint8(255)):
        others |= equal_bits(data, at, np.uint8(0xC2))
        others |= between_bits(data, at, np.uint8(0xE1), np.uint8(0xE3))
        others |= equal_bits(data, at, np.uint8(0xEF)) | equal_bits(data, at, np.uint8(0xF3))
    return others


@inlined_kernel
def _is_single_blank(data: Bytes, i: int, end: int) -> bool:
    """Whether a space between two plain characters is at i: it needs no collapsing."""
    return data[i] == BLANK and i + 1 < end and CLASS[data[i + 1]] == PLAIN


@inlined_kernel
def _before_character(text: Bytes, marks: Marks, state: State) -> int:
    """Settle the white space that is due, and give the place of the next character."""
    if state[SPACE]:
        if state[WIDE] >= INDENT:
            end_block(text, marks, state)
        elif state[POSITION] > state[BLOCK_START]:
            text[state[POSITION]] = BLANK
            state[POSITION] += 1
        state[SPACE] = 0
        state[WIDE] = 0
    return state[POSITION]


@kernel
def _write_lead(data: Bytes, i: int, end: int, text: Bytes, marks: Marks, state: State) -> int:
    """A character of several bytes that may be white space or invisible; the place after it."""
    first = np.int64(data[i])
    size = 2 if first == 0xC2 else 4 if first == 0xF3 else 3
    if i + size > end:
        return end  # not UTF-8: the character is cut
    code = (first & 0x1F) << 6 | np.int64(data[i + 1]) & 0x3F
    if size == 3:
        code = (first & 0x0F) << 12 | (np.int64(data[i + 1]) & 0x3F) << 6
        code |= np.int64(data[i + 2]) & 0x3F
    elif size == 4:
        code = (first & 0x07) << 18 | (np.int64(data[i + 1]) & 0x3F) << 12
        code |= (np.int64(data[i + 2]) & 0x3F) << 6 | np.int64(data[i + 3]) & 0x3F
    if not (_is_blank(code, state) or _is_invisible(code, text, state)):
        position = _before_character(text, marks, state)
        for k in range(size):
            text[position + k] = data[i + k]
        state[POSITION] = position + size
    return i + size


@kernel
def _is_blank(code: int, state: State) -> bool:
    """Whether a character beyond ASCII is white space, which is noted as due."""
    if code == 0x3000 or code == 0x2003:
        state[WIDE] += 1
        state[SPACE] = 1
        return True
    if (
        code == 0xA0
        or code == 0x85
        or 0x2000 <= code <= 0x200A
        or 0x2028 <= code <= 0x2029
        or code == 0x202F
        or code == 0x205F
        or code == 0x1680
    ):
        state[SPACE] = 1
        return True
    return False


@kernel
def _is_invisible(code: int, text: Bytes, state: State) -> bool:
    """Whether a character beyond ASCII, no white space, shows nothing where it stands.

    Joiners and variation selectors shape the letters of some scripts, and emoji: they stay after
    these. Anywhere else they only keep equal words from being equal.
    """
    if code == 0x200C or code == 0x200D or 0xFE00 <= code <= 0xFE0F:
        return not _takes_joiners(text, state)
    return (
        0x80 <= code <= 0x9F
        or code == 0xAD  # soft hyphen
        or code == 0x200B
        or code == 0xFEFF
        or 0x200E <= code <= 0x200F  # direction marks and the like
        or 0x202A <= code <= 0x202E
        or 0x2060 <= code <= 0x206F
        or 0x180B <= code <= 0x180F  # of Mongolian
        or 0x115F <= code <= 0x1160  # fillers of Hangul and Khmer
        or 0x17B4 <= code <= 0x17B5
        or code == 0x3164
        or code == 0xFFA0
        or 0xFFF0 <= code <= 0xFFFB
        or 0xE0000 <= code <= 0xE0FFF  # tags, and more variation selectors
    )


@kernel
def _takes_joiners(text: Bytes, state: State) -> bool:
    """Whether the character before this one is of a script with joiners, an emoji or a symbol."""
    last = state[POSITION] - 1
    if state[SPACE] or last < state[BLOCK_START]:
        return False
    first = last
    while text[first] & 0xC0 == 0x80:
        first -= 1
    lead = text[first]
    if lead == 0xE1:  # Khmer, Mongolian ...; Latin and Greek from U+1E00 on
        return bool(text[first + 1] < 0xB8)
    if lead == 0xE2:  # symbols; punctuation before U+2190
        return bool(text[first + 1] >= 0x86)
    if lead == 0xEF:  # one of these selectors
        return bool(text[first + 1] == 0xB8 and text[last] <= 0x8F)
    return bool(0xD8 <= lead <= 0xE0 or lead == 0xF0)  # Arabic to Indic, emoji


@kernel
def write_character(code: int, text: Bytes, marks: Marks, state: State) -> None:
    """Write one character by its code point."""
    if code < 128 and CLASS[code] != PLAIN and CLASS[code] != MARKUP:
        if CLASS[code] == WHITE:
            if state[CONTEXT] & PREFORMATTED and (code == 10 or code == 13):
                end_block(text, marks, state)
            state[SPACE] = 1
        return
    if code >= 128 and (_is_blank(code, state) or _is_invisible(code, text, state)):
        return
    at = _before_character(text, marks, state)
    state[POSITION] = write_code_point(text, at, code)


@kernel
def write_reference(data: Bytes, i: int, end: int, text: Bytes, marks: Marks, state: State) -> int:
    """Write what the character reference at i stands for; the place after it."""
    first, second, after = decode_reference(data, i, end)
    write_character(first, text, marks, state)
    if second:
        write_character(second, text, marks, state)
    return after


@kernel
def write_literal(data: Bytes, i: int, end: int, text: Bytes, marks: Marks, state: State) -> None:
    """Write data[i:end] with no markup in it: `<` and `&` are themselves."""
    while i < end:
        i = write_text(data, i, end, text, marks, state)
        if i < end:
            write_character(np.int64(data[i]), text, marks, state)
            i += 1


@kernel
def write_attribute(data: Bytes, i: int, end: int, text: Bytes, marks: Marks, state: State) -> None:
    """Write data[i:end] with references but no tags in it, as words of their own."""
    state[SPACE] = 1
    while i < end:
        i = write_text(data, i, end, text, marks, state)
        if i < end and data[i] == 38:
            i = write_reference(data, i, end, text, marks, state)
        elif i < end:
            write_character(np.int64(data[i]), text, marks, state)
            i += 1
    state[SPACE] = 1
