# ruff: noqa: PLR1714 - compiled: comparisons, not tuples to search
"""The last word of each sentence, as byte spans of UTF-8 text.

Two readings of one idea (`reference/sentence_ends.py` has them without the speed):

* `han_before_stops`: the one Han character right before each Chinese full stop (`。`, or its half
  width form); a full stop after anything else gives nothing.
* `last_words`: the last word of each sentence that ends in punctuation. In a script without
  spaces, where no word has an end of its own, it is the last four characters at most.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.characters import (
    HAN,
    NOTHING,
    SCRIPT_BITS,
    SINGLE,
    SPACE,
    character_classes,
    class_of,
    role_of,
)
from neardup.kernels.jit import Bytes, Numbers, kernel
from neardup.kernels.sentences import CLOSING, STRONG, WEAK, is_among, sentence_spans
from neardup.kernels.utf8 import code_point_at

FULL_STOPS = (0x3002, 0xFF61)
RUN = 4  # characters that stand for a word where there are no spaces

Spans = tuple[Numbers, Numbers, Numbers]


def han_before_stops(data: Bytes, offsets: Numbers) -> Spans:
    """`(starts, ends, document_offsets)` of the Han characters before full stops."""
    return _han_before_stops(data, offsets, *character_classes())


def last_words(data: Bytes, offsets: Numbers) -> Spans:
    """`(starts, ends, document_offsets)` of the last words of sentences."""
    starts, ends, places = sentence_spans(data, offsets)
    return _last_words(data, starts, ends, places, *character_classes())


@kernel
def _han_before_stops(
    data: Bytes, offsets: Numbers, index: NDArray[np.uint16], pages: Bytes
) -> tuple[Numbers, Numbers, Numbers]:
    # A full stop has three bytes, so there are no more of them than a third of the bytes.
    room = (offsets[-1] - offsets[0]) // 3 + 1
    starts = np.empty(room, np.int64)
    ends = np.empty(room, np.int64)
    places = np.zeros(len(offsets), np.int64)
    count = 0
    for document in range(len(offsets) - 1):
        at, end = offsets[document], offsets[document + 1]
        before = at  # where the character before `at` starts; none yet
        is_han = False
        while at < end:
            if data[at] < 0x80:
                is_han = False
                at += 1
                continue
            code, size = code_point_at(data, at, end)
            if is_han and (code == FULL_STOPS[0] or code == FULL_STOPS[1]):
                starts[count] = before
                ends[count] = at
                count += 1
            is_han = class_of(code, index, pages) & SCRIPT_BITS == HAN
            before = at
            at += size
        places[document + 1] = count
    return starts[:count].copy(), ends[:count].copy(), places


@kernel
def _last_words(
    data: Bytes,
    starts: Numbers,
    ends: Numbers,
    places: Numbers,
    index: NDArray[np.uint16],
    pages: Bytes,
) -> tuple[Numbers, Numbers, Numbers]:
    # No more words than sentences.
    firsts = np.empty(len(starts), np.int64)
    lasts = np.empty(len(starts), np.int64)
    counts = np.zeros(len(places), np.int64)
    count = 0
    for document in range(len(places) - 1):
        for sentence in range(places[document], places[document + 1]):
            stop = _before_punctuation(data, starts[sentence], ends[sentence], index, pages)
            if stop < 0:
                continue
            first = _word_start(data, starts[sentence], stop, index, pages)
            if first < stop:
                firsts[count] = first
                lasts[count] = stop
                count += 1
        counts[document + 1] = count
    return firsts[:count].copy(), lasts[:count].copy(), counts


@kernel
def _before_punctuation(
    data: Bytes, begin: int, end: int, index: NDArray[np.uint16], pages: Bytes
) -> int:
    """Where the punctuation at the end of a sentence begins; -1 when no terminator is in it."""
    ended = False
    at = end
    while at > begin:
        last = _character_start(data, begin, at)
        code, _ = code_point_at(data, last, end)
        role = role_of(code, index, pages)
        if not (role == NOTHING or role == SPACE):
            break
        ended = ended or is_among(code, STRONG) or is_among(code, WEAK)
        if not ended and not is_among(code, CLOSING):
            return -1
        at = last
    return at if ended else -1


@kernel
def _word_start(data: Bytes, begin: int, end: int, index: NDArray[np.uint16], pages: Bytes) -> int:
    """Where the word that ends at `end` begins."""
    at = end
    singles = 0
    while at > begin:
        first = _character_start(data, begin, at)
        code, _ = code_point_at(data, first, end)
        role = role_of(code, index, pages)
        if role == NOTHING or role == SPACE:
            break
        if role == SINGLE:
            singles += 1
            if singles > RUN:
                break
        elif singles:
            break  # a spaced word before a run without spaces
        at = first
    return at


@kernel
def _character_start(data: Bytes, begin: int, end: int) -> int:
    at = end - 1
    while at > begin and data[at] & 0xC0 == 0x80:
        at -= 1
    return at
