"""Folding for comparing: width, case, compatibility forms, traditional Han, marks, white space.

One pass over UTF-8, driven by a shipped table (see `data` and tools/make_folding_table.py):

1. Each code point becomes what the table says: itself, nothing, or a few others.
2. What may join the character before it (marks, Hangul vowels and finals, half-width voice signs)
   is gathered with that character, decomposed, put in canonical order and composed: NFC, but only
   where something can change. No document leaves the kernel for it.
3. White space becomes one space between words, none at the edges of a line. Newlines stay.

The tests' slow version of it is four lines of Python.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.characters import table
from neardup.kernels.jit import Bytes, Numbers, kernel
from neardup.kernels.utf8 import code_point_at, write_code_point

NEWLINE, SPACE = 10, 32
UNCHANGED, JOINING = 0, 1  # actions; from 2 on they number sequences
JOINING_STARTER = 255  # the class of what may join without being a mark

L_FIRST, V_FIRST, T_FIRST, S_FIRST = 0x1100, 0x1161, 0x11A7, 0xAC00  # Hangul
L_COUNT, V_COUNT, T_COUNT = 19, 21, 28
S_COUNT = L_COUNT * V_COUNT * T_COUNT
LONGEST_DECOMPOSITION = 4
LONGEST_SEQUENCE = 18  # code points that one code point can become
CODE_BYTES = 4 * LONGEST_DECOMPOSITION  # the most that a code point of a group is written as

# Text is folded in pieces, so that the room for each is known before it is begun. A byte makes at
# most one sequence, each code point of it is written or joins the group, and a space may come
# before it; the first of a group was written before it joined.
PIECE = 256  # bytes
PIECE_CODES = PIECE * LONGEST_SEQUENCE + 1
PIECE_BYTES = PIECE_CODES * (CODE_BYTES + 1)


class FoldingTable(NamedTuple):
    """Look up a code point c in `pages` at `index[c >> 8] * 256 + c % 256`."""

    action_index: NDArray[np.uint16]
    action_pages: NDArray[np.uint16]
    starts: NDArray[np.int32]  # action a stands for codes[starts[a]:starts[a + 1]]
    codes: NDArray[np.int32]
    class_index: NDArray[np.uint16]
    class_pages: Bytes  # 0 begins anew, else a combining class or JOINING_STARTER
    pair_keys: Numbers  # first << 21 | second, sorted
    pair_composites: Numbers
    composites: Numbers  # the same, sorted by composite
    composite_keys: Numbers


@cache
def folding_table() -> FoldingTable:
    """The shipped table, read once."""
    arrays = table("folding")
    firsts, seconds = arrays["pairs"].astype(np.int64).T
    keys = firsts << 21 | seconds
    composites = arrays["composites"].astype(np.int64)
    order = np.argsort(composites)
    return FoldingTable(
        action_index=arrays["action_index"].astype(np.uint16),
        action_pages=arrays["action_pages"].astype(np.uint16),
        starts=arrays["starts"].astype(np.int32),
        codes=arrays["codes"].astype(np.int32),
        class_index=arrays["class_index"].astype(np.uint16),
        class_pages=arrays["class_pages"].astype(np.uint8),
        pair_keys=keys,
        pair_composites=composites,
        composites=composites[order],
        composite_keys=keys[order],
    )


def fold(data: Bytes, offsets: Numbers) -> tuple[Bytes, Numbers]:
    """The documents of a UTF-8 buffer, folded, as a buffer and its offsets."""
    return fold_documents(data, offsets, folding_table())


@kernel
def fold_documents(data: Bytes, offsets: Numbers, tables: FoldingTable) -> tuple[Bytes, Numbers]:
    """`fold`, with its table."""
    ends = np.zeros(len(offsets), np.int64)
    out = np.empty(offsets[-1] - offsets[0] + PIECE_BYTES, np.uint8)
    group = np.empty(PIECE_CODES, np.int64)  # a character and what may join it
    scratch = np.empty(LONGEST_DECOMPOSITION * len(group), np.int64)
    plain = _ascii_actions(tables)
    size = 0  # bytes written
    for document in range(len(offsets) - 1):
        at, end = offsets[document], offsets[document + 1]
        line = size  # where the line begins in `out`
        gap, grouped = False, 0  # see `_fold_piece`
        while at < end or grouped:
            room = PIECE_BYTES + CODE_BYTES * grouped
            if size + room > len(out):
                out = _larger(out, size, room)
            if grouped + PIECE_CODES > len(group):
                group = np.append(group, group)
                scratch = np.append(scratch, scratch)
            if at >= end:
                size = _write_group(out, size, group, grouped, scratch, tables)
                break
            piece = (at, min(at + PIECE, end), end)
            at, size, line, gap, grouped = _fold_piece(
                data, piece, out, size, line, gap, group, grouped, scratch, plain, tables
            )
        ends[document + 1] = size
    return out[:size].copy(), ends


@kernel
def _fold_piece(
    data: Bytes,
    piece: tuple[int, int, int],
    out: Bytes,
    size: int,
    line: int,
    gap: bool,
    group: Numbers,
    grouped: int,
    scratch: Numbers,
    plain: Bytes,
    tables: FoldingTable,
) -> tuple[int, int, int, bool, int]:
    """Fold the characters that begin in one piece; where it got to and the state to go on with.

    A piece is short enough to know the room it needs: see PIECE_BYTES and PIECE_CODES. The state:

        size     bytes of `out` that are written
        line     where the line begins in `out`; no space is written there
        gap      white space was seen: a space is due before the next character of the line
        grouped  code points in `group`: the character written last, which was taken back out of
                 `out`, and what may join it. It is written by the next one that does not join.
    """
    at, stop, end = piece
    while at < stop:
        if data[at] < 0x80 and not grouped:  # one character becomes one, or nothing
            byte = plain[data[at]]
            at += 1
            if byte > SPACE:
                size = _write_gap(out, size, line, gap)
                gap = False
                out[size] = byte
                size += 1
            elif byte == SPACE:
                gap = True
            elif byte == NEWLINE:
                out[size] = NEWLINE
                size += 1
                line, gap = size, False
            continue
        code, width = code_point_at(data, at, end)
        at += width
        action = int(tables.action_pages[int(tables.action_index[code >> 8]) << 8 | code & 255])
        first, last = 0, 1
        if action > JOINING:
            first, last = int(tables.starts[action]), int(tables.starts[action + 1])
        for step in range(first, last):
            joins = action == JOINING
            if action > JOINING:
                code = int(tables.codes[step])
                joins = _class_of(code, tables) > 0
            if grouped and not joins:
                size = _write_group(out, size, group, grouped, scratch, tables)
                grouped = 0
            if code == SPACE:
                gap = True
                continue
            if code == NEWLINE:
                out[size] = NEWLINE
                size += 1
                line, gap = size, False
                continue
            size = _write_gap(out, size, line, gap)
            gap = False
            if not joins:
                size = write_code_point(out, size, code)
                continue
            if grouped == 0 and size > line:  # the character before it, a space too, is its first
                size = _before(out, size)
                group[0], _ = code_point_at(out, size, len(out))
                grouped = 1
            group[grouped] = code
            grouped += 1
    return at, size, line, gap, grouped


@kernel
def _write_gap(out: Bytes, size: int, line: int, gap: bool) -> int:
    """Write the space that is due, unless the line begins here; the size after it."""
    if gap and size > line:
        out[size] = SPACE
        return size + 1
    return size


@kernel
def _ascii_actions(tables: FoldingTable) -> Bytes:
    """What each ASCII character becomes: one character, or 0 for nothing."""
    plain = np.zeros(0x80, np.uint8)
    for code in range(0x80):
        action = tables.action_pages[code]
        if action == UNCHANGED:
            plain[code] = code
        elif tables.starts[action + 1] > tables.starts[action]:
            plain[code] = tables.codes[tables.starts[action]]
    return plain


@kernel
def _larger(out: Bytes, size: int, room: int) -> Bytes:
    larger = np.empty(max(2 * len(out), size + 2 * room), np.uint8)
    larger[:size] = out[:size]
    return larger


@kernel
def _class_of(code: int, tables: FoldingTable) -> int:
    return int(tables.class_pages[int(tables.class_index[code >> 8]) << 8 | code & 255])


@kernel
def _before(out: Bytes, size: int) -> int:
    """Where the last character that was written begins."""
    size -= 1
    while out[size] & 0xC0 == 0x80:
        size -= 1
    return size


@kernel
def _write_group(
    out: Bytes, size: int, group: Numbers, grouped: int, scratch: Numbers, tables: FoldingTable
) -> int:
    """Write a character and what may join it in normal form C; the size after it."""
    codes = scratch[: _decompose(group, grouped, scratch, tables)]
    _put_in_order(codes, tables)
    for place in range(_compose(codes, tables)):
        size = write_code_point(out, size, codes[place])
    return size


@kernel
def _decompose(group: Numbers, grouped: int, codes: Numbers, tables: FoldingTable) -> int:
    """Write the canonical decompositions into `codes`; how many code points they are."""
    size = 0
    for member in range(grouped):
        code = group[member]
        if S_FIRST <= code < S_FIRST + S_COUNT:
            syllable = code - S_FIRST
            codes[size] = L_FIRST + syllable // (V_COUNT * T_COUNT)
            codes[size + 1] = V_FIRST + syllable // T_COUNT % V_COUNT
            codes[size + 2] = T_FIRST + syllable % T_COUNT
            size += 3 if syllable % T_COUNT else 2
            continue
        # The first part may be a composite again, the second never is: found from the last on.
        begin = size
        while code >= tables.composites[0]:
            place = np.searchsorted(tables.composites, code)
            if place == len(tables.composites) or tables.composites[place] != code:
                break
            codes[size] = tables.composite_keys[place] & 0x1FFFFF
            code = tables.composite_keys[place] >> 21
            size += 1
        codes[size] = code
        size += 1
        for step in range((size - begin) // 2):
            left, right = begin + step, size - 1 - step
            codes[left], codes[right] = codes[right], codes[left]
    return size


@kernel
def _put_in_order(codes: Numbers, tables: FoldingTable) -> None:
    """Canonical order: marks that follow one another sorted by class, equals as they stand."""
    before, ordered = 0, True
    for code in codes:
        combining = _class_of(code, tables)
        if combining == JOINING_STARTER:
            combining = 0
        ordered = ordered and bool(combining == 0 or before <= combining)
        before = combining
    if ordered:
        return
    # One stable sort does, however many there are: a starter opens a new rank of 256.
    ranks = np.empty(len(codes), np.int64)
    rank = 0
    for place, code in enumerate(codes):
        combining = _class_of(code, tables)
        if combining in (0, JOINING_STARTER):
            rank += 256
            combining = 0
        ranks[place] = rank + combining
    codes[:] = codes[np.argsort(ranks, kind="mergesort")]


@kernel
def _compose(codes: Numbers, tables: FoldingTable) -> int:
    """Compose in place (the algorithm of UAX 15); how many code points are left."""
    size = 0
    starter = -1
    class_before = 0
    for code in codes:
        combining = _class_of(code, tables)
        if combining == JOINING_STARTER:
            combining = 0
        if starter >= 0 and (size == starter + 1 or class_before < combining):
            composite = _composite(codes[starter], code, tables)
            if composite:
                codes[starter] = composite
                continue
        if combining == 0:
            starter = size
        class_before = combining
        codes[size] = code
        size += 1
    return size


@kernel
def _composite(first: int, second: int, tables: FoldingTable) -> int:
    """What two code points compose to, or 0."""
    if L_FIRST <= first < L_FIRST + L_COUNT and V_FIRST <= second < V_FIRST + V_COUNT:
        return S_FIRST + ((first - L_FIRST) * V_COUNT + second - V_FIRST) * T_COUNT
    is_open = S_FIRST <= first < S_FIRST + S_COUNT and (first - S_FIRST) % T_COUNT == 0
    if is_open and T_FIRST < second < T_FIRST + T_COUNT:
        return first + second - T_FIRST
    key = first << 21 | second
    place = np.searchsorted(tables.pair_keys, key)
    if place < len(tables.pair_keys) and tables.pair_keys[place] == key:
        return int(tables.pair_composites[place])
    return 0
