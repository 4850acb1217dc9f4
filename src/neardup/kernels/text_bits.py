"""The bytes of text told apart, sixty-four at a time: where lines, sentences and tokens may end.

A number of 64 bits for each 64 bytes, bit b of number n for byte 64 n + b, so that what looks for
the next place of a kind goes by blocks and not by bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.bits import BLOCK, Bits, between_bits, equal_bits
from neardup.kernels.jit import borrowing_kernel, inlined_kernel, kernel

Bytes = NDArray[np.uint8]
Carried = tuple[np.uint64, np.uint64, np.uint64, np.uint64]

NONE_BEFORE = (np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0))


class TextBits(NamedTuple):
    """Bits of bytes of UTF-8, counted from the first byte of the text."""

    newlines: Bits
    ends: Bits  # the last byte of a mark that ends a sentence
    runs: Bits  # all but the ASCII characters that stand between words
    odd: Bits  # of those, all but ASCII letters and digits
    unspaced: Bits  # first bytes of characters of scripts that are written without spaces


@kernel
def text_bits(data: Bytes) -> TextBits:
    """The bits of all bytes; of bytes after the last none is set."""
    blocks = len(data) // BLOCK + 1
    newlines, ends = np.empty(blocks, np.uint64), np.empty(blocks, np.uint64)
    runs, odd = np.empty(blocks, np.uint64), np.empty(blocks, np.uint64)
    unspaced = np.empty(blocks, np.uint64)
    bits = TextBits(newlines, ends, runs, odd, unspaced)
    whole = max(len(data) - 1, 0) // BLOCK  # the byte after a block is read, too
    before = _write_bits(data, 0, whole, NONE_BEFORE, bits)
    rest = np.full(2 * BLOCK + 1, 32, np.uint8)
    rest[: len(data) - whole * BLOCK] = data[whole * BLOCK :]
    _write_bits(rest, whole, blocks - whole, before, bits)
    return bits


@borrowing_kernel
def _write_bits(data: Bytes, first: int, blocks: int, before: Carried, bits: TextBits) -> Carried:
    """Write the bits of so many blocks, the first of which has this number; what is carried on."""
    for number in range(blocks):
        at = number * BLOCK
        place = np.uint64(first + number)
        lines = equal_bits(data, at, np.uint8(10))
        letters = between_bits(data, at, np.uint8(48), np.uint8(57))
        letters |= between_bits(data, at, np.uint8(65), np.uint8(90))
        letters |= between_bits(data, at, np.uint8(97), np.uint8(122))
        high = between_bits(data, at, np.uint8(128), np.uint8(255))
        control = between_bits(data, at, np.uint8(0), np.uint8(31))
        control |= equal_bits(data, at, np.uint8(127))
        unusual = high
        if control != lines:
            unusual |= _removed(data, at)
        marks = _ascii_ends(data, at)
        bits.unspaced[place] = np.uint64(0)
        if high:
            wide, before = _wide_ends(data, at, before)
            marks |= wide
            bits.unspaced[place] = _unspaced(data, at)
        else:
            before = NONE_BEFORE
        bits.newlines[place], bits.ends[place] = lines, marks
        bits.runs[place], bits.odd[place] = letters | unusual, unusual
    return before


@inlined_kernel
def _ascii_ends(block: Bytes, at: int) -> np.uint64:
    """Exclamation and question marks, semicolons, and stops before a space or a line's end."""
    marks = equal_bits(block, at, np.uint8(33)) | equal_bits(block, at, np.uint8(63))
    marks |= equal_bits(block, at, np.uint8(59))
    stops = equal_bits(block, at, np.uint8(46))
    if stops:
        stops &= between_bits(block, at + 1, np.uint8(0), np.uint8(32))
    return marks | stops  # type: ignore[no-any-return]


@inlined_kernel
def _removed(block: Bytes, at: int) -> np.uint64:
    """Control characters that folding takes out of a word."""
    control = between_bits(block, at, np.uint8(0), np.uint8(8))
    control |= between_bits(block, at, np.uint8(14), np.uint8(27))
    return control | equal_bits(block, at, np.uint8(127))  # type: ignore[no-any-return]


@inlined_kernel
def _wide_ends(block: Bytes, at: int, before: Carried) -> tuple[np.uint64, Carried]:
    """The last bytes of 。 (E3 80 82) and of ！ ； ？ (EF BC 81, 9B, 9F); and the first and second
    bytes of both kinds, which may end the block."""
    stop_1, stop_2 = equal_bits(block, at, np.uint8(0xE3)), equal_bits(block, at, np.uint8(0x80))
    mark_1, mark_2 = equal_bits(block, at, np.uint8(0xEF)), equal_bits(block, at, np.uint8(0xBC))
    marks = equal_bits(block, at, np.uint8(0x81)) | equal_bits(block, at, np.uint8(0x9B))
    marks |= equal_bits(block, at, np.uint8(0x9F))
    marks &= _moved(mark_2, before[3], 1) & _moved(mark_1, before[2], 2)
    stops = equal_bits(block, at, np.uint8(0x82))
    stops &= _moved(stop_2, before[1], 1) & _moved(stop_1, before[0], 2)
    return marks | stops, (stop_1, stop_2, mark_1, mark_2)


@inlined_kernel
def _unspaced(block: Bytes, at: int) -> np.uint64:
    """The first bytes of Han, Kana and what else is from E3 to E9 and F0, and of Thai and Lao,
    whose first byte E0 is that of many other scripts."""
    found = between_bits(block, at, np.uint8(0xE3), np.uint8(0xE9))
    found |= equal_bits(block, at, np.uint8(0xF0))
    others = equal_bits(block, at, np.uint8(0xE0))
    if others:
        found |= others & between_bits(block, at + 1, np.uint8(0xB8), np.uint8(0xBB))
    return found  # type: ignore[no-any-return]


@inlined_kernel
def _moved(bits: np.uint64, before: np.uint64, places: int) -> np.uint64:
    """Bits moved to later places; those of the block before come in."""
    return bits << np.uint64(places) | before >> np.uint64(BLOCK - places)
