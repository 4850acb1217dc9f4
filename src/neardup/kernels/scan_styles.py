# ruff: noqa: PLR1714 - compiled: comparisons, not tuples to search
"""The style attribute: whether it keeps text from every reader's eye.

    display: none             visibility: hidden, collapse
    font-size: 0              clip: rect(0 ... or rect(1px ...    text-indent: -900px or less
    left, top, right: -900px or less, of what is positioned; -4000px or less in any case
    margin-left, margin-top: -4000px or less
    color and background(-color): the same

Distances are those that hide text. Nearer ones belong to carousels and menus, which move what is
seen: a strip of slides stands at -1200px, and one of its slides is shown. Opacity does not hide:
many themes give their whole page opacity 0 until a script fades it in. Style sheets are not read.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.jit import borrowing_kernel as kernel
from neardup.kernels.scan_bytes import (
    BANG,
    COLON,
    SEMICOLON,
    Bytes,
    find_near,
    hash_of,
    hash_table,
    is_space,
    look_up,
    name_hash,
    trim,
)

HIDDEN = 1  # as a fact of a tag, see scan_attributes

DISPLAY, VISIBILITY, FONT_SIZE, INDENT, EDGE, MARGIN, POSITION = range(1, 8)
COLOUR, BACKGROUND, CLIP = range(8, 11)
_PROPERTIES = {
    "display": DISPLAY,
    "visibility": VISIBILITY,
    "font-size": FONT_SIZE,
    "text-indent": INDENT,
    "left": EDGE,
    "top": EDGE,
    "right": EDGE,
    "margin-left": MARGIN,
    "margin-top": MARGIN,
    "position": POSITION,
    "color": COLOUR,
    "background": BACKGROUND,
    "background-color": BACKGROUND,
    "clip": CLIP,
}
_KEYS, _VALUES = hash_table(_PROPERTIES, 64)
# Most declarations are about width, height, margin, padding ...: length and first letter rule them
# out, and few names are hashed.
_MAY_BE = np.zeros((17, 32), np.bool_)
for _name in _PROPERTIES:
    _MAY_BE[len(_name), ord(_name[0]) & 31] = True
LONGEST_PROPERTY = max(map(len, _PROPERTIES))

_NONE, _HIDDEN, _COLLAPSE, _ABSOLUTE, _FIXED = (
    np.uint64(hash_of(name)) for name in ("none", "hidden", "collapse", "absolute", "fixed")
)
_WHITE, _BLACK = np.uint64(hash_of("white")), np.uint64(hash_of("black"))
_RGB, _RECT = np.uint64(hash_of("rgb(")), np.uint64(hash_of("rect("))

NO_NUMBER = 1 << 40
THOUSAND = 1000  # numbers are in thousandths
EM = 16  # pixels, about
OFF_SCREEN = -900 * THOUSAND
FAR_OFF_SCREEN = -4000 * THOUSAND
NO_COLOUR = -1
HASH, DOT, MINUS, PLUS, COMMA, PERCENT = 35, 46, 45, 43, 44, 37


@kernel
def style_hides(data: Bytes, i: int, end: int) -> int:
    """HIDDEN if the declarations in data[i:end] keep text from being seen, else 0."""
    colour, background, farthest = NO_COLOUR, NO_COLOUR, 0
    positioned = False
    while i < end:
        stop = find_near(data, i, end, SEMICOLON)
        colon = find_near(data, i, stop, COLON)
        start, name_end = trim(data, i, colon)
        i = stop + 1
        size = name_end - start
        if colon == stop or size <= 0 or size > LONGEST_PROPERTY:
            continue
        if not _MAY_BE[size, data[start] & 31]:
            continue
        what = look_up(_KEYS, _VALUES, name_hash(data, start, name_end))
        if what == 0:
            continue
        value, value_end = trim(data, colon + 1, stop)
        value, value_end = trim(data, value, find_near(data, value, value_end, BANG))
        if what == DISPLAY or what == VISIBILITY or what == POSITION:
            word = name_hash(data, value, value_end)
            if what == POSITION:
                positioned = word == _ABSOLUTE or word == _FIXED
            elif word == (_NONE if what == DISPLAY else _HIDDEN) or (
                what == VISIBILITY and word == _COLLAPSE
            ):
                return HIDDEN
        elif what == COLOUR:
            colour = _colour(data, value, value_end)
        elif what == BACKGROUND:
            background = _colour(data, value, value_end)
        elif what == CLIP:
            if value + 5 < value_end and name_hash(data, value, value + 5) == _RECT:
                number, _ = _pixels(data, value + 5, value_end)
                if number == 0 or number == THOUSAND:
                    return HIDDEN
        else:
            number, _ = _pixels(data, value, value_end)
            if (
                (what == FONT_SIZE and number == 0)
                or (what == INDENT and number <= OFF_SCREEN)
                or (what == MARGIN and number <= FAR_OFF_SCREEN)
            ):
                return HIDDEN
            if what == EDGE and number < farthest:
                farthest = number
    limit = OFF_SCREEN if positioned else FAR_OFF_SCREEN
    is_blank = colour == background and colour != NO_COLOUR
    return HIDDEN if farthest <= limit or is_blank else 0


@kernel
def _pixels(data: Bytes, i: int, end: int) -> tuple[int, int]:
    """The length or number at i in thousandths (of a pixel), and the place after its digits."""
    sign = 1
    if i < end and (data[i] == MINUS or data[i] == PLUS):
        sign = -1 if data[i] == MINUS else 1
        i += 1
    first, value, unit = i, 0, THOUSAND
    is_fraction = False
    while i < end:
        byte = np.int64(data[i])
        if byte == DOT and not is_fraction:
            is_fraction = True
        elif 48 <= byte <= 57:
            if is_fraction:
                unit //= 10
                value += unit * (byte - 48)
            else:
                value = min(value * 10 + THOUSAND * (byte - 48), NO_NUMBER - 1)
        else:
            break
        i += 1
    if i == first:
        return NO_NUMBER, i
    if i < end and ((data[i] | 32) == 101 or (data[i] | 32) == 114):  # em, ex, rem
        value *= EM
    return sign * value, i


@kernel
def _colour(data: Bytes, i: int, end: int) -> int:
    """A colour as 0xrrggbb; NO_COLOUR for most names, and for more than a colour."""
    if i < end and data[i] == HASH:
        return _hexadecimal(data, i + 1, end)
    if i + 4 < end and name_hash(data, i, i + 4) == _RGB:
        return _rgb(data, i + 4, end)
    word = name_hash(data, i, end)
    if word == _WHITE:
        return 0xFFFFFF
    return 0 if word == _BLACK else NO_COLOUR


@kernel
def _hexadecimal(data: Bytes, i: int, end: int) -> int:
    digits = end - i
    if digits != 3 and digits != 6:
        return NO_COLOUR
    colour = 0
    for place in range(i, end):
        byte = np.int64(data[place])
        digit = byte - 48 if 48 <= byte <= 57 else (byte | 32) - 87
        if digit < 0 or digit > 15 or (digit > 9 and byte <= 57):
            return NO_COLOUR
        colour = colour << 4 | digit
        if digits == 3:
            colour = colour << 4 | digit
    return colour


@kernel
def _rgb(data: Bytes, i: int, end: int) -> int:
    """Three numbers up to a bracket; with a fourth, the opacity, it is more than a colour."""
    colour = 0
    for _ in range(3):
        while i < end and (is_space(data[i]) or data[i] == COMMA):
            i += 1
        number, i = _pixels(data, i, end)
        if number < 0 or number > 255 * THOUSAND or (i < end and data[i] == PERCENT):
            return NO_COLOUR
        colour = colour << 8 | number // THOUSAND
    while i < end and is_space(data[i]):
        i += 1
    return colour if i == end - 1 else NO_COLOUR
