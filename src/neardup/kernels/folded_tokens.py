"""Token hashes of text as it comes, as if it had been folded first, in one pass.

`folded_token_hashes(data, offsets)` is `token_hashes(*fold(data, offsets))` without writing the
folded text: each character becomes what the folding table says and goes straight into the hash of
its token. A document is read in one of four ways, the fastest that fits:

1. nothing but ASCII: the words of many documents at once (`tokens.hash_words`);
2. ASCII words, and characters of three bytes that are a token or none whatever stands beside them
   (most of Chinese): `_hash_simple`, which looks each character up in a table of hashes;
3. anything else up to the end of its run: `_hash_run`, character by character;
4. characters that join others (a mark and its letter, Hangul vowels and finals), invalid UTF-8, or
   far more tokens than bytes allow for: the document is `LEFT` to `fold` and `token_hashes`.

Each way goes through its bytes once, so the time grows as the text does, whatever is in it.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.characters import MARK, SINGLE, WORD, character_classes, role_of
from neardup.kernels.fold import JOINING, UNCHANGED, FoldingTable, fold, folding_table
from neardup.kernels.jit import Bytes, inlined_kernel, kernel
from neardup.kernels.text_bits import (
    LAST,
    SHIFT,
    Bits,
    TextBits,
    is_set,
    lowest_bit,
    next_clear,
    next_set,
    text_bits,
)
from neardup.kernels.tokens import (
    count_words,
    hash_word,
    hash_words,
    mixed,
    room_for_words,
    taken_in,
    token_hashes,
)

Hashes = NDArray[np.uint64]
Offsets = NDArray[np.int64]

NOT_ASCII, DROPPED, SEPARATOR = 0, 1, 2  # in `plain`; above them what the character becomes
NO_TOKEN_YET, IN_WORD, IN_SINGLE = 0, 1, 2  # what `_hash_run` is reading
LEFT = -1  # the document is left to the two kernels
NOT_SIMPLE, NO_TOKEN = np.uint64(0), np.uint64(1)  # in `characters`, beside hashes
FIRST_OF_THREE = 0x800  # the first code point of three bytes
FIRST_NOT_ASCII = 0x80
SPARE = 4096  # tokens that all documents may have beyond what their bytes allow for
RUN_SPARE = 64  # and one run of letters


class Tables(NamedTuple):
    """What characters become, by byte, by code point of three bytes, and by any code point."""

    plain: Bytes  # of each ASCII character: what it becomes in a word, DROPPED or SEPARATOR
    characters: Hashes  # of code points below 0x10000: a hash, NO_TOKEN or NOT_SIMPLE
    folding: FoldingTable
    class_index: NDArray[np.uint16]  # `data.character_classes`
    class_pages: Bytes


def folded_token_hashes(
    data: Bytes, offsets: Offsets, bits: TextBits | None = None
) -> tuple[Hashes, Offsets]:
    """`(hashes, document_offsets)`, as `token_hashes` gives them for the folded text.

    `bits` are those of `text_bits(data)`, for a caller that has them.
    """
    if bits is None:
        data, offsets = data[offsets[0] : offsets[-1]], offsets - offsets[0]
        bits = text_bits(data)
    hashes, places, counts = _hashes(data, offsets, bits.runs, bits.odd, _tables())
    if places[-1] == hashes.size:
        return hashes, places
    left = np.flatnonzero(counts == LEFT)
    others, places = token_hashes(*fold(*_documents(data, offsets, left)))
    return _merged(hashes, counts, others, places)


@cache
def _tables() -> Tables:
    return Tables(_plain(), _characters(), folding_table(), *character_classes())


def _plain() -> Bytes:
    folding = folding_table()
    _, pages = character_classes()
    plain = np.full(256, NOT_ASCII, np.uint8)
    for code in range(FIRST_NOT_ASCII):
        action = folding.action_pages[code]
        first, last = folding.starts[action : action + 2] if action > JOINING else (0, 1)
        becomes = folding.codes[first] if action > JOINING and last > first else code
        role = pages[becomes] >> 4 & 7
        plain[code] = becomes if role == WORD else SEPARATOR if last > first else DROPPED
    return plain


def _characters() -> Hashes:
    """For each code point of three bytes what it becomes: the hash of a token by itself;
    `NO_TOKEN`; or `NOT_SIMPLE`, where the characters beside it matter.

    A simple character folds to one code point that joins nothing, and is a token alone or none:
    neither a letter of a spaced script, which its neighbours would continue, nor a mark.
    """
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


@kernel
def _code_hashes(codes: Offsets) -> Hashes:
    hashes = np.empty(len(codes), np.uint64)
    for place in range(len(codes)):
        hashes[place] = mixed(taken_in(np.uint64(0), _bytes_of(codes[place])[0]))
    return hashes


@kernel
def _hashes(
    data: Bytes, offsets: Offsets, runs: Bits, odd: Bits, tables: Tables
) -> tuple[Hashes, Offsets, Offsets]:
    """The hashes of all documents that can be done here, where those of each start, and how many
    each has. One that cannot be done has none, and the last place is `LEFT`."""
    hashes = np.empty(len(data) // 2 + len(offsets) + SPARE + 2 * RUN_SPARE, np.uint64)
    counts = _all_hashes(data, offsets, runs, odd, hashes, tables)
    places = np.zeros(len(offsets), np.int64)
    for document in range(len(counts)):
        places[document + 1] = places[document] + max(counts[document], 0)
    filled = places[-1]
    if (counts == LEFT).any():
        places[-1] = LEFT
    return hashes[:filled], places, counts


@kernel
def _all_hashes(
    data: Bytes, offsets: Offsets, runs: Bits, odd: Bits, hashes: Hashes, tables: Tables
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
    clean = -1  # up to here from `begin` on there is nothing but ASCII
    while document < len(counts):
        begin, end = offsets[document], offsets[document + 1]
        if next_set(runs, begin, end) == end:  # an empty line
            counts[document] = 0
            document += 1
            continue
        if clean < begin:  # kept, not sought again for each of many documents before it
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
            at, place = _hash_simple(data, runs, odd, at, end, tables.characters, hashes, place)
            if at == end:
                break
            stop = next_clear(runs, at, end)
            count = _hash_run(data, at, stop, tables, hashes, place)
            at, place = stop, place + count
            if count == LEFT or place > most - (end - stop) // 2:
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
    ends, and the place after the last.

    What stops it may join the token right before it, so that token is taken back: `_hash_run` has
    to read it again, from its first byte.
    """
    token = at  # where the last token begins, if it ends at `at`
    while at < end:
        begin = at
        if data[at] >= FIRST_NOT_ASCII:
            at, place, last = _hash_characters(data, at, end, characters, hashes, place)
            if at == begin:
                break  # not simple
            token = at if last == NO_TOKEN else at - 3
        elif not is_set(runs, at):
            at = token = next_set(runs, at, end)
        elif is_set(odd, at):
            break  # a control character that folding takes out of its word
        else:
            token, at = at, _word_end(runs, odd, at, end)
            hashes[place] = hash_word(data, token, at)
            place += 1
    return (at, place) if at == end else (token, place - int(token < at))


