# ruff: noqa: PLR1714 - compiled: comparisons, not tuples to search
"""JSON lines: the fields of many lines as columns, without a Python object per line.

One pass over the bytes of a block. The strings of the fields that are asked for are written, with
their escapes resolved, to one column each; all else is only checked. A line counts as read only if
it is JSON beyond doubt, and plain: no number that is an id but not an integer, no lone surrogate,
no field twice, nothing nested deeper than `DEPTH`. Any other line is `ODD`: the caller reads it
with Python's own parser, which says what is wrong with it, if anything.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import Bytes, Numbers, borrowing_kernel, inlined_kernel
from neardup.kernels.text_bits import (
    ALL,
    BLOCK,
    between_bits,
    copy_block,
    count_bits,
    equal_bits,
    lowest_bit,
)
from neardup.kernels.utf8 import is_sound, write_code_point

PADDING = BLOCK  # bytes after the lines that may be read, whatever they are
HTML, TEXT, ID, URL, TITLE, TIME = range(6)  # the fields, in the order of their names
FIELDS = 6
BODY = 0  # html and text share a column
READ, BLANK, ODD = 0, 1, 2  # what became of a line
ABSENT, STRING, INTEGER, NUMBER = 0, 1, 2, 3  # what a field is; ABSENT for other types, too
DEPTH = 32
DIGITS = 18  # of an integer that is its own text

QUOTE, BACKSLASH, COLON, COMMA, MINUS, DOT, NEWLINE, SPACE = 34, 92, 58, 44, 45, 46, 10, 32
OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST = 123, 125, 91, 93
LETTER_U = 117
NONE = np.uint64(0)
_ESCAPED = np.zeros(256, np.uint8)
for _letter, _meaning in zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True):
    _ESCAPED[_letter] = _meaning
_HEX = np.full(256, 255, np.uint8)
for _digit in b"0123456789abcdefABCDEF":
    _HEX[_digit] = int(chr(_digit), 16)


Columns = tuple[Bytes, Bytes, Bytes, Bytes, Bytes]


class Lines(NamedTuple):
    """What was read. Column 0 is the body, column n field n + 1."""

    status: Bytes  # of each line
    starts: Numbers  # of each line, and the end of the last
    kinds: NDArray[np.uint8]  # of each line and field
    is_html: NDArray[np.bool_]
    columns: Columns
    ends: NDArray[np.int64]  # ends[column, line + 1] is where the line's value ends in the column


@borrowing_kernel
def count_lines(data: Bytes, end: int) -> int:
    """How many lines data[:end] has, after which `PADDING` bytes stand; the last need not end."""
    count, at = 0, 0
    while at + BLOCK <= end:
        count += count_bits(equal_bits(data, at, np.uint8(NEWLINE)))
        at += BLOCK
    while at < end:
        count += data[at] == NEWLINE
        at += 1
    return count + (end > 0 and data[end - 1] != NEWLINE)


def read_lines(data: Bytes, end: int, count: int, names: tuple[bytes, ...]) -> Lines:
    """The fields of the `count` lines in data[:end], after which `PADDING` bytes stand.

    `names` are those of `HTML` to `TIME`; an empty name is of no field.
    """
    body, identity, url, title, time = (np.empty(end + BLOCK, np.uint8) for _ in range(FIELDS - 1))
    lines = Lines(
        np.empty(count, np.uint8),
        np.zeros(count + 1, np.int64),
        np.zeros((count, FIELDS), np.uint8),
        np.zeros(count, np.bool_),
        (body, identity, url, title, time),
        np.zeros((FIELDS - 1, count + 1), np.int64),
    )
    text = np.frombuffer(b"".join(names), np.uint8)
    ends = np.cumsum([0, *map(len, names)])
    stack = np.empty(DEPTH, np.uint8)
    _read_lines(data, end, text, ends, stack, *lines)
    return lines


@borrowing_kernel
def _read_lines(
    data: Bytes,
    end: int,
    names: Bytes,
    name_ends: Numbers,
    stack: Bytes,
    status: Bytes,
    starts: Numbers,
    kinds: NDArray[np.uint8],
    is_html: NDArray[np.bool_],
    columns: Columns,
    ends: NDArray[np.int64],
) -> None:
    all_sound = is_sound(data, 0, end)
    at = 0
    for line in range(len(status)):
        stop = at
        while stop < end:
            found = equal_bits(data, stop, np.uint8(NEWLINE))
            if found:
                stop += lowest_bit(found)
                break
            stop += BLOCK
        stop = min(stop, end)
        starts[line] = at
        start = _after_space(data, at, stop)
        for column in range(FIELDS - 1):
            ends[column, line + 1] = ends[column, line]
        if start == stop:
            status[line] = BLANK
        elif (all_sound or is_sound(data, at, stop)) and _read_object(
            data, start, stop, names, name_ends, stack, kinds[line], is_html, line, columns, ends
        ):
            status[line] = READ
        else:
            status[line] = ODD
            kinds[line, :] = ABSENT
            for column in range(FIELDS - 1):
                ends[column, line + 1] = ends[column, line]
        at = stop + 1
    starts[len(status)] = end


@borrowing_kernel
def _read_object(
    data: Bytes,
    at: int,
    end: int,
    names: Bytes,
    name_ends: Numbers,
    stack: Bytes,
    kinds: Bytes,
    is_html: NDArray[np.bool_],
    line: int,
    columns: Columns,
    ends: NDArray[np.int64],
) -> bool:
    """Read the object at `at`, which ends the line; False if it is odd, and no page of its own."""
    if data[at] != OPEN_OBJECT:
        return False
    at = _after_space(data, at + 1, end)
    if at < end and data[at] == CLOSE_OBJECT:
        return False  # empty: no page
    while True:
        if at >= end or data[at] != QUOTE:
            return False
        close = _string_end(data, at + 1, end)
        if close < 0:
            return False
        field = _field(data, at + 1, close, names, name_ends)
        at = _after_space(data, close + 1, end)
        if at >= end or data[at] != COLON:
            return False
        at = _after_space(data, at + 1, end)
        if at >= end:
            return False
        if field < 0:
            at = _after_value(data, at, end, stack)
        elif kinds[field] != ABSENT:
            return False  # a field twice: the last one counts
        else:
            at = _read_field(data, at, end, field, stack, kinds, is_html, line, columns, ends)
        if at < 0:
            return False
        at = _after_space(data, at, end)
        if at >= end:
            return False
        if data[at] == CLOSE_OBJECT:
            break
        if data[at] != COMMA:
            return False
        at = _after_space(data, at + 1, end)
    if _after_space(data, at + 1, end) != end:
        return False
    return bool(ends[BODY, line + 1] > ends[BODY, line])


@borrowing_kernel
def _read_field(
    data: Bytes,
    at: int,
    end: int,
    field: int,
    stack: Bytes,
    kinds: Bytes,
    is_html: NDArray[np.bool_],
    line: int,
    columns: Columns,
    ends: NDArray[np.int64],
) -> int:
    """Write the value of a field to its column; the place after it, or -1 if it is odd."""
    if data[at] == QUOTE:
        kinds[field] = STRING
        column = max(field - 1, BODY)
        to = ends[column, line]
        if column == BODY and ends[BODY, line + 1] > to and field == TEXT:
            return _string_check(data, at + 1, end)  # the html counts
        if column == BODY and at + 1 < end and data[at + 1] == QUOTE:
            return at + 2  # empty: what the other field has stays
        # A numba tuple of equal arrays may be indexed by a variable
        at, filled = _unescape(data, at + 1, end, columns[column], to)
        if at < 0:
            return -1
        if column == BODY:
            is_html[line] = field == HTML
        ends[column, line + 1] = filled
        return at
    if data[at] != MINUS and not 48 <= data[at] <= 57:
        return _after_value(data, at, end, stack)
    after = _after_number(data, at, end)
    if after < 0 or (field != ID and field != TIME):
        return after
    is_integer = after - at <= DIGITS
    for place in range(at, after):
        is_integer &= 48 <= data[place] <= 57
    if field == ID and not is_integer:
        return -1
    kinds[field] = INTEGER if is_integer else NUMBER
    to = ends[field - 1, line]
    out = columns[field - 1]
    for place in range(at, after):
        out[to] = data[place]
        to += 1
    ends[field - 1, line + 1] = to
    return after


@borrowing_kernel
def _field(data: Bytes, at: int, end: int, names: Bytes, name_ends: Numbers) -> int:
    """The number of the field of this name, or -1."""
    for field in range(FIELDS):
        first, size = name_ends[field], name_ends[field + 1] - name_ends[field]
        if size and size == end - at:
            same = 0
            while same < size and names[first + same] == data[at + same]:
                same += 1
            if same == size:
                return field
    return -1


@borrowing_kernel
def _after_space(data: Bytes, at: int, end: int) -> int:
    while at < end and (
        data[at] == SPACE or data[at] == NEWLINE or data[at] == 9 or data[at] == 13
    ):
        at += 1
    return at


@inlined_kernel
def _special_bits(data: Bytes, at: int) -> np.uint64:
    """Which of 64 bytes are quotes, backslashes or control characters."""
    found = equal_bits(data, at, np.uint8(QUOTE)) | equal_bits(data, at, np.uint8(BACKSLASH))
    return found | between_bits(data, at, np.uint8(0), np.uint8(31))  # type: ignore[no-any-return]


@borrowing_kernel
def _special(data: Bytes, at: int) -> int:
    """The first quote, backslash or control character from `at` on, or the end of the padding.

    A newline ends the line, so the search does not leave it by more than a block.
    """
    while True:
        found = _special_bits(data, at)
        if found:
            place: int = at + lowest_bit(found)
            return place
        at += BLOCK
        if at + BLOCK > len(data):
            return len(data)


@borrowing_kernel
def _string_end(data: Bytes, at: int, end: int) -> int:
    """Where the quote that ends a name stands; -1 without one, or if it has escapes."""
    at = _special(data, at)
    return at if at < end and data[at] == QUOTE else -1


@borrowing_kernel
def _string_check(data: Bytes, at: int, end: int) -> int:
    """The place after the string whose content starts at `at`; -1 if it is no string."""
    while True:
        at = _special(data, at)
        if at >= end or data[at] < SPACE:
            return -1
        if data[at] == QUOTE:
            return at + 1
        if at + 1 >= end:
            return -1
        if data[at + 1] == LETTER_U:
            code = _four_digits(data, at + 2, end)
            if code < 0:
                return -1
            at += 6
        elif _ESCAPED[data[at + 1]]:
            at += 2
        else:
            return -1


@borrowing_kernel
def _unescape(data: Bytes, at: int, end: int, out: Bytes, to: int) -> tuple[int, int]:
    """Write the string whose content starts at `at`; the places after it and after what is written.

    The first is -1 if it is no string, or one with a lone surrogate.
    """
    while at < end:
        # Whole blocks are copied, up to a special byte and beyond: what is too much is overwritten,
        # or behind the end of the column. After an escape the rest of its block is copied again:
        # where the next special byte stands is known already.
        copy_block(data, at, out, to)
        special = _special_bits(data, at)
        start = 0  # of what is left of the block
        while special:
            stop = lowest_bit(special)
            to += stop - start
            start = stop
            if at + stop + 1 >= end or data[at + stop] != BACKSLASH:
                break
            meaning = _ESCAPED[data[at + stop + 1]]
            if not meaning:
                break
            out[to] = meaning
            to += 1
            start = stop + 2
            if at + start >= end:
                return -1, to
            copy_block(data, at + start, out, to)
            # The byte after a backslash is none of its own
            special &= ALL << np.uint64(start) if start < BLOCK else NONE
        if not special:
            to += max(BLOCK - start, 0)
            at += max(BLOCK, start)
            continue
        at += start
        if at >= end or data[at] < SPACE:
            return -1, to
        if data[at] == QUOTE:
            return at + 1, to
        if at + 1 >= end or data[at + 1] != LETTER_U:
            return -1, to
        at, code = _escaped_code_point(data, at, end)
        if code < 0:
            return -1, to
        to = write_code_point(out, to, code)
    return -1, to


@borrowing_kernel
def _escaped_code_point(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """The place after the escape at `at`, which begins with a backslash and a u, and the code point
    that it means, or it and the next; -1 for none."""
    code = _four_digits(data, at + 2, end)
    at += 6
    if not 0xD800 <= code < 0xE000:
        return at, code
    # Half a character; the other half must follow
    low = -1
    if code < 0xDC00 and at + 1 < end and data[at] == BACKSLASH and data[at + 1] == LETTER_U:
        low = _four_digits(data, at + 2, end)
    if not 0xDC00 <= low < 0xE000:
        return at, -1
    return at + 6, 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)


@borrowing_kernel
def _four_digits(data: Bytes, at: int, end: int) -> int:
    """The number that four hexadecimal digits mean, or -1."""
    if at + 4 > end:
        return -1
    code = 0
    for place in range(at, at + 4):
        digit = _HEX[data[place]]
        if digit > 15:
            return -1
        code = code << 4 | int(digit)
    return code


@borrowing_kernel
def _after_number(data: Bytes, at: int, end: int) -> int:
    """The place after the number at `at`; -1 if it is none, or too long for Python."""
    start = at
    at += data[at] == MINUS
    first = at
    at = _after_digits(data, at, end)
    if at == first or (at - first > 1 and data[first] == 48):
        return -1
    if at < end and data[at] == DOT:
        first = at + 1
        at = _after_digits(data, first, end)
        if at == first:
            return -1
    if at < end and (data[at] | 32) == 101:  # e, E
        at += 1
        if at < end and (data[at] == 43 or data[at] == MINUS):
            at += 1
        first = at
        at = _after_digits(data, first, end)
        if at == first:
            return -1
    return at if at - start <= 1000 else -1


@borrowing_kernel
def _after_digits(data: Bytes, at: int, end: int) -> int:
    while at < end and 48 <= data[at] <= 57:
        at += 1
    return at


@borrowing_kernel
def _after_value(data: Bytes, at: int, end: int, stack: Bytes) -> int:
    """The place after the value at `at`; -1 if it is no JSON, or nested too deeply.

    `stack` has the kinds of the lists and objects that are open.
    """
    depth = 0
    while True:
        # A value stands at `at`
        if at >= end:
            return -1
        byte = data[at]
        if byte == QUOTE:
            at = _string_check(data, at + 1, end)
        elif byte == OPEN_OBJECT or byte == OPEN_LIST:
            if depth == DEPTH:
                return -1
            stack[depth] = byte
            depth += 1
            at = _after_space(data, at + 1, end)
            if at < end and data[at] == byte + 2:  # empty: "}" and "]" stand two behind "{" and "["
                at += 1
                depth -= 1
            elif byte == OPEN_LIST:
                continue
            else:
                at = _after_name(data, at, end)
                if at < 0:
                    return -1
                continue
        elif byte == MINUS or 48 <= byte <= 57:
            at = _after_number(data, at, end)
        else:
            at = _after_word(data, at, end)
        if at < 0:
            return -1
        # A value has ended: so may what is open around it
        while True:
            if depth == 0:
                return at
            at = _after_space(data, at, end)
            if at >= end:
                return -1
            if data[at] == COMMA:
                at = _after_space(data, at + 1, end)
                if stack[depth - 1] == OPEN_OBJECT:
                    at = _after_name(data, at, end)
                    if at < 0:
                        return -1
                break
            if data[at] != stack[depth - 1] + 2:
                return -1
            depth -= 1
            at += 1


@borrowing_kernel
def _after_name(data: Bytes, at: int, end: int) -> int:
    """The place of the value after a name and its colon; -1 without them."""
    if at >= end or data[at] != QUOTE:
        return -1
    at = _string_check(data, at + 1, end)
    if at < 0:
        return -1
    at = _after_space(data, at, end)
    if at >= end or data[at] != COLON:
        return -1
    return _after_space(data, at + 1, end)


_WORDS = np.frombuffer(b"true false null", np.uint8).copy()


@borrowing_kernel
def _after_word(data: Bytes, at: int, end: int) -> int:
    """The place after true, false or null; -1 without one."""
    first, size = 0, 4
    if data[at] == 102:
        first, size = 5, 5
    elif data[at] == 110:
        first = 11
    if at + size > end:
        return -1
    for place in range(size):
        if data[at + place] != _WORDS[first + place]:
            return -1
    return at + size
