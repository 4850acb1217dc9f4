"""What each character is: the script of a letter, its part in words and sentences, its case.

A shipped table (`character_classes`) has one byte per code point, its class:

    bit   7           6 5 4    3 2 1 0
          lower case  role     script

The role says what the character does to a token (`tokens` has the rules). The script is an index
into `SCRIPTS`, or `NO_SCRIPT` for all that is no letter, digits among it.

**Look-alikes** (`unmix`): words that mix Latin with Cyrillic or Greek letters are written in one
script. A word in which a few letters were replaced by letters of another script that look the same
reads as before and compares as another. A word of one script is left alone, so real Russian or
Greek never changes. In a word with letters of Latin and of another script,

1. if every letter of the other script looks like a Latin one, all become Latin;
2. else, if every Latin letter looks like one of the other script, and they are fewer, all become
   that;
3. else the word mixes on purpose (a brand with a Russian ending, `10kΩ`) and stays as it is.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import Bytes, Numbers, borrowing_kernel, kernel
from neardup.kernels.text_bits import BLOCK, between_bits, count_bits, lowest_bit
from neardup.kernels.utf8 import code_point_at, write_code_point


@cache
def table(name: str) -> dict[str, NDArray[np.generic]]:
    """The arrays of one table file."""
    with (
        resources.files("neardup.kernels").joinpath("data", f"{name}.npz").open("rb") as file,
        np.load(file) as arrays,
    ):
        return {each: arrays[each] for each in arrays.files}


@cache
def character_classes() -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """`(index, pages)`: the class of code point c is `pages[index[c >> 8] * 256 + c % 256]`."""
    arrays = table("characters")
    return arrays["index"].astype(np.uint16), arrays["pages"].astype(np.uint8)


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
LATIN, HAN, KANA, CYRILLIC, GREEK = (
    SCRIPTS.index(name) for name in ("Latin", "Han", "Kana", "Cyrillic", "Greek")
)


@borrowing_kernel
def class_of(code: int, index: NDArray[np.uint16], pages: Bytes) -> np.uint8:
    """The class of a code point; `index` and `pages` are `character_classes()`."""
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


FIRST_LEAD, LAST_LEAD = 0xCD, 0xD4  # of the bytes that Greek and Cyrillic letters begin with
FIRST_CODE, CODES = 0x370, 0x530 - 0x370

# Each letter before the Latin one that it looks like.
CYRILLIC_PAIRS = "аaеeоoрpсcуyхxіiјjѕsһhԁdԛqԝwѵvӏlкkүyАAВBЕEЅSІIЈJКKМMНHОOРPСCТTУYХXҮYԌGԚQԜWӀIѴV"
GREEK_PAIRS = "οoνvαaιiκkρpυuχxγyϲcϳjΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXϹCͿJ"
_PAIRS = [
    [(ord(other), ord(latin)) for other, latin in zip(letters[::2], letters[1::2], strict=True)]
    for letters in (CYRILLIC_PAIRS, GREEK_PAIRS)
]
TO_LATIN = np.zeros(CODES, np.int64)  # by code point from FIRST_CODE on; 0 for none
FROM_LATIN = np.zeros((2, 128), np.int64)  # to Cyrillic and to Greek, by code point
for _script, _pairs in enumerate(_PAIRS):
    for _other, _latin in _pairs:
        TO_LATIN[_other - FIRST_CODE] = _latin
        if not FROM_LATIN[_script, _latin]:
            FROM_LATIN[_script, _latin] = _other

KEEP, TO_LATIN_WORD, TO_CYRILLIC_WORD, TO_GREEK_WORD = range(4)


def unmix(
    data: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The documents of a UTF-8 buffer with mixed words in one script; itself where there are none.

    `offsets` starts at 0 and ends with the size of the buffer.
    """
    index, pages = character_classes()
    growth = _growth(data, offsets, index, pages)
    if growth < 0:
        return data, offsets
    return _unmix(data, offsets, growth, index, pages)


@kernel
def _growth(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    index: NDArray[np.uint16],
    pages: NDArray[np.uint8],
) -> int:
    """How many bytes mixed words may add; -1 where there is none that changes."""
    growth, changes = 0, False
    for document in range(len(offsets) - 1):
        at, end = offsets[document], offsets[document + 1]
        begin = at
        if not _may_be_mixed(data, at, end):
            continue
        while at < end:
            at = _next_letter(data, at, end)
            if at < end:
                start = _word_start(data, at, begin, index, pages)
                at, action = _word(data, start, end, index, pages)
                begin = at
                if action != KEEP:
                    changes = True
                    growth += (at - start) * (action != TO_LATIN_WORD)
    return growth if changes else -1