@inlined_kernel
def _word_end(runs: Bits, odd: Bits, at: int, end: int) -> int:
    """Where the ASCII word at `at` ends: at the first byte that is odd or in no run.

    One search for both. The end of the run alone may be far away, as in Chinese without a space,
    and to look for it at each of its words would take quadratic time.
    """
    while at < end:
        others = (odd[at >> SHIFT] | ~runs[at >> SHIFT]) >> np.uint64(at & LAST)
        if others:
            stop: int = at + lowest_bit(others)
            return min(stop, end)
        at = (at | LAST) + 1
    return end


@inlined_kernel
def _hash_characters(
    data: Bytes, at: int, end: int, characters: Hashes, hashes: Hashes, place: int
) -> tuple[int, int, np.uint64]:
    """Write the hashes of characters of three bytes as far as all are simple; where that ends, the
    place after the last, and what the last became.

    Whether one is a token decides no branch: its entry is written in any case, and the place moves
    on if it was a hash. Indices are unsigned, which spares the check for those below 0.
    """
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
def _hash_run(data: Bytes, at: int, end: int, tables: Tables, hashes: Hashes, place: int) -> int:
    """Write the hashes of one run from `place` on; how many, or `LEFT`.

    `token` says what is being read, and the role of the next folded character what becomes of it:

        token         WORD             SINGLE           MARK      any other
        NO_TOKEN_YET  begins a word    begins a single  dropped   dropped
        IN_WORD       goes on          ends, begins     goes on   ends
        IN_SINGLE     ends, begins     ends, begins     goes on   ends

    The hash so far is `state`; `eight` holds the bytes that it has not taken in yet, and `bits` is
    the number of their bits. All three are 0 between tokens. Hashes are mixed at the end, all
    together, where the compiler makes vector operations of it.
    """
    first_place = place
    spare = RUN_SPARE - 1
    state, eight, bits, token = np.uint64(0), np.uint64(0), 0, NO_TOKEN_YET
    while at < end:
        folded = tables.plain[data[at]]
        if folded >= SEPARATOR:
            # ASCII, and no single is being read (see below): `token` is 0 or 1, as `is_word` is.
            # No branch on whether the token goes on: it cannot be foretold, and costs more than all
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
        if folded == DROPPED:
            at += 1
        else:
            code, width = _code_point(data, at, end)
            if width == 0:
                return LEFT
            at += width
            folding = tables.folding
            page = int(folding.action_index[code >> 8]) << 8
            action = int(folding.action_pages[page | code & 255])
            if action == JOINING:
                return LEFT
            first, last = 0, 1
            if action != UNCHANGED:
                first, last = int(folding.starts[action]), int(folding.starts[action + 1])
            for step in range(first, last):
                if action != UNCHANGED:
                    code = int(folding.codes[step])
                    page = int(folding.class_index[code >> 8]) << 8
                    if folding.class_pages[page | code & 255] > 0:  # it may join the one before
                        return LEFT
                role = role_of(code, tables.class_index, tables.class_pages)
                goes_on = token and (role == MARK or (role == WORD and token == IN_WORD))
                if token and not goes_on:
                    hashes[place] = _state_at_end(state, eight)
                    place += 1
                    state, eight, bits, token = np.uint64(0), np.uint64(0), 0, NO_TOKEN_YET
                if not goes_on:
                    if role not in (WORD, SINGLE):
                        continue
                    token = IN_WORD if role == WORD else IN_SINGLE
                    # More tokens than `_all_hashes` counts on: not the first that the character
                    # becomes, or a single of fewer than three bytes.
                    if step > first or (role == SINGLE and width < 3):
                        spare -= 1
                        if spare < 0:
                            return LEFT
                state, eight, bits = _code_taken_in(state, eight, bits, code)
        if token == IN_SINGLE and at < end and tables.plain[data[at]] >= SEPARATOR:
            # ASCII ends a single, whatever it is: done here, so that the way for ASCII, which most
            # characters go, need not ask for it.
            hashes[place] = _state_at_end(state, eight)
            place += 1
            state, eight, bits, token = np.uint64(0), np.uint64(0), 0, NO_TOKEN_YET
    if token:
        hashes[place] = _state_at_end(state, eight)
        place += 1
    for each in range(first_place, place):
        hashes[each] = mixed(hashes[each])
    return place - first_place


@inlined_kernel
def _code_point(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """The code point of several bytes at `at`, and how many; none for what cannot be UTF-8. No
    byte from `end` on is read."""
    lead = int(data[at])
    width = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    if lead < 0xC0 or at + width > end:
        return 0, 0
    code = lead & (0x7F >> width)
    for place in range(at + 1, at + width):
        code = code << 6 | int(data[place]) & 0x3F
    return (code, width) if code <= 0x10FFFF else (0, 0)


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
