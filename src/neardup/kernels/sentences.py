"""Sentences of UTF-8 text: how many, and where.

The rules, one by one (`reference/sentences.py` has them without the speed):

* A newline ends a sentence. A stretch without a letter or digit is none.
* `。！？｡` and the full stops of other scripts (`।॥؟۔։።។။`) end one wherever they stand; `．` does
  unless a digit is before it. `；` separates clauses, so it ends none.
* `. ! ? …` end one before white space or the end. `!` and `?` also before Han or Kana, where
  there is no space to wait for.
* The end takes in every further terminator and closing quote or bracket that follows.
* `. ! ? …` end none when a lower-case letter follows the space ("e.g. this", "Yahoo! is"). A
  single `.` ends none after an initial or letters with dots (J. Smith, U.S. Army), a known
  abbreviation (Mr. Smith), or a number that begins the sentence (1. Introduction); and as white
  space must follow, decimals and domain names are safe.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.characters import (
    HAN,
    KANA,
    LOWER_CASE,
    MARK,
    NO_SCRIPT,
    NOTHING,
    SINGLE,
    SPACE,
    WORD,
    character_classes,
    class_of,
    is_digit,
)
from neardup.kernels.jit import Bytes, Numbers, borrowing_kernel, inlined_kernel, kernel
from neardup.kernels.text_bits import (
    BLOCK,
    between_bits,
    count_bits,
    equal_bits,
    leading_zeros,
    lowest_bit,
)
from neardup.kernels.utf8 import code_point_at

LONGEST = 7  # letters of an abbreviation; as many as a packed word has room for


def packed_words(words: str) -> Numbers:
    """Lower-case ASCII words as numbers, the last letter in the lowest byte."""
    return np.array([int.from_bytes(word.encode(), "big") for word in words.split()], np.int64)


def code_points(characters: str) -> Numbers:
    """The code points of some characters."""
    return np.array([ord(character) for character in characters], np.int64)


# Words that a full stop follows inside a sentence. Those that as often stand at its end (etc, Inc,
# Ltd, Co) are not among them: the lower-case rule saves most of those.
TITLE_WORDS = (
    "mr mrs ms mx dr prof rev hon gen col maj capt cmdr lt sgt sen rep gov pres messrs mme mlle "
    "st mt ft al vs cf eg ie viz approx dept univ bzw evtl dra sra srta ud uds"
)
# Words that are abbreviations before a number and may be words before anything else.
NUMBERED_WORDS = (
    "no nos nr fig figs eq eqs sec ch vol vols pp ed eds ca av art para "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
TITLES = packed_words(TITLE_WORDS)
NUMBERED = packed_words(NUMBERED_WORDS)
STRONG = code_points("。！？｡।॥؟۔։።፧។။‼⁇⁈⁉")
WEAK = code_points(".!?…．")
CLOSING = code_points(")]}\"'”’»›」』）】》〉〕］｝＂＇〗〙〛｣")
OPENING = code_points("“‘「『（【《〈〔")
NEWLINE, STOP, EXCLAMATION, QUESTION, SMALL_M = 10, ord("."), ord("!"), ord("?"), ord("m")
FULL_WIDTH_STOP, ELLIPSIS = ord("．"), ord("…")
BEFORE_SPACE, ALWAYS = 1, 2


def count_sentences(data: Bytes, offsets: Numbers) -> NDArray[np.int32]:
    """How many sentences each document of a UTF-8 buffer has."""
    return _count(data, offsets, *character_classes())


def sentence_spans(data: Bytes, offsets: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """`(starts, ends, document_offsets)`: where sentences are in `data`, without the white space
    around them; those of document d are at `document_offsets[d]:document_offsets[d + 1]`."""
    counts = count_sentences(data, offsets)
    places = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=places[1:])
    starts, ends = _spans(data, offsets, places, *character_classes())
    return starts, ends, places


@kernel
def _count(
    data: Bytes, offsets: Numbers, index: NDArray[np.uint16], pages: Bytes
) -> NDArray[np.int32]:
    nowhere = np.empty(0, np.int64)
    counts = np.zeros(len(offsets) - 1, np.int32)
    for document in range(len(counts)):
        begin, end = offsets[document], offsets[document + 1]
        counts[document] = _scan(data, begin, end, index, pages, nowhere, nowhere, 0)
    return counts


@kernel
def _spans(
    data: Bytes, offsets: Numbers, places: Numbers, index: NDArray[np.uint16], pages: Bytes
) -> tuple[Numbers, Numbers]:
    # `_scan` finds the same sentences again, so `places` says exactly how much room it needs.
    starts = np.empty(places[-1], np.int64)
    ends = np.empty(places[-1], np.int64)
    for document in range(len(offsets) - 1):
        begin, end = offsets[document], offsets[document + 1]
        _scan(data, begin, end, index, pages, starts, ends, places[document])
    return starts, ends


@borrowing_kernel
def _scan(
    data: Bytes,
    begin: int,
    end: int,
    index: NDArray[np.uint16],
    pages: Bytes,
    starts: Numbers,
    ends: Numbers,
    place: int,
) -> int:
    """Count the sentences of one document; write their spans from `place` on if there is room.

    The state is that of the sentence being read: where it starts, where its last character that is
    not white space ends, and whether it has `content` (a letter or digit) and `letters`. While it
    is empty (`last == start`), white space moves its start. A terminator before any content ends
    nothing: it stands at the start of the sentence.
    """
    count = 0
    start = last = begin
    content = letters = False
    before = np.uint8(NO_SCRIPT)  # the class of the character before `at`
    at = begin
    while at < end:
        if at + BLOCK <= len(data) and data[at] < 0x80 and data[at + 1] < 0x80:
            # Most characters: nothing can end at them.
            run = _before_ends(data, at, end)
            size = count_bits(run)
            if size:
                some_letters = run & _letters(data, at)
                letters = letters or some_letters != 0
                content = content or run & (some_letters | _digits(data, at)) != 0
                visible = run & ~_spaces(data, at)
                if last == start:
                    start = last = at + min(lowest_bit(visible), size)
                if visible:
                    last = at + BLOCK - leading_zeros(visible)
                at += size
                before = pages[data[at - 1]]
                continue
        code, size = code_point_at(data, at, end)
        kind = class_of(code, index, pages)
        role = kind >> 4 & 7
        at += size
        ended = code == NEWLINE
        if role == SPACE:
            if last == start and not ended:
                start = last = at
        else:
            last = at
            if role in (WORD, SINGLE):
                content = True
                letters = letters or kind & NO_SCRIPT != NO_SCRIPT
            elif content and role == NOTHING:
                strength = _strength(code, before)
                if strength:
                    at, ended = _take_terminator(
                        data, code, strength, start, at, end, letters, index, pages
                    )
                    last = at
        if ended:
            if content:
                if len(starts):
                    starts[place + count] = start
                    ends[place + count] = last
                count += 1
            start = last = at
            content = letters = False
        before = kind
    if content:
        if len(starts):
            starts[place + count] = start
            ends[place + count] = last
        count += 1
    return count


@inlined_kernel
def _before_ends(data: Bytes, at: int, end: int) -> np.uint64:
    """Of 64 bytes, those before the first that may end a sentence or is not ASCII, and before
    `end`."""
    ends = equal_bits(data, at, np.uint8(NEWLINE)) | equal_bits(data, at, np.uint8(STOP))
    ends |= equal_bits(data, at, np.uint8(EXCLAMATION)) | equal_bits(data, at, np.uint8(QUESTION))
    ends |= between_bits(data, at, np.uint8(0x80), np.uint8(0xFF))
    if end - at < BLOCK:
        ends |= np.uint64(1) << np.uint64(end - at)
    return ~ends & (ends - np.uint64(1))  # type: ignore[no-any-return]


@inlined_kernel
def _letters(data: Bytes, at: int) -> np.uint64:
    letters = between_bits(data, at, np.uint8(65), np.uint8(90))
    return letters | between_bits(data, at, np.uint8(97), np.uint8(122))  # type: ignore[no-any-return]


@inlined_kernel
def _digits(data: Bytes, at: int) -> np.uint64:
    return between_bits(data, at, np.uint8(48), np.uint8(57))  # type: ignore[no-any-return]


@inlined_kernel
def _spaces(data: Bytes, at: int) -> np.uint64:
    spaces = between_bits(data, at, np.uint8(9), np.uint8(13))
    return spaces | between_bits(data, at, np.uint8(28), np.uint8(32))  # type: ignore[no-any-return]


@borrowing_kernel
def _take_terminator(
    data: Bytes,
    code: int,
    strength: int,
    start: int,
    at: int,
    end: int,
    letters: bool,
    index: NDArray[np.uint16],
    pages: Bytes,
) -> tuple[int, bool]:
    """The place after a terminator that ends at `at` and what closes behind it, and whether the
    sentence that started at `start` ends there."""
    after, strong = _take_closing(data, at, end)
    if strong or strength == ALWAYS:
        return after, True
    if not _may_end(data, code, after, end, index, pages):
        return after, False
    if code != STOP or after > at:
        return after, True  # only a full stop by itself has another use
    return after, letters and not _is_inner_stop(data, start, at - 1, end, index, pages)


@borrowing_kernel
def _strength(code: int, before: np.uint8) -> int:
    """How surely a character ends a sentence: `ALWAYS`, `BEFORE_SPACE`, or 0 for never."""
    if code in (STOP, EXCLAMATION, QUESTION, ELLIPSIS):
        return BEFORE_SPACE
    if code == FULL_WIDTH_STOP:
        return 0 if is_digit(before) else ALWAYS
    if code > 0x80 and is_among(code, STRONG):
        return ALWAYS
    return 0


@borrowing_kernel
def is_among(code: int, codes: Numbers) -> bool:
    """Whether a number is one of a few."""
    for each in codes:
        if each == code:
            return True
    return False


@borrowing_kernel
def _take_closing(data: Bytes, at: int, end: int) -> tuple[int, bool]:
    """Past the terminators and closing quotes from `at` on; whether one of them ends always."""
    strong = False
    while at < end:
        code, size = code_point_at(data, at, end)
        if code > 0x80 and is_among(code, STRONG):
            strong = True
        elif not (is_among(code, CLOSING) or is_among(code, WEAK)):
            break
        at += size
    return at, strong


@borrowing_kernel
def _may_end(
    data: Bytes, terminator: int, at: int, end: int, index: NDArray[np.uint16], pages: Bytes
) -> bool:
    """Whether what follows a weak terminator lets the sentence end."""
    spaced = False
    while at < end:
        code, size = code_point_at(data, at, end)
        kind = class_of(code, index, pages)
        if code == NEWLINE:
            return True
        if kind >> 4 & 7 != SPACE:
            if spaced:
                return bool(kind & LOWER_CASE == 0)
            script = kind & NO_SCRIPT
            return terminator in (EXCLAMATION, QUESTION) and (
                script in (HAN, KANA) or is_among(code, OPENING)
            )
        spaced = True
        at += size
    return True


@borrowing_kernel
def _is_inner_stop(
    data: Bytes, begin: int, stop: int, end: int, index: NDArray[np.uint16], pages: Bytes
) -> bool:
    """Whether the full stop at `stop` belongs to an initial or an abbreviation.

    Reads the word before it backwards and packs its letters as `packed_words` does. It gives up
    after `LONGEST` letters: a longer word is in no list.
    """
    word, letters, plain, at = 0, 0, True, stop  # `plain`: all of it are ASCII letters
    while at > begin and letters <= LONGEST:
        at -= 1
        while at > begin and data[at] & 0xC0 == 0x80:
            at -= 1
        code, _ = code_point_at(data, at, stop)
        kind = class_of(code, index, pages)
        role = kind >> 4 & 7
        if role == MARK:
            plain = False
            continue
        if role != WORD:
            break
        if is_digit(kind):
            return False
        if 65 <= code <= 90:
            code += 32
        plain = plain and code < 0x80
        if plain and letters < LONGEST:
            word |= code << 8 * letters
        letters += 1
    if letters == 1:
        return not plain or word != SMALL_M  # a.m. and p.m. end sentences
    if not plain or letters > LONGEST:
        return False
    if is_among(word, TITLES):
        return True
    return is_among(word, NUMBERED) and _digit_follows(data, stop + 1, end, index, pages)


@borrowing_kernel
def _digit_follows(data: Bytes, at: int, end: int, index: NDArray[np.uint16], pages: Bytes) -> bool:
    while at < end:
        code, size = code_point_at(data, at, end)
        kind = class_of(code, index, pages)
        if kind >> 4 & 7 != SPACE:
            return is_digit(kind)
        at += size
    return False
