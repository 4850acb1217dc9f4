"""Token hashes of text as it comes, as if it had been folded first, in one pass.

`folded_token_hashes(data, offsets)` is `token_hashes(*fold(data, offsets))` without writing the
folded text: each character becomes what the folding table says and goes straight into the hash of
its token. Where characters join (a mark and its letter, Hangul vowels and finals) more than one
must be seen at a time; a document that has such is left to the two kernels themselves.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.data import character_classes
from neardup.kernels.fold import JOINING, UNCHANGED, fold, folding_table
from neardup.kernels.jit import borrowing_kernel, kernel
from neardup.kernels.tokens import (
    FNV_PRIME,
    FNV_START,
    MARK,
    SINGLE,
    WORD,
    mixed,
    token_hashes,
)

Bytes = NDArray[np.uint8]
Hashes = NDArray[np.uint64]
Offsets = NDArray[np.int64]

NOT_ASCII, NOTHING, SEPARATOR = 0, 1, 2  # in `plain`, beside what an ASCII character becomes
IN_WORD, IN_SINGLE = 1, 2  # what is being read
LEFT = -1  # the document is not for this kernel
SPARE = 64  # tokens a document may have beyond what its bytes allow for


def folded_token_hashes(data: Bytes, offsets: Offsets) -> tuple[Hashes, Offsets]:
    """`(hashes, document_offsets)`, as `token_hashes` gives them for the folded text."""
    hashes, counts = _all_hashes(data, offsets, *_tables())
    left = np.flatnonzero(counts == LEFT)
    if not left.size:
        return hashes, np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    others, places = token_hashes(*fold(*_documents(data, offsets, left)))
    return _merged(hashes, counts, others, places)


@cache
def _tables() -> tuple[Any, ...]:
    """The last arguments of `_hash_document` but two."""
    folding = folding_table()
    index, pages = character_classes()
    plain = np.zeros(256, np.uint8)
    for code in range(128):
        action = folding.action_pages[code]
        first, last = folding.starts[action : action + 2] if action > JOINING else (0, 1)
        becomes = folding.codes[first] if action > JOINING and last > first else code
        role = pages[becomes] >> 4 & 7
        plain[code] = becomes if role == WORD else SEPARATOR if last > first else NOTHING
    return (
        plain,
        folding.action_index,
        folding.action_pages,
        folding.starts,
        folding.codes,
        folding.class_index,
        folding.class_pages,
        index,
        pages,
    )


@kernel
def _all_hashes(
    data: Bytes,
    offsets: Offsets,
    plain: Bytes,
    action_index: NDArray[np.uint16],
    action_pages: NDArray[np.uint16],
    starts: NDArray[np.int32],
    codes: NDArray[np.int32],
    class_index: NDArray[np.uint16],
    class_pages: Bytes,
    index: NDArray[np.uint16],
    pages: Bytes,
) -> tuple[Hashes, Offsets]:
    """The hashes of the documents that can be done here, and how many each has, or `LEFT`."""
    documents = len(offsets) - 1
    # Two words have a byte between them and a character that is a token has three bytes, so n
    # bytes hold n / 2 + 1 tokens at most. `_hash_document` counts what else folding makes, and
    # may write one place further.
    hashes = np.empty((offsets[-1] - offsets[0]) // 2 + documents * (1 + SPARE) + 1, np.uint64)
    counts = np.empty(documents, np.int64)
    filled = 0
    for document in range(documents):
        counts[document] = _hash_document(
            data,
            offsets[document],
            offsets[document + 1],
            plain,
            action_index,
            action_pages,
            starts,
            codes,
            class_index,
            class_pages,
            index,
            pages,
            hashes,
            filled,
        )
        filled += max(counts[document], 0)
    for place in range(filled):
        hashes[place] = mixed(hashes[place])
    return hashes[:filled], counts


@borrowing_kernel
def _hash_document(
    data: Bytes,
    at: int,
    end: int,
    plain: Bytes,
    action_index: NDArray[np.uint16],
    action_pages: NDArray[np.uint16],
    starts: NDArray[np.int32],
    codes: NDArray[np.int32],
    class_index: NDArray[np.uint16],
    class_pages: Bytes,
    index: NDArray[np.uint16],
    pages: Bytes,
    hashes: Hashes,
    place: int,
) -> int:
    """Write the hashes of one document from `place` on, not yet mixed; how many, or `LEFT`."""
    first_place = place
    spare = SPARE
    state = FNV_START  # of the token being read; FNV_START between tokens
    token = 0  # nothing, IN_WORD, or IN_SINGLE: a character and its marks
    while at < end:
        folded = plain[data[at]]
        if folded >= SEPARATOR:
            # No branch on whether a token goes on: it cannot be foretold, and costs more than all
            # the rest. The hash is written at every step and stays when its token ends.
            is_word = int(folded > SEPARATOR)
            hashes[place] = state
            place += token & ~is_word
            mask = np.uint64(-is_word)
            state = ((state ^ np.uint64(folded)) * FNV_PRIME & mask) | (FNV_START & ~mask)
            token = is_word
            at += 1
            continue
        if folded == NOT_ASCII:
            # For valid UTF-8; other bytes are left, and no byte after `end` is read.
            lead = int(data[at])
            width = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            if lead < 0xC0 or at + width > end:
                return LEFT
            code = lead & (0x7F >> width)
            for place_of_byte in range(at + 1, at + width):
                code = code << 6 | int(data[place_of_byte]) & 0x3F
            if code > 0x10FFFF:
                return LEFT
            at += width
            action = int(action_pages[int(action_index[code >> 8]) << 8 | code & 255])
            if action == JOINING:
                return LEFT
            first, last = 0, 1
            if action != UNCHANGED:
                first, last = int(starts[action]), int(starts[action + 1])
            for step in range(first, last):
                if action != UNCHANGED:
                    code = int(codes[step])
                    if class_pages[int(class_index[code >> 8]) << 8 | code & 255] > 0:
                        return LEFT
                role = int(pages[int(index[code >> 8]) << 8 | code & 255]) >> 4 & 7
                goes_on = token and (role == MARK or (role == WORD and token == IN_WORD))
                if token and not goes_on:
                    hashes[place] = state
                    place += 1
                    token = 0
                    state = FNV_START
                if not goes_on:
                    if role not in (WORD, SINGLE):
                        continue
                    token = IN_WORD if role == WORD else IN_SINGLE
                    if step > first or (role == SINGLE and width < 3):
                        spare -= 1
                        if spare < 0:
                            return LEFT
                state = _hash_code(state, code)
        else:
            at += 1
        if token == IN_SINGLE and at < end and plain[data[at]] >= SEPARATOR:
            hashes[place] = state
            place += 1
            token = 0
            state = FNV_START
    if token:
        hashes[place] = state
        place += 1
    return place - first_place


@borrowing_kernel
def _hash_code(state: np.uint64, code: int) -> np.uint64:
    """The state after the UTF-8 bytes of a code point."""
    if code < 0x80:
        return (state ^ np.uint64(code)) * FNV_PRIME
    if code < 0x800:
        state = (state ^ np.uint64(0xC0 | code >> 6)) * FNV_PRIME
        return (state ^ np.uint64(0x80 | code & 0x3F)) * FNV_PRIME
    if code < 0x10000:
        state = (state ^ np.uint64(0xE0 | code >> 12)) * FNV_PRIME
    else:
        state = (state ^ np.uint64(0xF0 | code >> 18)) * FNV_PRIME
        state = (state ^ np.uint64(0x80 | code >> 12 & 0x3F)) * FNV_PRIME
    state = (state ^ np.uint64(0x80 | code >> 6 & 0x3F)) * FNV_PRIME
    return (state ^ np.uint64(0x80 | code & 0x3F)) * FNV_PRIME


def _documents(data: Bytes, offsets: Offsets, which: Offsets) -> tuple[Bytes, Offsets]:
    """A buffer of some of the documents."""
    parts = [data[offsets[each] : offsets[each + 1]] for each in which]
    ends = np.cumsum([0, *(part.size for part in parts)], dtype=np.int64)
    return np.concatenate(parts), ends


@kernel
def _merged(
    hashes: Hashes, counts: Offsets, others: Hashes, places: Offsets
) -> tuple[Hashes, Offsets]:
    """The hashes of all documents in order; those that were `LEFT` are in `others`, in order."""
    merged = np.empty(hashes.size + others.size, np.uint64)
    offsets = np.zeros(counts.size + 1, np.int64)
    taken, other, filled = 0, 0, 0
    for document in range(counts.size):
        if counts[document] == LEFT:
            size = places[other + 1] - places[other]
            merged[filled : filled + size] = others[places[other] : places[other + 1]]
            other += 1
        else:
            size = counts[document]
            merged[filled : filled + size] = hashes[taken : taken + size]
            taken += size
        filled += size
        offsets[document + 1] = filled
    return merged, offsets
