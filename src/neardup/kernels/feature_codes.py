"""Feature codes of paragraphs, and what two lists of them have in common.

A symbol is a character of a script without spaces (Han, Kana, Thai) or a word of a spaced one: its
first eight UTF-8 bytes, the first byte highest, zeros behind. So symbols sort as their text does,
and a person can read them back. 0 is no symbol.

Lists are ragged: list r is `values[offsets[r]:offsets[r + 1]]`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.characters import MARK, SINGLE, SPACE, WORD, character_classes, role_of
from neardup.kernels.jit import Bytes, kernel
from neardup.kernels.shingles import count_common
from neardup.kernels.utf8 import code_point_at

Symbols = NDArray[np.uint64]
Offsets = NDArray[np.int64]

SYMBOL_BYTES = 8


def paragraph_codes(data: Bytes, offsets: Offsets, marks: int) -> tuple[Symbols, Symbols]:
    """The first symbol of each paragraph, and the symbol before each of its first `marks`
    punctuation marks (a row a paragraph, zeros where there are fewer).

    A punctuation mark is any sign that is no letter, digit or space, unless it stands inside a
    word (don't, 3.5, example.org). A mark right after another has no symbol of its own.
    """
    main = np.zeros(len(offsets) - 1, np.uint64)
    auxiliary = np.zeros((len(offsets) - 1, marks), np.uint64)
    _codes(data, offsets, *character_classes(), main, auxiliary)
    return main, auxiliary


@kernel
def _codes(
    data: Bytes,
    offsets: Offsets,
    index: NDArray[np.uint16],
    pages: Bytes,
    main: Symbols,
    auxiliary: Symbols,
) -> None:
    marks = auxiliary.shape[1]
    for paragraph in range(main.size):
        at, end = offsets[paragraph], offsets[paragraph + 1]
        start, stop = at, at  # of the last symbol
        first_start, first_stop = at, at
        seen = False  # a symbol at all
        waiting = False  # one that no mark has taken
        in_word = False
        filled = 0
        while at < end and filled < marks:
            code, size = code_point_at(data, at, end)
            role = role_of(code, index, pages)
            if role in (SINGLE, WORD):
                if role == SINGLE or not in_word:
                    start = at
                    if not seen:
                        first_start = at
                stop = at + size
                in_word = role == WORD
                seen = waiting = True
            elif role == MARK:
                if waiting and stop == at:
                    stop = at + size
            elif role == SPACE:
                in_word = False
            elif in_word and stop == at and _word_follows(data, at + size, end, index, pages):
                stop = at + size
            else:
                if waiting:
                    auxiliary[paragraph, filled] = _packed(data, start, stop)
                    filled += 1
                in_word = waiting = False
            if seen and start == first_start:
                first_stop = stop
            at += size
        if seen:
            main[paragraph] = _packed(data, first_start, first_stop)


@kernel
def _word_follows(data: Bytes, at: int, end: int, index: NDArray[np.uint16], pages: Bytes) -> bool:
    if at >= end:
        return False
    code, _ = code_point_at(data, at, end)
    return role_of(code, index, pages) == WORD


@kernel
def _packed(data: Bytes, start: int, stop: int) -> np.uint64:
    symbol = np.uint64(0)
    for step in range(SYMBOL_BYTES):
        byte = np.uint64(data[start + step]) if start + step < stop else np.uint64(0)
        symbol = symbol << np.uint64(8) | byte
    return symbol


@kernel
def common_symbols(
    left: Symbols, left_offsets: Offsets, right: Symbols, right_offsets: Offsets
) -> Offsets:
    """How many symbols list r of both sides have in common, repeats counted (multisets)."""
    common = np.zeros(left_offsets.size - 1, np.int64)
    for row in range(common.size):
        ours = np.sort(left[left_offsets[row] : left_offsets[row + 1]])
        theirs = np.sort(right[right_offsets[row] : right_offsets[row + 1]])
        common[row] = count_common(ours, 0, ours.size, theirs, 0, theirs.size)
    return common


@kernel
def equal_lists(
    left: Symbols, left_offsets: Offsets, right: Symbols, right_offsets: Offsets
) -> NDArray[np.bool_]:
    """Whether list r is the same on both sides, symbol by symbol."""
    equal = np.zeros(left_offsets.size - 1, np.bool_)
    for row in range(equal.size):
        ours = left[left_offsets[row] : left_offsets[row + 1]]
        theirs = right[right_offsets[row] : right_offsets[row + 1]]
        equal[row] = np.array_equal(ours, theirs)
    return equal
