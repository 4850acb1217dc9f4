"""Character references: `&amp;`, `&copy` without its semicolon, `&#8217;`, `&#x2019;`.

The rules are HTML's: the longest name that is known wins, some old names need no semicolon,
numbers from 128 to 159 mean windows-1252, and what is not a character becomes U+FFFD.
"""

from __future__ import annotations

from html.entities import html5

import numpy as np

from neardup.kernels.jit import borrowing_kernel as kernel
from neardup.kernels.scan_bytes import PRIME, SEED, Bytes, hash_table, look_up

LONGEST_NAME = max(map(len, html5))
LONGEST_OPEN_NAME = max(len(name) for name in html5 if not name.endswith(";"))
REPLACEMENT = 0xFFFD
LAST_CODE_POINT = 0x10FFFF
FIRST = (1 << 32) - 1  # of two code points
SLOTS = 8192  # a power of two, above three times the names there are

# The one or two code points of each name, in one number.
KEYS, CODES = hash_table(
    {
        name: sum(ord(character) << 32 * place for place, character in enumerate(text))
        for name, text in html5.items()
    },
    SLOTS,
    case=0,
)
WINDOWS_1252 = np.array(
    [ord(bytes([byte]).decode("cp1252", "ignore") or chr(byte)) for byte in range(0x80, 0xA0)],
    np.int32,
)


@kernel
def decode_reference(data: Bytes, i: int, end: int) -> tuple[int, int, int]:
    """The reference at data[i] == '&': its code point, a second one or 0, and the place after it.

    What is no reference gives the ampersand itself.
    """
    if i + 1 < end and data[i + 1] == 35:  # '#'
        return _numeric(data, i, end)
    return _named(data, i, end)


@kernel
def _named(data: Bytes, i: int, end: int) -> tuple[int, int, int]:
    best, best_end = 0, i + 1
    value = SEED
    j = i + 1
    stop = min(end, j + LONGEST_NAME)
    while j < stop:
        byte = data[j]
        value = (value ^ np.uint64(byte)) * PRIME
        j += 1
        closed = byte == 59  # ';'
        if closed or j - i - 1 <= LONGEST_OPEN_NAME:
            codes = look_up(KEYS, CODES, value)
            if codes:
                best, best_end = codes, j
        if closed or not (48 <= byte <= 57 or 97 <= (byte | 0x20) <= 122):
            break
    if not best:
        return 38, 0, i + 1  # '&'
    return best & FIRST, best >> 32, best_end


@kernel
def _numeric(data: Bytes, i: int, end: int) -> tuple[int, int, int]:
    j = i + 2
    base = 10
    if j < end and (data[j] | 0x20) == 120:  # 'x'
        base = 16
        j += 1
    first = j
    code = 0
    while j < end:
        digit = _digit(data[j])
        if digit >= base:
            break
        code = min(code * base + digit, LAST_CODE_POINT + 1)
        j += 1
    if j == first:
        return 38, 0, i + 1  # '&'
    if j < end and data[j] == 59:
        j += 1
    if 0x80 <= code <= 0x9F:
        code = WINDOWS_1252[code - 0x80]
    if code == 0 or code > LAST_CODE_POINT or 0xD800 <= code <= 0xDFFF:
        code = REPLACEMENT
    return code, 0, j


@kernel
def _digit(byte: int) -> int:
    if 48 <= byte <= 57:
        return np.int64(byte) - 48  # type: ignore[return-value]
    lower = np.int64(byte) | 0x20
    if 97 <= lower <= 102:
        return lower - 87  # type: ignore[return-value]
    return 99
