# ruff: noqa: PLR1714 - compiled: comparisons, not tuples to search
"""Whether a page shows its title: a page whose text did not arrive has it in its head only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import Bytes, Numbers, kernel

SHORT = 4  # bytes: such a title says nothing
LONG = 64  # bytes that are looked for; more would make the worst case slower, not surer
SPACE, DASH, UNDERSCORE, BAR, CASE = 32, 45, 95, 124, 32
TWO_BYTES, MIDDLE_DOT, LEFT_QUOTE, RIGHT_QUOTE = 0xC2, 0xB7, 0xAB, 0xBB  # · « » in UTF-8
THREE_BYTES, PUNCTUATION, EN_DASH, EM_DASH = 0xE2, 0x80, 0x93, 0x94


@kernel
def titles_in_texts(
    titles: Bytes, title_offsets: Numbers, texts: Bytes, text_offsets: Numbers
) -> NDArray[np.bool_]:
    """Whether each text has its title, or rather the longest part of it: the others may be names of
    the site. The letters of ASCII are equal in both cases; of a long part its beginning counts; and
    a part of less than `SHORT` bytes counts as found.
    """
    stands = np.ones(len(title_offsets) - 1, np.bool_)
    for page in range(len(stands)):
        start, end = longest_part(titles, title_offsets[page], title_offsets[page + 1])
        if end - start >= SHORT:
            part = titles[start : min(end, start + LONG)]
            stands[page] = _stands_in(part, texts[text_offsets[page] : text_offsets[page + 1]])
    return stands


@kernel
def longest_part(title: Bytes, begin: int, end: int) -> tuple[int, int]:
    """Where the longest part of the title at title[begin:end] starts and ends, the first of equals.

    Parts end at bars, underscores, middle dots, angle quotes, long dashes and spaced hyphens.
    """
    best_start, best_end, start, at = begin, begin, begin, begin
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
            start = at + seam
        at += max(seam, 1)
    return best_start, best_end


@kernel
def _seam(title: Bytes, begin: int, at: int, end: int) -> int:
    """The bytes of the mark between two parts that stands at `at`; 0 for none."""
    byte = title[at]
    if byte == BAR or byte == UNDERSCORE:
        return 1
    if byte == DASH and begin < at < end - 1:
        return 1 if title[at - 1] == SPACE and title[at + 1] == SPACE else 0
    if byte == TWO_BYTES and at + 1 < end:
        second = title[at + 1]
        return 2 if second == MIDDLE_DOT or second == LEFT_QUOTE or second == RIGHT_QUOTE else 0
    if byte == THREE_BYTES and at + 2 < end and title[at + 1] == PUNCTUATION:
        return 3 if title[at + 2] == EN_DASH or title[at + 2] == EM_DASH else 0
    return 0


@kernel
def _stands_in(part: Bytes, text: Bytes) -> bool:
    """Headings come early in a text, so a plain search does."""
    size = len(part)
    for at in range(len(text) - size + 1):
        place = 0
        while place < size and _same_letter(part[place], text[at + place]):
            place += 1
        if place == size:
            return True
    return False


@kernel
def _same_letter(one: int, other: int) -> bool:
    return one == other or (one ^ other == CASE and 97 <= (one | CASE) <= 122)
