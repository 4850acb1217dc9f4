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

from neardup.kernels.bits import BLOCK, LAST, SHIFT, Bits, lowest_bit, next_set
from neardup.kernels.data import character_classes
from neardup.kernels.fold import JOINING, UNCHANGED, fold, folding_table
from neardup.kernels.jit import borrowing_kernel, inlined_kernel, kernel
from neardup.kernels.text_bits import TextBits, text_bits
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
NOT_SIMPLE, NO_TOKEN = np.uint64(0), np.uint64(1)  # in `characters`, beside hashes
FIRST_OF_THREE = 0x800  # the first code point of three bytes
SHORT = 8  # bytes of a word that are read at once
AT_ONCE = 256  # words that are hashed together
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
LOWER = np.uint64(0x2020202020202020)
LOW_BYTE = np.uint64(255)
SPARE = 4096  # tokens that all documents may have beyond what their bytes allow for
RUN_SPARE = 64  # and one run of letters


def folded_token_hashes(
    data: Bytes, offsets: Offsets, bits: TextBits | None = None
) -> tuple[Hashes, Offsets]:
    """`(hashes, document_offsets)`, as `token_hashes` gives them for the folded text.

    `bits` are those of `text_bits(data)`, for a caller that has them.
    """
    if bits is None:
        data, offsets = data[offsets[0] : offsets[-1]], offsets - offsets[0]
        bits = text_bits(data)
    hashes = np.empty(len(data) // 2 + len(offsets) + SPARE + 2 * RUN_SPARE, np.uint64)
    counts = _all_hashes(data, offsets, bits.runs, bits.odd, hashes, _characters(), *_tables())
    hashes = hashes[: counts[counts != LEFT].sum()]
    left = np.flatnonzero(counts == LEFT)
    if not left.size:
        return hashes, np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    others, places = token_hashes(*fold(*_documents(data, offsets, left)))
    return _merged(hashes, counts, others, places)


@cache
def _characters() -> Hashes:
    """For each code point of three bytes what it becomes: a token by itself, as its hash before it
    is mixed; `NO_TOKEN`; or `NOT_SIMPLE`: what stands before or after it counts, too."""
    folding = folding_table()
    index, pages = character_classes()
    codes = np.arange(FIRST_OF_THREE, 0x10000)
    actions = folding.action_pages[folding.action_index[codes >> 8].astype(int) << 8 | codes & 255]
    firsts = folding.starts[actions.astype(int)]
    single = np.isin(actions, (UNCHANGED, JOINING)) | (folding.starts[actions + 1] == firsts + 1)
    folded = np.where(actions > JOINING, folding.codes[firsts * single], codes)
    classes = folding.class_pages[folding.class_index[folded >> 8].astype(int) << 8 | folded & 255]
    roles = pages[index[folded >> 8].astype(int) << 8 | folded & 255] >> 4 & 7
    simple = single & (actions != JOINING) & ((actions == UNCHANGED) | (classes == 0))
    characters = np.full(0x10000, NOT_SIMPLE, np.uint64)
    characters[codes[simple & (roles < WORD)]] = NO_TOKEN
    tokens = simple & (roles == SINGLE)
    characters[codes[tokens]] = _code_hashes(folded[tokens])
    return characters


@cache
def _tables() -> tuple[Any, ...]:
    """The last arguments of `_all_hashes`."""
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
def _code_hashes(codes: Offsets) -> Hashes:
    hashes = np.empty(len(codes), np.uint64)
    for place in range(len(codes)):
        hashes[place] = _hash_code(FNV_START, codes[place])
    return hashes


@kernel
def _all_hashes(
    data: Bytes,
    offsets: Offsets,
    runs: Bits,
    odd: Bits,
    hashes: Hashes,
    characters: Hashes,
    plain: Bytes,
    action_index: NDArray[np.uint16],
    action_pages: NDArray[np.uint16],
    starts: NDArray[np.int32],
    codes: NDArray[np.int32],
    class_index: NDArray[np.uint16],
    class_pages: Bytes,
    index: NDArray[np.uint16],
    pages: Bytes,
) -> Offsets:
    """Write the hashes of the documents that can be done here; how many each has, or `LEFT`.

    Two words have a byte between them and a character that is a token has three bytes, so n bytes
    hold n / 2 + 1 tokens at most. Folding makes more of some: a document after which there are
    `SPARE` too many is left. By then one run has made `RUN_SPARE` more at most, and written one
    place further.
    """
    counts = np.empty(len(offsets) - 1, np.int64)
    waiting = np.empty((3, AT_ONCE), np.int64)  # words to be hashed: begin, end, place
    states = np.empty(AT_ONCE, np.uint64)
    filled, count = 0, 0  # hashes, words that wait
    for document in range(len(counts)):
        begin, end = offsets[document], offsets[document + 1]
        has_odd = next_set(odd, begin, end) < end
        most = end // 2 + document + 1 + SPARE
        place, start, before = filled, LEFT, np.uint64(0)
        for block in range(begin >> SHIFT, (end >> SHIFT) + 1):
            changes, before = _changes(runs, block, begin, end, before)
            while changes:
                stop = (block << SHIFT) + lowest_bit(changes)
                changes &= changes - np.uint64(1)
                if start == LEFT:
                    start = stop
                    continue
                if not has_odd or next_set(odd, start, stop) == stop:
                    waiting[0, count], waiting[1, count], waiting[2, count] = start, stop, place
                    place += 1
                    count += 1
                    if count == AT_ONCE:
                        _hash_waiting(data, waiting, states, hashes)
                        count = 0
                    start = LEFT
                    continue
                at, place = _hash_simple(data, start, stop, characters, hashes, place)
                start = LEFT
                if at < stop:
                    found = _hash_run(
                        data,
                        at,
                        stop,
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
                        place,
                    )
                    place += found
                    if found == LEFT or place > most - (end - stop) // 2:
                        place = LEFT
                        break
            if place == LEFT:
                break
        counts[document] = place - filled if place != LEFT else LEFT
        filled += max(counts[document], 0)
        while count and waiting[2, count - 1] >= filled:
            count -= 1  # of a document that was left
    _hash_waiting(data, waiting[:, :count], states, hashes)
    for place in range(filled):
        hashes[place] = mixed(hashes[place])
    return counts


@inlined_kernel
def _changes(
    runs: Bits, block: int, begin: int, end: int, before: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Where in a block the runs of a document begin and end, and whether one goes on behind it.

    The bit of the byte after the document's last is in the last block."""
    word, at = runs[block], block << SHIFT
    if at < begin:
        word &= ALL << np.uint64(begin - at)
    if at + BLOCK > end:
        word &= (np.uint64(1) << np.uint64(end - at)) - np.uint64(1)
    return word ^ (word << np.uint64(1) | before), word >> np.uint64(LAST)


@borrowing_kernel
def _hash_waiting(data: Bytes, waiting: Offsets, states: Hashes, hashes: Hashes) -> None:
    """Write the states of the words that wait; their first bytes are taken together."""
    begins, ends, places = waiting[0], waiting[1], waiting[2]
    states = states[: len(begins)]
    for word in range(len(states)):
        states[word] = _first_bytes(data, begins[word])
    for word in range(len(states)):  # the compiler makes vector operations of it
        content, state = states[word], FNV_START
        for step in range(SHORT):
            after = (state ^ (content & LOW_BYTE)) * FNV_PRIME
            state = after if step < ends[word] - begins[word] else state
            content >>= np.uint64(8)
        states[word] = state
    for word in range(len(states)):
        state = states[word]
        for at in range(begins[word] + SHORT, ends[word]):
            state = (state ^ np.uint64(data[at] | 0x20)) * FNV_PRIME
        hashes[places[word]] = state


@inlined_kernel
def _first_bytes(data: Bytes, at: int) -> np.uint64:
    """Eight bytes, letters in lower case: that is one more bit, which digits have already."""
    word = np.uint64(0)
    if at + SHORT <= len(data):
        base = np.uint64(at)
        for step in range(SHORT):  # the compiler makes one load of it
            word |= np.uint64(data[base + np.uint64(step)]) << np.uint64(8 * step)
    else:
        for step in range(len(data) - at):
            word |= np.uint64(data[at + step]) << np.uint64(8 * step)
    return word | LOWER


@inlined_kernel
def _hash_word(data: Bytes, at: int, stop: int) -> np.uint64:
    """The state after a word of ASCII letters and digits."""
    state = FNV_START
    word = _first_bytes(data, at)
    for step in range(SHORT):  # no branch on its length, which cannot be foretold
        after = (state ^ (word & LOW_BYTE)) * FNV_PRIME
        state = after if at + step < stop else state
        word >>= np.uint64(8)
    for place in range(at + SHORT, stop):
        state = (state ^ np.uint64(data[place] | 0x20)) * FNV_PRIME
    return state


@inlined_kernel
def _hash_simple(
    data: Bytes, at: int, stop: int, characters: Hashes, hashes: Hashes, place: int
) -> tuple[int, int]:
    """Write the hashes of words and characters as far as each is a token by itself; where that
    ends, and the place after the last. The token before a character that may join it is left, too.
    """
    token = at  # where the last token begins, if it ends at `at`
    while at < stop:
        begin, last = at, NO_TOKEN
        while at < stop and 48 <= data[at] <= 122:
            at += 1
        if at > begin:
            token = begin
            hashes[place] = _hash_word(data, begin, at)
            place += 1
            continue
        while at + 3 <= stop and data[at] & 0xF0 == 0xE0:
            character = characters[_code_of_three(data, np.uint64(at))]
            if character == NOT_SIMPLE:
                break
            hashes[place] = last = character
            place += int(character != NO_TOKEN)
            at += 3
        if at == begin:
            break
        token = at if last == NO_TOKEN else at - 3
    return (at, place) if at == stop else (token, place - int(token < at))


@inlined_kernel
def _code_of_three(data: Bytes, at: np.uint64) -> np.uint64:
    first, second, third = data[at], data[at + np.uint64(1)], data[at + np.uint64(2)]
    code = (np.uint64(first) & np.uint64(15)) << np.uint64(12)
    code |= (np.uint64(second) & np.uint64(63)) << np.uint64(6)
    return code | np.uint64(third) & np.uint64(63)


@inlined_kernel
def _hash_run(
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
    spare = RUN_SPARE - 1
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
