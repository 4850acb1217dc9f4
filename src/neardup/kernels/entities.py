"""Character references: `&amp;`, `&copy` without its semicolon, `&#8217;`, `&#x2019;`.

The rules are HTML's: the longest name that is known wins, some old names need no semicolon,
numbers from 128 to 159 mean windows-1252, and what is not a character becomes U+FFFD.
"""

from __future__ import annotations

from html.entities import html5

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import borrowing_kernel as kernel
from neardup.kernels.scan_bytes import PRIME, SEED, Bytes

LONGEST_NAME = max(map(len, html5))
LONGEST_OPEN_NAME = max(len(name) for name in html5 if not name.endswith(";"))
REPLACEMENT = 0xFFFD
LAST_CODE_POINT = 0x10FFFF
SLOTS = 8192  # a power of two, above three times the names there are


def _name_hash(name: bytes) -> int:
    value = int(SEED)
    for byte in name:
        value = (value ^ byte) * int(PRIME) & 0xFFFFFFFFFFFFFFFF
    return value


def _build_table() -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Open addressing by hash; each name's one or two code points."""
    keys, codes = np.zeros(SLOTS, np.uint64), np.zeros((SLOTS, 2), np.int32)
    for name, text in html5.items():
        key = _name_hash(name.encode())
        slot = key & (SLOTS - 1)
        while keys[slot]:
            assert keys[slot] != key, f"{name} collides"
            slot = (slot + 1) & (SLOTS - 1)
        keys[slot] = key
        codes[slot, : len(text)] = [ord(character) for character in text]
    return keys, codes


KEYS, CODES = _build_table()
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
    best, best_end = -1, i + 1
    value = SEED
    j = i + 1
    stop = min(end, j + LONGEST_NAME)
    while j < stop:
        byte = data[j]
        value = (value ^ np.uint64(byte)) * PRIME
        j += 1
        closed = byte == 59  # ';'
        if closed or j - i - 1 <= LONGEST_OPEN_NAME:
            slot = _slot(value)
            if slot >= 0:
                best, best_end = slot, j
        if closed or not (48 <= byte <= 57 or 97 <= (byte | 0x20) <= 122):
            break
    if best < 0:
        return 38, 0, i + 1  # '&'
    return CODES[best, 0], CODES[best, 1], best_end


@kernel
def _slot(key: np.uint64) -> int:
    mask = np.uint64(SLOTS - 1)
    slot = key & mask
    while KEYS[slot] != 0:
        if KEYS[slot] == key:
            return np.int64(slot)  # type: ignore[return-value]
        slot = (slot + np.uint64(1)) & mask
    return -1


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
