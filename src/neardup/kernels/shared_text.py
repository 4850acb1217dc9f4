"""How much text two pages share, exactly, token by token.

A token is shared if it is in a shingle that the other page has too. A page shares the weight of its
shared tokens.

Pages are read in place (`kernels.memory`): a row of `batches` has the addresses of the columns of
one batch, in the order of `COLUMNS`, and a page is a row of a batch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import borrowing_kernel, inlined_kernel, kernel
from neardup.kernels.memory import (
    Addresses,
    Numbers,
    bytes_at,
    floats_at,
    places_at,
    prefetch,
    words_at,
)
from neardup.kernels.shingles import Offsets
from neardup.kernels.text_bits import (
    ALL,
    BLOCK,
    LAST,
    NUMBERS,
    SHIFT,
    Bits,
    count_bits,
    equal_numbers,
    is_set,
    lowest_bit,
    next_clear,
    next_set,
)

Shingles = NDArray[np.uint32]
Places = NDArray[np.uint32]
Tags = NDArray[np.uint16]
Table = tuple[Tags, Places]  # per slot a tag (0: free) and the position of its shingle
Units = NDArray[np.uint8]
Weights = NDArray[np.float64]

# The columns of a page: its shingles; its runs, which are the kept lines (number of tokens, units
# per token, weight per token, and the weight in pairs of one host); and which runs are sample
# lines.
COLUMNS = ("shingles", "run_tokens", "run_units", "run_weights", "sister_weights", "samples")
SHINGLES, RUN_TOKENS, RUN_UNITS, RUN_WEIGHTS, SAME_HOST_WEIGHTS, SAMPLES = range(
    0, 2 * len(COLUMNS), 2
)

NONE = -1
MOSTLY, HARDLY = 0.8, 0.2  # a line with a share from the first, or up to the second, is an example
ALL_EQUAL = np.uint64((1 << NUMBERS) - 1)
ROOM = 1024  # initial room, in tokens
ROOMY, FULLER = 8, 2  # slots per shingle: usually, and in a table beyond the cache
A_CACHE = 1 << 17  # slots that fit the cache
A_LINE = 64  # bytes of a cache line
AHEAD = 8  # lines of the next page to prefetch; the hardware prefetches the rest


@kernel
def shared_weights(
    batches: Addresses,
    left_batch: Numbers,
    left_row: Numbers,
    right_batch: Numbers,
    right_row: Numbers,
    same_host: NDArray[np.bool_],
    size: int,
) -> tuple[Weights, Offsets, Offsets]:
    """For both pages of each pair: the weight of the tokens that the other page shares, the number
    of the first sample line that is mostly shared, and of the first that hardly is.

    A shingle starts at each token and spans `size` units. `same_host` marks pairs of one host.
    Pairs with the same left page usually follow each other; its table is built once for them.
    """
    pairs = len(left_row)
    shared = np.zeros((pairs, 2))
    example = np.full((pairs, 2), NONE)
    difference = np.full((pairs, 2), NONE)
    room, tabled, repeated = 0, NONE, 0
    flags, counts, table, repeats = _room_for(ROOM, size)
    for pair in range(pairs):
        if pair + 2 < pairs:
            _ask_for_starts(batches[right_batch[pair + 2]], right_row[pair + 2])
        if pair + 1 < pairs:
            _ask_for_lists(batches[right_batch[pair + 1]], right_row[pair + 1])
        batch, other_batch = batches[left_batch[pair]], batches[right_batch[pair]]
        own = _words(batch, SHINGLES, left_row[pair])
        others = _words(other_batch, SHINGLES, right_row[pair])
        most = max(len(own), len(others))
        if most > room:
            room = max(2 * most, ROOM)
            flags, counts, table, repeats = _room_for(room, size)
            tabled = NONE
        identical = len(own) == len(others) and _equal_run(own, 0, others, 0) == len(own)
        if not identical:
            flags[:, : (most + size) // BLOCK + 1] = 0
            if (
                tabled == NONE
                or left_row[tabled] != left_row[pair]
                or left_batch[tabled] != left_batch[pair]
            ):
                tabled, repeated = pair, _fill(own, table, repeats)
            _flag_common(own, others, flags[0], flags[1], table, repeats[:repeated])
        for side in range(2):
            at, row = (batch, left_row[pair]) if side == 0 else (other_batch, right_row[pair])
            run_tokens = _words(at, RUN_TOKENS, row)
            run_weights = _floats(at, SAME_HOST_WEIGHTS if same_host[pair] else RUN_WEIGHTS, row)
            covered = run_tokens
            if not identical:
                covered = counts[: len(run_tokens)]
                _count_covered(flags[side], run_tokens, _units(at, RUN_UNITS, row), size, covered)
            for run in range(len(covered)):
                shared[pair, side] += np.int64(covered[run]) * run_weights[run]
            samples = _words(at, SAMPLES, row)
            for number in range(len(samples)):
                share = covered[samples[number]] / run_tokens[samples[number]]
                if share >= MOSTLY and example[pair, side] == NONE:
                    example[pair, side] = number
                if share <= HARDLY and difference[pair, side] == NONE:
                    difference[pair, side] = number
    return shared, example, difference


@kernel
def _room_for(most: int, size: int) -> tuple[NDArray[np.uint64], Shingles, Table, Places]:
    """Room for up to `most` shingles: flags for the tokens of both pages, counts for their runs,
    the table, and the places of repeats.

    A page has fewer than `size` more tokens than shingles, and no run without a token. After the
    flags there is a block of zeros at least.
    """
    flags = np.empty((2, (most + size) // BLOCK + 2), np.uint64)
    slots = _slots_for(most)
    table = np.empty(slots, np.uint16), np.empty(slots, np.uint32)
    return flags, np.empty(most + size, np.uint32), table, np.empty(most, np.uint32)


@kernel
def _list_at(batch: Addresses, column: int, row: int, width: int) -> tuple[np.uint64, int]:
    """The address and length of a list in a column of values of `width` bytes."""
    starts = places_at(batch[column], row + 2)
    first = np.uint64(width) * np.uint64(starts[row])
    return batch[column + 1] + first, int(starts[row + 1] - starts[row])


@kernel
def _words(batch: Addresses, column: int, row: int) -> Shingles:
    return words_at(*_list_at(batch, column, row, 4))


@kernel
def _units(batch: Addresses, column: int, row: int) -> Units:
    return bytes_at(*_list_at(batch, column, row, 1))


@kernel
def _floats(batch: Addresses, column: int, row: int) -> NDArray[np.float32]:
    return floats_at(*_list_at(batch, column, row, 4))


@kernel
def _ask_for_starts(batch: Addresses, row: int) -> None:
    """Prefetch the offsets of the lists of a page, two pairs ahead."""
    for column in (SHINGLES, RUN_TOKENS, RUN_UNITS, RUN_WEIGHTS, SAMPLES):
        prefetch(batch[column] + np.uint64(4) * np.uint64(row))


@kernel
def _ask_for_lists(batch: Addresses, row: int) -> None:
    """Prefetch the lists of a page, one pair ahead."""
    shingles, count = _list_at(batch, SHINGLES, row, 4)
    for line in range(min(4 * count // A_LINE + 1, AHEAD)):
        prefetch(shingles + np.uint64(A_LINE * line))
    prefetch(_list_at(batch, RUN_UNITS, row, 1)[0])
    for column in (RUN_TOKENS, RUN_WEIGHTS, SAMPLES):
        prefetch(_list_at(batch, column, row, 4)[0])


@borrowing_kernel
def _flag_common(
    own: Shingles,
    others: Shingles,
    own_flags: Bits,
    other_flags: Bits,
    table: Table,
    repeats: Places,
) -> None:
    """Flag the shingles of each page that the other has too; all flags are 0 before.

    The table holds the first position of each own shingle; `repeats` are the other positions.
    Copies mostly have their shingles in the same order, so after a match the following shingles are
    compared directly.
    """
    slots = _slots_for(len(own))
    tags, places = table[0][:slots], table[1][:slots]
    at = 0
    while at < len(others):
        slot = _slot(tags, places, own, others[at])
        if tags[slot] == 0:
            at += 1
            continue
        place = int(np.int64(places[slot]))
        run = _equal_run(others, at, own, place)
        _set_bits(other_flags, at, run)
        _set_bits(own_flags, place, run)
        at += run
    for repeat in repeats:
        place = int(np.int64(repeat))
        if is_set(own_flags, place):
            _set_bits(own_flags, int(np.int64(places[_slot(tags, places, own, own[place])])), 1)
    for repeat in repeats:
        place = int(np.int64(repeat))
        if is_set(own_flags, int(np.int64(places[_slot(tags, places, own, own[place])]))):
            _set_bits(own_flags, place, 1)


@inlined_kernel
def _set_bits(bits: Bits, first: int, count: int) -> None:
    """Set `count` bits, at least one, from the place `first` on."""
    last = first + count - 1
    begin, end = first >> SHIFT, last >> SHIFT
    head, tail = ALL << np.uint64(first & LAST), ALL >> np.uint64(LAST - (last & LAST))
    if begin == end:
        bits[begin] |= head & tail
        return
    bits[begin] |= head
    for block in range(begin + 1, end):
        bits[block] = ALL
    bits[end] |= tail


@borrowing_kernel
def _slots_for(shingles: int) -> int:
    """The size of a table for this many shingles, a power of two."""
    wanted = max(min(ROOMY * shingles, A_CACHE), FULLER * shingles)
    slots = 16
    while slots < wanted:
        slots *= 2
    return slots


@borrowing_kernel
def _fill(shingles: Shingles, table: Table, repeats: Places) -> int:
    """Enter the first position of each shingle; returns the number of repeats."""
    slots = _slots_for(len(shingles))
    tags, places = table[0][:slots], table[1][:slots]
    tags[:] = 0
    repeated = 0
    for at in range(len(shingles)):
        slot = _slot(tags, places, shingles, shingles[at])
        if tags[slot]:
            repeats[repeated] = at
            repeated += 1
        else:
            tags[slot] = _tag(shingles[at])
            places[slot] = at
    return repeated


@borrowing_kernel
def _equal_run(own: Shingles, at: int, others: Shingles, expected: int) -> int:
    """How many shingles are equal from these two positions on."""
    run, most = 0, min(len(own) - at, len(others) - expected)
    while run + NUMBERS <= most:
        equal = equal_numbers(own, at + run, others, expected + run)
        if equal != ALL_EQUAL:
            return run + lowest_bit(~equal)
        run += NUMBERS
    while run < most and own[at + run] == others[expected + run]:
        run += 1
    return run


@borrowing_kernel
def _tag(shingle: np.uint32) -> np.uint16:
    """Half of a shingle, never 0; the other half selects its slot."""
    return np.uint16(shingle >> np.uint32(16)) | np.uint16(1)


@borrowing_kernel
def _slot(tags: Tags, places: Places, shingles: Shingles, shingle: np.uint32) -> np.uint32:
    """The slot of a shingle in an open-addressed hash table, or the free slot where it belongs.

    Slots hold tags, which are quick to clear, and the positions of the shingles. Shingles are odd
    numbers whose other bits are effectively random.
    """
    last = np.uint32(len(tags) - 1)
    at = (shingle >> np.uint32(1)) & last
    tag = _tag(shingle)
    while tags[at] != 0 and (tags[at] != tag or shingles[places[at]] != shingle):
        at = (at + np.uint32(1)) & last
    return at


@borrowing_kernel
def _count_covered(
    flags: Bits, run_tokens: Shingles, run_units: Units, size: int, counts: Shingles
) -> None:
    """How many tokens of each run are in a flagged shingle. The flags are overwritten."""
    uniform = True
    for run in range(1, len(run_units)):
        uniform &= run_units[run] == run_units[0]
    if not uniform:
        _count_by_stretches(flags, run_tokens, run_units, size, counts)
        return
    total = 0
    for tokens in run_tokens:
        total += int(np.int64(tokens))
    if total:
        _spread(flags[: (total >> SHIFT) + 1], -(-size // int(np.int64(run_units[0]))))
    # How many are set before each run: those of the blocks before, and of its own as far as there.
    end, block, before, counted = 0, 0, 0, 0
    for run in range(len(run_tokens)):
        end += int(np.int64(run_tokens[run]))
        while block < end >> SHIFT:
            before += count_bits(flags[block])
            block += 1
        reached = before + count_bits(flags[block] & ~(ALL << np.uint64(end & LAST)))
        counts[run] = reached - counted
        counted = reached


@borrowing_kernel
def _spread(bits: Bits, window: int) -> None:
    """Set each bit that has a set one among the `window` up to it: twice as many at each step."""
    width = 1
    while width < window:
        step = min(width, window - width, LAST)
        left, right = np.uint64(step), np.uint64(BLOCK - step)
        for block in range(len(bits) - 1, 0, -1):
            bits[block] |= bits[block] << left | bits[block - 1] >> right
        bits[0] |= bits[0] << left
        width += step


@borrowing_kernel
def _count_by_stretches(
    flags: Bits, run_tokens: Shingles, run_units: Units, size: int, counts: Shingles
) -> None:
    """The same for runs with different units: words in some, characters in others.

    Flagged shingles that follow each other cover the tokens from the first of them to the end of
    the last. So we go from one such stretch to the next, and from one run to the next:

        flags      . . x x x x x . . . . . x . . .
        shingle                x x x x     x x x x
        covered    . . x x x x x x x x . . x x x x
    """
    tokens = 0
    for run in range(len(run_tokens)):
        tokens += int(np.int64(run_tokens[run]))
        counts[run] = 0
    covered = 0  # up to here all is counted
    run, run_end = -1, 0  # the run of the next token to count
    last_run, last_end = -1, 0  # the run of the last shingle of a stretch
    first = next_set(flags, 0, tokens)
    while first < tokens:
        end = next_clear(flags, first, tokens)
        while last_end < end:
            last_run += 1
            last_end += int(np.int64(run_tokens[last_run]))
        reached = _end_of_shingle(end - 1, last_run, last_end, run_tokens, run_units, size)
        covered = max(covered, first)
        while covered < reached:
            while run_end <= covered:
                run += 1
                run_end += int(np.int64(run_tokens[run]))
            counts[run] += min(run_end, reached) - covered
            covered = min(run_end, reached)
        first = next_set(flags, end, tokens)


@inlined_kernel
def _end_of_shingle(
    at: int, run: int, run_end: int, run_tokens: Shingles, run_units: Units, size: int
) -> int:
    """Where the shingle ends that begins with the token `at`, which is in this run: after `size`
    units, or at the end of the text."""
    while True:
        unit = int(np.int64(run_units[run]))
        needed = (size + unit - 1) // unit
        if at + needed <= run_end or run + 1 == len(run_tokens):
            return min(at + needed, run_end)
        size -= (run_end - at) * unit
        run, at = run + 1, run_end
        run_end += int(np.int64(run_tokens[run]))
