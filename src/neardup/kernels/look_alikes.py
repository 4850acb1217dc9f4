"""Words that mix Latin with Cyrillic or Greek look-alikes, written in one script.

A word in which a few letters were replaced by letters of another script that look the same reads as
before and compares as another. A word of one script is left alone, so real Russian or Greek never
changes. In a word with letters of Latin and of another script,

1. if every letter of the other script looks like a Latin one, all become Latin;
2. else, if every Latin letter looks like one of the other script, and they are fewer, all become
   that;
3. else the word mixes on purpose (a brand with a Russian ending, `10kΩ`) and stays as it is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.characters import MARK, SCRIPT_BITS, SCRIPTS, WORD, class_of
from neardup.kernels.data import character_classes
from neardup.kernels.jit import kernel
from neardup.kernels.text_bits import BLOCK, between_bits
from neardup.kernels.utf8 import code_point_at, write_code_point

LATIN, CYRILLIC, GREEK = (SCRIPTS.index(name) for name in ("Latin", "Cyrillic", "Greek"))
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
