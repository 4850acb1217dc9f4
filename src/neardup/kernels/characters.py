"""What each character is: the script of a letter, its part in words and sentences, its case.

A shipped table (`data.character_classes`) has one byte per code point, its class:

    bit   7           6 5 4    3 2 1 0
          lower case  role     script

The role says what the character does to a token (`tokens` has the rules). The script is an index
into `SCRIPTS`, or `NO_SCRIPT` for all that is no letter, digits among it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.data import character_classes
from neardup.kernels.jit import Bytes, Numbers, borrowing_kernel, kernel
from neardup.kernels.text_bits import BLOCK, between_bits, count_bits, lowest_bit
from neardup.kernels.utf8 import code_point_at

NOTHING, SPACE, WORD, SINGLE, MARK = range(5)  # roles
ROLE_BITS, WORD_BITS = 7 << 4, WORD << 4  # for comparing the role of a class without a shift
SCRIPT_BITS = NO_SCRIPT = 15
LOWER_CASE = 128

# The order is that of the shipped table.
SCRIPTS = (
    "Latin",
    "Han",
    "Kana",
    "Hangul",
    "Cyrillic",
    "Greek",
    "Arabic",
    "Hebrew",
    "Thai",
    "Devanagari",
    "other",
)
LATIN, HAN, KANA = (SCRIPTS.index(name) for name in ("Latin", "Han", "Kana"))


@borrowing_kernel
def class_of(code: int, index: NDArray[np.uint16], pages: Bytes) -> np.uint8:
    """The class of a code point; `index` and `pages` are `data.character_classes()`."""
    if code < 0x80:  # two returns: half again as fast as one place that both ways lead to
        return pages[code]  # type: ignore[no-any-return]
    return pages[int(index[code >> 8]) << 8 | code & 255]  # type: ignore[no-any-return]


@borrowing_kernel
def role_of(code: int, index: NDArray[np.uint16], pages: Bytes) -> int:
    """The role of a code point."""
    return int(class_of(code, index, pages)) >> 4 & 7


@borrowing_kernel
def is_digit(character: np.uint8) -> bool:
    """Whether a character of this class is a digit: of words, but of no script."""
    return bool(character & (ROLE_BITS | SCRIPT_BITS) == WORD_BITS | NO_SCRIPT)


def count_scripts(data: Bytes, offsets: Numbers) -> Numbers:
    """How many letters of each script (`SCRIPTS`) each document of a UTF-8 buffer has."""
    return _count(data, offsets, *character_classes())


@kernel
def _count(data: Bytes, offsets: Numbers, index: NDArray[np.uint16], pages: Bytes) -> Numbers:
    documents = len(offsets) - 1
    counts = np.zeros((documents, NO_SCRIPT + 1), np.int64)  # a column for all that is no letter
    for document in range(documents):
        at, end = offsets[document], offsets[document + 1]
        row = counts[document]
        while at + BLOCK <= end:
            letters = between_bits(data, at, np.uint8(65), np.uint8(90))
            letters |= between_bits(data, at, np.uint8(97), np.uint8(122))
            row[LATIN] += count_bits(letters)
            wide = between_bits(data, at, np.uint8(0xC0), np.uint8(0xFF))  # first bytes
            while wide:
                code, _ = code_point_at(data, at + lowest_bit(wide), end)
                row[class_of(code, index, pages) & SCRIPT_BITS] += 1
                wide &= wide - np.uint64(1)
            at += BLOCK
        while at < end and data[at] & 0xC0 == 0x80:  # of a character that was counted
            at += 1
        while at < end:
            if data[at] < 0x80:
                row[pages[data[at]] & SCRIPT_BITS] += 1
                at += 1
            else:
                code, size = code_point_at(data, at, end)
                row[class_of(code, index, pages) & SCRIPT_BITS] += 1
                at += size
    return counts[:, : len(SCRIPTS)].copy()
