"""Sixty-four bytes of text at a time: where lines, sentences and tokens may end, as bits.

From bottom to top:

1. Intrinsics (`equal_bits`, `between_bits` ...) ask a question about each of 64 bytes and answer
   with the bits of one number. They are written in LLVM's vectors, which become the instructions
   of the machine at hand, wide or narrow (docs/decisions/0012-llvm-intrinsics.md).
2. `Bits` hold such answers for a whole text: a number per 64 bytes, bit b of number n for byte
   64 n + b. `next_set`, `next_clear` and `count_set` go through them by blocks, not by bytes.
3. `text_bits` answers for every byte of UTF-8 what `lines`, `folded_tokens` and others ask.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from neardup.kernels.jit import (
    Bytes,
    borrowing_kernel,
    inlined_kernel,
    intrinsic,
    kernel,
    types,
)

Bits = NDArray[np.uint64]
# The bits of the block before that a character across the border needs: see `_wide_ends`.
Carried = tuple[np.uint64, np.uint64, np.uint64, np.uint64]

BLOCK = 64
SHIFT, LAST = 6, 63  # to the number of a block, and to the place in it
NUMBERS = 16  # of 32 bits in 64 bytes
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_VECTOR = ir.VectorType(ir.IntType(8), BLOCK)


def _block(context: Any, builder: Any, kind: Any, data: Any, at: Any) -> Any:
    """Load data[at:at + 64] as one vector; nobody checks that all of it is there."""
    array = context.make_array(kind)(context, builder, data)
    return builder.load(builder.gep(array.data, [at]), align=1, typ=_VECTOR)


def _all(builder: Any, byte: Any) -> Any:
    """A vector of the same byte: put in the first place, and from there in all of them."""
    nothing = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(nothing, byte, ir.IntType(32)(0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK)
    return builder.shuffle_vector(first, nothing, everywhere)


def _equal_bits(_: Any, data: Any, at: Any, byte: Any) -> Any:
    def answer(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        block = _block(context, builder, signature.args[0], *values[:2])
        found = builder.icmp_unsigned("==", block, _all(builder, values[2]))
        return builder.bitcast(found, ir.IntType(BLOCK))

    return types.uint64(data, types.int64, types.uint8), answer


def _between_bits(_: Any, data: Any, at: Any, low: Any, high: Any) -> Any:
    def answer(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        block = _block(context, builder, signature.args[0], *values[:2])
        # One comparison for both limits: what is below `low` wraps around to far above `high`.
        above = builder.sub(block, _all(builder, values[2]))
        room = _all(builder, builder.sub(values[3], values[2]))
        return builder.bitcast(builder.icmp_unsigned("<=", above, room), ir.IntType(BLOCK))

    return types.uint64(data, types.int64, types.uint8, types.uint8), answer


def _equal_numbers(_: Any, one: Any, at: Any, other: Any, there: Any) -> Any:
    def answer(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind, vectors = ir.VectorType(ir.IntType(32), NUMBERS), []
        for array, place, of in ((values[0], values[1], 0), (values[2], values[3], 2)):
            data = context.make_array(signature.args[of])(context, builder, array).data
            vectors.append(builder.load(builder.gep(data, [place]), align=1, typ=kind))
        found = builder.bitcast(builder.icmp_unsigned("==", *vectors), ir.IntType(NUMBERS))
        return builder.zext(found, ir.IntType(64))

    return types.uint64(one, types.int64, other, types.int64), answer


def _copy_block(_: Any, data: Any, at: Any, out: Any, to: Any) -> Any:
    def answer(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        block = _block(context, builder, signature.args[0], *values[:2])
        target = context.make_array(signature.args[2])(context, builder, values[2])
        place = builder.gep(target.data, [values[3]])
        builder.store(block, builder.bitcast(place, _VECTOR.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(data, types.int64, out, types.int64), answer


def _lowest_bit(_: Any, bits: Any) -> Any:
    def answer(_: Any, builder: Any, __: Any, values: Any) -> Any:
        return builder.cttz(values[0], ir.IntType(1)(0))

    return types.int64(types.uint64), answer


def _leading_zeros(_: Any, bits: Any) -> Any:
    def answer(_: Any, builder: Any, __: Any, values: Any) -> Any:
        return builder.ctlz(values[0], ir.IntType(1)(0))

    return types.int64(types.uint64), answer


def _count_bits(_: Any, bits: Any) -> Any:
    def answer(_: Any, builder: Any, __: Any, values: Any) -> Any:
        return builder.ctpop(values[0])

    return types.int64(types.uint64), answer


equal_bits: Any = intrinsic(_equal_bits)  # (data, at, byte): which are this byte
between_bits: Any = intrinsic(_between_bits)  # (data, at, low, high): which are from low to high
# (one, at, other, there): which of 16 numbers of 32 bits from these places on are equal
equal_numbers: Any = intrinsic(_equal_numbers)
copy_block: Any = intrinsic(_copy_block)  # (data, at, out, to): copy them, all 64
lowest_bit: Any = intrinsic(_lowest_bit)  # (bits): the place of the lowest, 64 for none
leading_zeros: Any = intrinsic(_leading_zeros)  # (bits): places above the highest, 64 for none
count_bits: Any = intrinsic(_count_bits)  # (bits): how many are set


@inlined_kernel
def eight_bytes(data: Bytes, at: int) -> np.uint64:
    """Eight bytes as a number, the first lowest. All eight must be there."""
    base, eight = np.uint64(at), np.uint64(0)
    for step in range(8):  # the compiler makes one load of it
        eight |= np.uint64(data[base + np.uint64(step)]) << np.uint64(8 * step)
    return eight


@inlined_kernel
def next_set(bits: Bits, at: int, end: int) -> int:
    """The first place from `at` on whose bit is set, or `end`."""
    block = at >> SHIFT
    word = bits[block] >> np.uint64(at & LAST) if at < end else np.uint64(1)
    if word:
        found: int = at + lowest_bit(word)
        return min(found, end)
    at = (at | LAST) + 1
    while at < end:
        word = bits[at >> SHIFT]
        if word:
            found = at + lowest_bit(word)
            return min(found, end)
        at += BLOCK
    return end


@inlined_kernel
def next_clear(bits: Bits, at: int, end: int) -> int:
    """The first place from `at` on whose bit is not set, or `end`."""
    while at < end:
        word = ~bits[at >> SHIFT] >> np.uint64(at & LAST)
        if word:
            found: int = at + lowest_bit(word)
            return min(found, end)
        at = (at | LAST) + 1
    return end


@inlined_kernel
def within(bits: Bits, block: int, begin: int, end: int) -> np.uint64:
    """The bits of a block from the place `begin` on and before `end`, which are in it or beyond."""
    word: np.uint64 = bits[block]
    at = block << SHIFT
    if at < begin:
        word &= ALL << np.uint64(begin - at)
    if at + BLOCK > end:
        word &= (np.uint64(1) << np.uint64(end - at)) - np.uint64(1)
    return word


@inlined_kernel
def count_set(bits: Bits, begin: int, end: int) -> int:
    """How many places from `begin` on and before `end` are set."""
    count = 0
    for block in range(begin >> SHIFT, (end >> SHIFT) + 1):
        count += count_bits(within(bits, block, begin, end))
    return count


@inlined_kernel
def is_set(bits: Bits, at: int) -> bool:
    """Whether the bit of this place is set."""
    return bool(bits[at >> SHIFT] >> np.uint64(at & LAST) & np.uint64(1))


NONE_BEFORE = (np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0))


class TextBits(NamedTuple):
    """Bits of bytes of UTF-8, counted from the first byte of the text."""

    newlines: Bits
    ends: Bits  # the last byte of a mark that ends a sentence
    runs: Bits  # all but the ASCII characters that stand between words
    odd: Bits  # of those, all but ASCII letters and digits
    unspaced: Bits  # first bytes of characters of scripts that are written without spaces


@kernel
def text_bits(data: Bytes) -> TextBits:
    """The bits of all bytes; of bytes after the last none is set."""
    blocks = len(data) // BLOCK + 1
    newlines, ends = np.empty(blocks, np.uint64), np.empty(blocks, np.uint64)
    runs, odd = np.empty(blocks, np.uint64), np.empty(blocks, np.uint64)
    unspaced = np.empty(blocks, np.uint64)
    bits = TextBits(newlines, ends, runs, odd, unspaced)
    whole = max(len(data) - 1, 0) // BLOCK  # the byte after a block is read, too
    before = _write_bits(data, 0, whole, NONE_BEFORE, bits)
    rest = np.full(2 * BLOCK + 1, 32, np.uint8)
    rest[: len(data) - whole * BLOCK] = data[whole * BLOCK :]
    _write_bits(rest, whole, blocks - whole, before, bits)
    return bits


@borrowing_kernel
def _write_bits(data: Bytes, first: int, blocks: int, before: Carried, bits: TextBits) -> Carried:
    """Write the bits of so many blocks, the first of which has this number; what is carried on.

    Blocks of plain ASCII, which most are, skip what only other bytes need.
    """
    for number in range(blocks):
        at = number * BLOCK
        place = np.uint64(first + number)
        lines = equal_bits(data, at, np.uint8(10))
        letters = between_bits(data, at, np.uint8(48), np.uint8(57))
        letters |= between_bits(data, at, np.uint8(65), np.uint8(90))
        letters |= between_bits(data, at, np.uint8(97), np.uint8(122))
        high = between_bits(data, at, np.uint8(128), np.uint8(255))
        control = between_bits(data, at, np.uint8(0), np.uint8(31))
        control |= equal_bits(data, at, np.uint8(127))
        unusual = high
        if control != lines:  # control characters other than newlines
            unusual |= _removed(data, at)
        marks = _ascii_ends(data, at)
        bits.unspaced[place] = np.uint64(0)
        if high:
            wide, before = _wide_ends(data, at, before)
            marks |= wide
            bits.unspaced[place] = _unspaced(data, at)
        else:
            before = NONE_BEFORE
        bits.newlines[place], bits.ends[place] = lines, marks
        bits.runs[place], bits.odd[place] = letters | unusual, unusual
    return before


@inlined_kernel
def _ascii_ends(block: Bytes, at: int) -> np.uint64:
    """Exclamation and question marks, semicolons, and stops before a space or a line's end."""
    marks = equal_bits(block, at, np.uint8(33)) | equal_bits(block, at, np.uint8(63))
    marks |= equal_bits(block, at, np.uint8(59))
    stops = equal_bits(block, at, np.uint8(46))
    if stops:
        stops &= between_bits(block, at + 1, np.uint8(0), np.uint8(32))
    return marks | stops  # type: ignore[no-any-return]


