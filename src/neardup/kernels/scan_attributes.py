# ruff: noqa: PLR1714 - compiled: comparisons, not tuples to search
"""The attributes of a tag: where each is, and what those say that matter for text.

Names of tags, attributes and values are compared by a 64-bit hash without regard to case. What
the scanner needs for that comes first: finding a byte, hashing a name, looking a hash up.
"""

from __future__ import annotations

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros
from numpy.typing import NDArray

from neardup.kernels.jit import borrowing_kernel as kernel
from neardup.kernels.text_bits import eight_bytes

Bytes = NDArray[np.uint8]

SLASH, COLON, SEMICOLON, EQUALS, GREATER = 47, 58, 59, 61, 62
QUOTE, APOSTROPHE, BANG = 34, 39, 33

LOW_BITS = np.uint64(0x0101010101010101)
HIGH_BITS = np.uint64(0x8080808080808080)
EIGHTH = np.uint64(3)  # a shift from bits to bytes

# FNV-1a.
SEED = np.uint64(0xCBF29CE484222325)
PRIME = np.uint64(0x100000001B3)
CASE = np.uint8(0x20)  # the bit that lower-case letters have; digits, `-`, `:` and `.` have it too


@kernel
def find(data: Bytes, i: int, end: int, byte: int) -> int:
    """The first place of `byte` in data[i:end], or `end`; eight bytes at a time.

    Exclusive or with the byte in all eight places makes its matches zero bytes. Taking 1 from each
    byte then borrows into its high bit for a zero. A borrow may spread upwards and mark bytes that
    are none, but never below the first.
    """
    pattern = np.uint64(byte) * LOW_BITS
    while i + 8 <= end:
        word = eight_bytes(data, i) ^ pattern
        zeros = (word - LOW_BITS) & ~word & HIGH_BITS
        if zeros:
            return i + np.int64(trailing_zeros(zeros) >> EIGHTH)
        i += 8
    while i < end and data[i] != byte:
        i += 1
    return i


@kernel
def is_space(byte: int) -> bool:
    """White space as HTML has it."""
    return byte == 32 or byte == 10 or byte == 9 or byte == 13 or byte == 12


@kernel
def is_letter(byte: int) -> bool:
    """An ASCII letter."""
    return 97 <= (byte | 0x20) <= 122


@kernel
def name_hash(data: Bytes, i: int, end: int) -> np.uint64:
    """FNV-1a of data[i:end] without regard to ASCII case."""
    value = SEED
    while i < end:
        value = (value ^ np.uint64(data[i] | CASE)) * PRIME
        i += 1
    return value


def hash_of(name: str) -> int:
    """`name_hash` of a name, for the tables that are built at import."""
    value = int(SEED)
    for byte in name.encode():
        value = (value ^ (byte | int(CASE))) * int(PRIME) & 0xFFFFFFFFFFFFFFFF
    return value


