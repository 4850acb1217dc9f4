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

from neardup.kernels.ascii_words import count_words, hash_word, hash_words, room_for_words
from neardup.kernels.data import character_classes
from neardup.kernels.fold import JOINING, UNCHANGED, fold, folding_table
from neardup.kernels.jit import inlined_kernel, kernel
from neardup.kernels.text_bits import Bits, TextBits, is_set, next_clear, next_set, text_bits
from neardup.kernels.tokens import MARK, SINGLE, WORD, mixed, taken_in, token_hashes

Bytes = NDArray[np.uint8]
Hashes = NDArray[np.uint64]
Offsets = NDArray[np.int64]

NOT_ASCII, NOTHING, SEPARATOR = 0, 1, 2  # in `plain`, beside what an ASCII character becomes
IN_WORD, IN_SINGLE = 1, 2  # what is being read
LEFT = -1  # the document is not for this kernel
NOT_SIMPLE, NO_TOKEN = np.uint64(0), np.uint64(1)  # in `characters`, beside hashes
FIRST_OF_THREE = 0x800  # the first code point of three bytes
FIRST_NOT_ASCII = 0x80
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
    """For each code point of three bytes what it becomes: the hash of a token by itself;
    `NO_TOKEN`; or `NOT_SIMPLE`: what stands before or after it counts, too."""
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
        hashes[place] = mixed(taken_in(np.uint64(0), _bytes_of(codes[place])[0]))
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
    borders, contents = room_for_words()
    filled, document = 0, 0
    while document < len(counts):
        begin, end = offsets[document], offsets[document + 1]
        if next_set(runs, begin, end) == end:  # an empty line
            counts[document] = 0
            document += 1
            continue
        clean = next_set(odd, begin, offsets[-1])
        if clean >= end:
            last = count_words(runs, offsets, document, clean, counts)
            hash_words(data, runs, begin, offsets[last], borders, contents, hashes[filled:])
            filled += counts[document:last].sum()
            document = last
            continue
        most = end // 2 + document + 1 + SPARE
        at, place = begin, filled
        while at < end:
            at, place = _hash_simple(data, runs, odd, at, end, characters, hashes, place)
            if at == end:
                break
            stop = next_clear(runs, at, end)
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
            at, place = stop, place + found
            if found == LEFT or place > most - (end - stop) // 2:
                place = LEFT
                break
        counts[document] = place - filled if place != LEFT else LEFT
        filled += max(counts[document], 0)
        document += 1
    return counts


@inlined_kernel
def _hash_simple(
    data: Bytes,
    runs: Bits,
    odd: Bits,
    at: int,
    end: int,
    characters: Hashes,
    hashes: Hashes,
    place: int,
) -> tuple[int, int]:
    """Write the hashes of words and characters as far as each is a token by itself; where that
    ends, and the place after the last. The token before a character that may join it is left, too.
    """
    token = at  # where the last token begins, if it ends at `at`
    while at < end:
        begin = at
        if data[at] >= FIRST_NOT_ASCII:
            at, place, last = _hash_characters(data, at, end, characters, hashes, place)
            if at == begin:
                break
            token = at if last == NO_TOKEN else at - 3
        elif not is_set(runs, at):
            at = token = next_set(runs, at, end)
        elif is_set(odd, at):
            break
        else:
            token, at = at, next_set(odd, at, next_clear(runs, at, end))
            hashes[place] = hash_word(data, token, at)
            place += 1
    return (at, place) if at == end else (token, place - int(token < at))


@inlined_kernel
def _hash_characters(
    data: Bytes, at: int, end: int, characters: Hashes, hashes: Hashes, place: int
) -> tuple[int, int, np.uint64]:
    """Write the hashes of characters of three bytes as far as all are simple; where that ends, the
    place after the last, and what the last became. Whether one is a token decides no branch."""
    here, there, last = np.uint64(at), np.uint64(place), NO_TOKEN
    while here + np.uint64(3) <= np.uint64(end) and data[here] & 0xF0 == 0xE0:
        character = characters[_code_of_three(data, here)]
        if character == NOT_SIMPLE:
            break
        hashes[there] = last = character
        there += np.uint64(character != NO_TOKEN)
        here += np.uint64(3)
    return np.int64(here), np.int64(there), last  # type: ignore[return-value]


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
    """Write the hashes of one run from `place` on; how many, or `LEFT`."""
    first_place = place
    spare = RUN_SPARE - 1
    state, eight, bits = np.uint64(0), np.uint64(0), 0  # of the token being read; 0 between tokens
    token = 0  # nothing, IN_WORD, or IN_SINGLE: a character and its marks
    while at < end:
        folded = plain[data[at]]
        if folded >= SEPARATOR:
            # No branch on whether a token goes on: it cannot be foretold, and costs more than all
            # the rest. The hash is written at every step and stays when its token ends.
            is_word = int(folded > SEPARATOR)
            hashes[place] = _state_at_end(state, eight)
            place += token & ~is_word
            state &= np.uint64(-is_word)
            eight = (eight | np.uint64(folded) << np.uint64(bits)) & np.uint64(-is_word)
            bits = (bits + 8) & -is_word
            if bits == 64:
                state, eight, bits = taken_in(state, eight), np.uint64(0), 0
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
                    hashes[place] = _state_at_end(state, eight)
                    place += 1
                    state, eight, bits, token = np.uint64(0), np.uint64(0), 0, 0
                if not goes_on:
                    if role not in (WORD, SINGLE):
                        continue
                    token = IN_WORD if role == WORD else IN_SINGLE
                    if step > first or (role == SINGLE and width < 3):
                        spare -= 1
                        if spare < 0:
                            return LEFT
                state, eight, bits = _code_taken_in(state, eight, bits, code)
        else:
            at += 1
        if token == IN_SINGLE and at < end and plain[data[at]] >= SEPARATOR:
            hashes[place] = _state_at_end(state, eight)
            place += 1
            state, eight, bits, token = np.uint64(0), np.uint64(0), 0, 0
    if token:
        hashes[place] = _state_at_end(state, eight)
        place += 1
    for each in range(first_place, place):
        hashes[each] = mixed(hashes[each])
    return place - first_place


@inlined_kernel
def _state_at_end(state: np.uint64, eight: np.uint64) -> np.uint64:
    """The state of a token that ends; no byte of a token is 0."""
    return taken_in(state, eight) if eight else state


@inlined_kernel
def _code_taken_in(
    state: np.uint64, eight: np.uint64, bits: int, code: int
) -> tuple[np.uint64, np.uint64, int]:
    """The state and the bytes that wait, `bits` of them, after one more code point."""
    content, size = _bytes_of(code)
    eight |= content << np.uint64(bits)
    bits += 8 * size
    if bits < 64:
        return state, eight, bits
    return taken_in(state, eight), content >> np.uint64(8 * size - (bits - 64)), bits - 64


@inlined_kernel
def _bytes_of(code: int) -> tuple[np.uint64, int]:
    """The UTF-8 bytes of a code point, the first lowest, and how many."""
    if code < 0x80:
        return np.uint64(code), 1
    last = 0x80 | code & 0x3F
    if code < 0x800:
        return np.uint64(0xC0 | code >> 6 | last << 8), 2
    middle = 0x80 | code >> 6 & 0x3F
    if code < 0x10000:
        return np.uint64(0xE0 | code >> 12 | middle << 8 | last << 16), 3
    second = 0x80 | code >> 12 & 0x3F
    return np.uint64(0xF0 | code >> 18 | second << 8 | middle << 16 | last << 24), 4


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