@kernel
def _unmix(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    growth: int,
    index: NDArray[np.uint16],
    pages: NDArray[np.uint8],
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    out = np.empty(len(data) + growth, np.uint8)
    ends = np.zeros(len(offsets), np.int64)
    size = 0
    for document in range(len(offsets) - 1):
        at, end = offsets[document], offsets[document + 1]
        written = at  # of the document: up to here it is in `out`
        while at < end:
            at = _next_letter(data, at, end)
            if at == end:
                break
            start = _word_start(data, at, written, index, pages)
            at, action = _word(data, start, end, index, pages)
            if action == KEEP:
                start = at
            out[size : size + start - written] = data[written:start]
            size += start - written
            written = at
            while start < at:
                code, width = code_point_at(data, start, end)
                size = write_code_point(out, size, _replaced(code, action))
                start += width
        out[size : size + end - written] = data[written:end]
        size += end - written
        ends[document + 1] = size
    return out[:size], ends


@kernel
def _may_be_mixed(data: NDArray[np.uint8], at: int, end: int) -> bool:
    """Whether any letter is Greek or Cyrillic."""
    found = np.uint64(0)
    while at + BLOCK <= end:
        found |= between_bits(data, at, np.uint8(FIRST_LEAD), np.uint8(LAST_LEAD))
        at += BLOCK
    for place in range(at, end):
        found |= np.uint64((data[place] >= FIRST_LEAD) & (data[place] <= LAST_LEAD))
    return bool(found)


@kernel
def _next_letter(data: NDArray[np.uint8], at: int, end: int) -> int:
    """The next place that may hold a letter of Greek or Cyrillic, or `end`."""
    while at < end and not FIRST_LEAD <= data[at] <= LAST_LEAD:
        at += 1
    return at


@kernel
def _is_of_word(code: int, index: NDArray[np.uint16], pages: NDArray[np.uint8]) -> bool:
    role = class_of(code, index, pages) >> 4 & 7
    return bool(role == WORD or role == MARK)  # noqa: PLR1714 - compiled


@kernel
def _word_start(
    data: NDArray[np.uint8],
    at: int,
    begin: int,
    index: NDArray[np.uint16],
    pages: NDArray[np.uint8],
) -> int:
    """Where the word around `at` starts, from `begin` on."""
    while at > begin:
        before = at - 1
        while before > begin and data[before] & 0xC0 == 0x80:
            before -= 1
        code, _ = code_point_at(data, before, at)
        if not _is_of_word(code, index, pages):
            break
        at = before
    return at


@kernel
def _word(
    data: NDArray[np.uint8],
    at: int,
    end: int,
    index: NDArray[np.uint16],
    pages: NDArray[np.uint8],
) -> tuple[int, int]:
    """The end of the word that starts at `at`, and what becomes of it."""
    latin, cyrillic, greek = 0, 0, 0  # letters of each
    others_as_latin, as_cyrillic, as_greek = 0, 0, 0  # letters that look like one of another script
    is_first = True
    while at < end:
        code, width = code_point_at(data, at, end)
        if not is_first and not _is_of_word(code, index, pages):
            break
        is_first = False
        at += width
        script = class_of(code, index, pages) & SCRIPT_BITS
        if script == LATIN:
            latin += 1
            if code < 128:
                as_cyrillic += FROM_LATIN[0, code] > 0
                as_greek += FROM_LATIN[1, code] > 0
        elif script == CYRILLIC or script == GREEK:  # noqa: PLR1714 - compiled
            cyrillic += script == CYRILLIC
            greek += script == GREEK
            if FIRST_CODE <= code < FIRST_CODE + CODES:
                others_as_latin += TO_LATIN[code - FIRST_CODE] > 0
    if latin == 0 or cyrillic + greek == 0:
        return at, KEEP
    if others_as_latin == cyrillic + greek:
        return at, TO_LATIN_WORD
    if greek == 0 and as_cyrillic == latin and latin < cyrillic:
        return at, TO_CYRILLIC_WORD
    if cyrillic == 0 and as_greek == latin and latin < greek:
        return at, TO_GREEK_WORD
    return at, KEEP


@kernel
def _replaced(code: int, action: int) -> int:
    """A letter of a mixed word, in the script that the word is written in."""
    replaced = 0
    if action == TO_LATIN_WORD and FIRST_CODE <= code < FIRST_CODE + CODES:
        replaced = TO_LATIN[code - FIRST_CODE]
    elif action > TO_LATIN_WORD and code < 128:
        replaced = FROM_LATIN[action - TO_CYRILLIC_WORD, code]
    return replaced if replaced else code