def hash_table(values: dict[str, int], slots: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """An open-addressing table (keys, values) for `look_up`; `slots` is a power of two."""
    keys, stored = np.zeros(slots, np.uint64), np.zeros(slots, np.int64)
    for name, value in values.items():
        key = hash_of(name)
        slot = key & (slots - 1)
        while keys[slot]:
            assert keys[slot] != key, f"{name} collides"
            slot = (slot + 1) & (slots - 1)
        keys[slot], stored[slot] = key, value
    return keys, stored


@kernel
def look_up(keys: NDArray[np.uint64], values: NDArray[np.int64], key: np.uint64) -> int:
    """The value under `key` in a table of `hash_table`, or 0."""
    mask = np.uint64(len(keys) - 1)
    slot = key & mask
    while keys[slot] != 0:
        if keys[slot] == key:
            return values[slot]
        slot = (slot + np.uint64(1)) & mask
    return 0


# Facts that the attributes of a tag state, as bits. Above them stands the region that `role`
# names, plus one.
HIDDEN = 1  # the attribute `hidden`, or a style that says so
OPEN = 2  # of a dialog: it is shown
SELF_CLOSING = 4  # `/>`
DATED = 8  # itemprop="datePublished"
REGION_SHIFT = 8

_STYLE, _HIDDEN, _ROLE, _OPEN, _ITEMPROP = (
    np.uint64(hash_of(name)) for name in ("style", "hidden", "role", "open", "itemprop")
)
_DISPLAY, _NONE, _VISIBILITY, _DATE_PUBLISHED = (
    np.uint64(hash_of(name)) for name in ("display", "none", "visibility", "datepublished")
)
_ROLES = {"main": 1, "article": 1, "banner": 2, "navigation": 3, "complementary": 4}
_ROLES |= {"contentinfo": 5}
_ROLE_KEYS, _ROLE_REGIONS = hash_table({role: region + 1 for role, region in _ROLES.items()}, 32)


@kernel
def next_attribute(data: Bytes, i: int, end: int) -> tuple[int, int, int, int, int]:
    """The next attribute from i on: name start, name end, value start, value end, place after.

    No name means no more attributes: the place after is then that of `>`, or `end`. The steps are
    the states of HTML's tokeniser, in the order in which an attribute goes through them.
    """
    # Before attribute name
    while i < end and (data[i] == SLASH or is_space(data[i])):
        i += 1
    name = i
    if i >= end or data[i] == GREATER:
        return i, i, i, i, i
    # Attribute name. Its first character may be anything, `=` too.
    i += 1
    while i < end:
        byte = data[i]
        # All that ends a name is up to `>`, and few letters are: one comparison for most bytes.
        if byte <= GREATER and (
            byte == EQUALS or byte == GREATER or byte == SLASH or is_space(byte)
        ):
            break
        i += 1
    name_end = i
    # After attribute name
    i = after_space(data, i, end)
    if i >= end or data[i] != EQUALS:
        return name, name_end, name_end, name_end, name_end
    # Before attribute value, and the value in quotes or without
    i = after_space(data, i + 1, end)
    if i < end and (data[i] == QUOTE or data[i] == APOSTROPHE):
        value_end = find(data, i + 1, end, np.int64(data[i]))
        return name, name_end, i + 1, value_end, min(value_end + 1, end)
    value = i
    while i < end and data[i] != GREATER and not is_space(data[i]):
        i += 1
    return name, name_end, value, i, i


@kernel
def read_attributes(data: Bytes, i: int, end: int) -> tuple[int, int]:
    """Past the attributes of a tag: the place of its `>` (or `end`), and the facts they state."""
    facts = 0
    while True:
        before = i
        name, name_end, value, value_end, i = next_attribute(data, i, end)
        if name == name_end:
            if i > before and data[i - 1] == SLASH:
                facts |= SELF_CLOSING
            return i, facts
        # Most attributes are class, href, id, src ...: length and first letter rule them out, and
        # few names are hashed.
        size = name_end - name
        first = data[name] | CASE
        if (
            (size == 5 and first == 115)  # s...., style
            or (size == 6 and first == 104)  # h....., hidden
            or (size == 4 and (first == 114 or first == 111))  # r... or o..., role and open
            or (size == 8 and first == 105)  # i......., itemprop
        ):
            facts |= _fact_of(data, name_hash(data, name, name_end), value, value_end)


@kernel
def _fact_of(data: Bytes, name: np.uint64, value: int, value_end: int) -> int:
    """What one attribute, known by the hash of its name, states about its tag."""
    if name == _STYLE and style_hides(data, value, value_end):
        return HIDDEN
    if name == _HIDDEN:
        return HIDDEN
    if name == _OPEN:
        return OPEN
    if name == _ROLE:
        region = look_up(_ROLE_KEYS, _ROLE_REGIONS, name_hash(data, value, value_end))
        return region << REGION_SHIFT
    if name == _ITEMPROP and name_hash(data, value, value_end) == _DATE_PUBLISHED:
        return DATED
    return 0


@kernel
def find_attribute(data: Bytes, i: int, end: int, wanted: np.uint64) -> tuple[int, int]:
    """Where the value of the attribute with this `name_hash` is, trimmed; (-1, -1) without one."""
    while True:
        name, name_end, value, value_end, i = next_attribute(data, i, end)
        if name == name_end:
            return -1, -1
        if name_hash(data, name, name_end) == wanted:
            return trim(data, value, value_end)


@kernel
def after_space(data: Bytes, i: int, end: int) -> int:
    """The first place from i on that is not white space, or `end`."""
    while i < end and is_space(data[i]):
        i += 1
    return i


@kernel
def trim(data: Bytes, start: int, end: int) -> tuple[int, int]:
    """The range without white space at its ends."""
    start = after_space(data, start, end)
    while start < end and is_space(data[end - 1]):
        end -= 1
    return start, end


@kernel
def style_hides(data: Bytes, i: int, end: int) -> bool:
    """Whether a style has display: none or visibility: hidden."""
    while i < end:
        stop = _find_short(data, i, end, SEMICOLON)
        colon = _find_short(data, i, stop, COLON)
        if colon < stop:
            start, name_end = trim(data, i, colon)
            size = name_end - start
            if size == 7 or size == 10:  # as long as `display` or `visibility`
                value, value_end = trim(data, colon + 1, stop)
                value_end = _find_short(data, value, value_end, BANG)  # of `!important`
                value, value_end = trim(data, value, value_end)
                name = name_hash(data, start, name_end)
                what = name_hash(data, value, value_end)
                if (name == _DISPLAY and what == _NONE) or (
                    name == _VISIBILITY and what == _HIDDEN
                ):
                    return True
        i = stop + 1
    return False


@kernel
def _find_short(data: Bytes, i: int, end: int, byte: int) -> int:
    """As `find`, for where the byte is near: one by one."""
    while i < end and data[i] != byte:
        i += 1
    return i