@inlined_kernel
def _removed(block: Bytes, at: int) -> np.uint64:
    """Control characters that folding takes out of a word."""
    control = between_bits(block, at, np.uint8(0), np.uint8(8))
    control |= between_bits(block, at, np.uint8(14), np.uint8(27))
    return control | equal_bits(block, at, np.uint8(127))  # type: ignore[no-any-return]


@inlined_kernel
def _wide_ends(block: Bytes, at: int, before: Carried) -> tuple[np.uint64, Carried]:
    """The last bytes of 。 (E3 80 82) and of ！ ； ？ (EF BC 81, 9B, 9F); and the first and second
    bytes of both kinds, which may end the block."""
    stop_1, stop_2 = equal_bits(block, at, np.uint8(0xE3)), equal_bits(block, at, np.uint8(0x80))
    mark_1, mark_2 = equal_bits(block, at, np.uint8(0xEF)), equal_bits(block, at, np.uint8(0xBC))
    marks = equal_bits(block, at, np.uint8(0x81)) | equal_bits(block, at, np.uint8(0x9B))
    marks |= equal_bits(block, at, np.uint8(0x9F))
    marks &= _moved(mark_2, before[3], 1) & _moved(mark_1, before[2], 2)
    stops = equal_bits(block, at, np.uint8(0x82))
    stops &= _moved(stop_2, before[1], 1) & _moved(stop_1, before[0], 2)
    return marks | stops, (stop_1, stop_2, mark_1, mark_2)


@inlined_kernel
def _unspaced(block: Bytes, at: int) -> np.uint64:
    """The first bytes of Han, Kana and what else is from E3 to E9 and F0, and of Thai and Lao,
    whose first byte E0 is that of many other scripts."""
    found = between_bits(block, at, np.uint8(0xE3), np.uint8(0xE9))
    found |= equal_bits(block, at, np.uint8(0xF0))
    others = equal_bits(block, at, np.uint8(0xE0))
    if others:
        found |= others & between_bits(block, at + 1, np.uint8(0xB8), np.uint8(0xBB))
    return found  # type: ignore[no-any-return]


@inlined_kernel
def _moved(bits: np.uint64, before: np.uint64, places: int) -> np.uint64:
    """Bits moved to later places; those of the block before come in."""
    return bits << np.uint64(places) | before >> np.uint64(BLOCK - places)
