# ruff: noqa: PLR1714 - compiled: comparisons, not tuples to search
"""What the scanner does with bytes: finding one, trimming a range, hashing a name.

Names of tags, attributes and values are compared by a 64-bit hash without regard to case.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import borrowing_kernel as kernel
from neardup.kernels.jit import inlined_kernel, of_numba
from neardup.kernels.text_bits import BLOCK, between_bits, eight_bytes, equal_bits, lowest_bit

Bytes = NDArray[np.uint8]
trailing_zeros = of_numba("numba.cpython.unsafe.numbers", "trailing_zeros")

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
    """The first place of `byte` in data[i:end], or `end`; 64 bytes at a time, then eight.

    Exclusive or with the byte in all eight places makes its matches zero bytes. Taking 1 from each
    byte then borrows into its high bit for a zero. A borrow may spread upwards and mark bytes that
    are none, but never below the first.
    """
    while i + BLOCK <= end:
        found = equal_bits(data, i, np.uint8(byte))
        if found:
            place: int = i + lowest_bit(found)
            return place
        i += BLOCK
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


@inlined_kernel
def is_space(byte: int) -> bool:
    """White space as HTML has it."""
    return byte == 32 or byte == 10 or byte == 9 or byte == 13 or byte == 12


@inlined_kernel
def white_bits(data: Bytes, at: int) -> np.uint64:
    """Which of 64 bytes are white space."""
    white = between_bits(data, at, np.uint8(9), np.uint8(13)) & ~equal_bits(data, at, np.uint8(11))
    return white | equal_bits(data, at, np.uint8(32))


@inlined_kernel
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


def hash_of(name: str, case: int = int(CASE)) -> int:
    """`name_hash` of a name, for the tables that are built at import; with regard to case if `case`
    is 0."""
    value = int(SEED)
    for byte in name.encode():
        value = (value ^ (byte | case)) * int(PRIME) & 0xFFFFFFFFFFFFFFFF
    return value


def hash_table(
    values: dict[str, int], slots: int, case: int = int(CASE)
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """An open-addressing table (keys, values) for `look_up`; `slots` is a power of two."""
    keys, stored = np.zeros(slots, np.uint64), np.zeros(slots, np.int64)
    for name, value in values.items():
        key = hash_of(name, case)
        slot = key & (slots - 1)
        while keys[slot]:
            assert keys[slot] != key, f"{name} collides"
            slot = (slot + 1) & (slots - 1)
        keys[slot], stored[slot] = key, value
    return keys, stored


@inlined_kernel
def look_up(keys: NDArray[np.uint64], values: NDArray[np.int64], key: np.uint64) -> int:
    """The value under `key` in a table of `hash_table`, or 0."""
    mask = np.uint64(len(keys) - 1)
    slot = key & mask
    while keys[slot] != 0:
        if keys[slot] == key:
            return values[slot]
        slot = (slot + np.uint64(1)) & mask
    return 0


@inlined_kernel
def after_space(data: Bytes, i: int, end: int) -> int:
    """The first place from i on that is not white space, or `end`."""
    while i < end and is_space(data[i]):
        i += 1
    return i


@inlined_kernel
def trim(data: Bytes, start: int, end: int) -> tuple[int, int]:
    """The range without white space at its ends."""
    start = after_space(data, start, end)
    while start < end and is_space(data[end - 1]):
        end -= 1
    return start, end


@inlined_kernel
def find_near(data: Bytes, i: int, end: int, byte: int) -> int:
    """As `find`, for where the byte is near: one by one."""
    while i < end and data[i] != byte:
        i += 1
    return i
