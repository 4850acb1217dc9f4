"""The bytes of text told apart, sixty-four at a time: where lines, sentences and tokens may end.

A number of 64 bits for each 64 bytes, bit b of number n for byte 64 n + b, so that what looks for
the next place of a kind goes by blocks and not by bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.bits import BLOCK, Bits, between_bits, equal_bits
from neardup.kernels.jit import inlined_kernel, kernel

Bytes = NDArray[np.uint8]
Carried = tuple[np.uint64, np.uint64, np.uint64, np.uint64]


class TextBits(NamedTuple):
    """Bits of bytes of UTF-8, counted from the first byte of the text."""

    newlines: Bits
    ends: Bits  # the last byte of a mark that ends a sentence
    runs: Bits  # all but the ASCII characters that stand between words
    odd: Bits  # of those, all but ASCII letters and digits


@kernel
def text_bits(data: Bytes) -> TextBits:
    """The bits of all bytes; of bytes after the last none is set."""
    blocks = len(data) // BLOCK + 1
    newlines, ends = np.zeros(blocks, np.uint64), np.zeros(blocks, np.uint64)
    runs, odd = np.zeros(blocks, np.uint64), np.zeros(blocks, np.uint64)
    before = (np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0))
    for number in range(blocks):
        at = number * BLOCK
        block, first = data, at
        if at + BLOCK + 1 > len(data):  # the byte after the block is read, too
            block, first = np.full(BLOCK + 1, 32, np.uint8), 0
            block[: len(data) - at] = data[at:]
        newlines[number] = equal_bits(block, first, np.uint8(10))
        ends[number] = _ascii_ends(block, first)
        letters = between_bits(block, first, np.uint8(48), np.uint8(57))
        letters |= between_bits(block, first, np.uint8(65), np.uint8(90))
        letters |= between_bits(block, first, np.uint8(97), np.uint8(122))
        high = between_bits(block, first, np.uint8(128), np.uint8(255))
        odd[number] = high | _removed(block, first)
        runs[number] = letters | odd[number]
        if high:
            marks, before = _wide_ends(block, first, before)
            ends[number] |= marks
        else:
            before = (np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0))
    return TextBits(newlines, ends, runs, odd)


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
def _moved(bits: np.uint64, before: np.uint64, places: int) -> np.uint64:
    """Bits moved to later places; those of the block before come in."""
    return bits << np.uint64(places) | before >> np.uint64(BLOCK - places)
