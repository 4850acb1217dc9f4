# ruff: noqa: PLR1714 - compiled: comparisons, not tuples to search
"""Titles: a number for the words of one, and whether a page shows its own.

A page whose text did not arrive has its title in its head only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.characters import character_classes
from neardup.kernels.fold import FoldingTable, fold_documents, folding_table
from neardup.kernels.jit import Bytes, Numbers, borrowing_kernel, inlined_kernel, kernel
from neardup.kernels.lines import NINE, ZERO
from neardup.kernels.shingles import Hashes, document_hashes
from neardup.kernels.text_bits import BLOCK, equal_bits, lowest_bit
from neardup.kernels.tokens import tokens_of

SHORT = 4  # bytes: such a title says nothing
HALF = 6  # bytes: two Han characters
LONG = 64  # bytes that are looked for; more would make the worst case slower, not surer
SPACE, DASH, UNDERSCORE, BAR, CASE = 32, 45, 95, 124, 32
NOT_ASCII = 0x80
TWO_BYTES, MIDDLE_DOT, LEFT_QUOTE, RIGHT_QUOTE = 0xC2, 0xB7, 0xAB, 0xBB  # · « » in UTF-8
THREE_BYTES, PUNCTUATION, EN_DASH, EM_DASH = 0xE2, 0x80, 0x93, 0x94


def title_hashes(titles: Bytes, offsets: Numbers) -> Hashes:
    """A number for the words of each title, its numbers apart; 0 for one without words."""
    return _title_hashes(titles, offsets, folding_table(), *character_classes())


@kernel
def _title_hashes(
    titles: Bytes,
    offsets: Numbers,
    folding: FoldingTable,
    index: NDArray[np.uint16],
    pages: Bytes,
) -> Hashes:
    folded, places = fold_documents(titles, offsets, folding)
    for at in range(len(folded)):
        if ZERO <= folded[at] <= NINE:
            folded[at] = SPACE
    hashes, _, _, ends = tokens_of(folded, places, index, pages, False)
    return document_hashes(hashes[: ends[-1]], ends)


@kernel
def titles_in_texts(
    titles: Bytes, title_offsets: Numbers, texts: Bytes, text_offsets: Numbers
) -> NDArray[np.bool_]:
    """Whether each text has its title, or rather its first or longest part: the others may be names
    of the site. Half of a part is enough, because a print view adds a word to its title. The
    letters of ASCII are equal in both cases, and a title without a part of `SHORT` bytes counts as
    found.
    """
    stands = np.ones(len(title_offsets) - 1, np.bool_)
    for page in range(len(stands)):
        begin, end = title_offsets[page], title_offsets[page + 1]
        start, stop, first_stop = _parts(titles, begin, end)
        if stop - start >= SHORT:
            text = texts[text_offsets[page] : text_offsets[page + 1]]
            stands[page] = _is_shown(titles[start:stop], text) or (
                first_stop - begin >= SHORT and _is_shown(titles[begin:first_stop], text)
            )
    return stands


@borrowing_kernel
def _parts(title: Bytes, begin: int, end: int) -> tuple[int, int, int]:
    """Where the longest part of the title at title[begin:end] starts and ends, the first of equals,
    and where the first part ends.

    Parts end at bars, underscores, middle dots, angle quotes, long dashes, spaced hyphens, and
    hyphens beside a character beyond ASCII (标题-站点).
    """
    best_start, best_end, first_end, start, at = begin, begin, -1, begin, begin
    while at <= end:
        seam = 1 if at == end else _seam(title, begin, at, end)
        if seam:
            first, last = start, at
            while first < last and title[first] == SPACE:
                first += 1
            while first < last and title[last - 1] == SPACE:
                last -= 1
            if last - first > best_end - best_start:
                best_start, best_end = first, last
            if first_end < 0:
                first_end = last
            start = at + seam
        at += max(seam, 1)
    return best_start, best_end, first_end


@borrowing_kernel
def _seam(title: Bytes, begin: int, at: int, end: int) -> int:
    """The bytes of the mark between two parts that stands at `at`; 0 for none."""
    byte = title[at]
    if byte == BAR or byte == UNDERSCORE:
        return 1
    if byte == DASH and begin < at < end - 1:
        before, after = title[at - 1], title[at + 1]
        return 1 if (before == SPACE and after == SPACE) or max(before, after) >= NOT_ASCII else 0
    if byte == TWO_BYTES and at + 1 < end:
        second = title[at + 1]
        return 2 if second == MIDDLE_DOT or second == LEFT_QUOTE or second == RIGHT_QUOTE else 0
    if byte == THREE_BYTES and at + 2 < end and title[at + 1] == PUNCTUATION:
        return 3 if title[at + 2] == EN_DASH or title[at + 2] == EM_DASH else 0
    return 0


@borrowing_kernel
def _is_shown(part: Bytes, text: Bytes) -> bool:
    """Whether a text has a part of a title, or one half of a long part."""
    if len(part) < 2 * HALF:
        return _stands_in(part, text)
    half = min(len(part) // 2, LONG)
    return _stands_in(part[:half], text) or _stands_in(part[len(part) - half :], text)


@borrowing_kernel
def _stands_in(part: Bytes, text: Bytes) -> bool:
    """A plain search, which looks at places where the first and the last byte fit."""
    end, at = len(text) - len(part) + 1, 0  # after the last place where there is room for it
    while at + BLOCK <= end:
        found = _letter_bits(text, at, part[0])
        found &= _letter_bits(text, at + len(part) - 1, part[len(part) - 1])
        while found:
            if _stands_at(part, text, at + lowest_bit(found)):
                return True
            found &= found - np.uint64(1)
        at += BLOCK
    for place in range(at, end):
        if _stands_at(part, text, place):
            return True
    return False


@inlined_kernel
def _letter_bits(text: Bytes, at: int, byte: int) -> np.uint64:
    """Which of the 64 bytes from `at` on are this byte, or the same letter in the other case."""
    found: np.uint64 = equal_bits(text, at, np.uint8(byte))
    if _same_letter(byte, byte ^ CASE):
        found |= equal_bits(text, at, np.uint8(byte ^ CASE))
    return found


@borrowing_kernel
def _stands_at(part: Bytes, text: Bytes, at: int) -> bool:
    for place in range(len(part)):
        if not _same_letter(part[place], text[at + place]):
            return False
    return True


@borrowing_kernel
def _same_letter(one: int, other: int) -> bool:
    return one == other or (one ^ other == CASE and 97 <= (one | CASE) <= 122)
