"""Sixty-four bytes at once: a question about each of them, answered by the bits of one number.

Bit b is about byte `at + b`. Written in the vectors of LLVM, which every machine has instructions
for, wide or narrow. All 64 bytes must be there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from neardup.kernels.jit import inlined_kernel

Bits = NDArray[np.uint64]

BLOCK = 64
SHIFT, LAST = 6, 63  # to the number of a block, and to the place in it
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_BYTES = ir.VectorType(ir.IntType(8), BLOCK)


def _block(context: Any, builder: Any, kind: Any, data: Any, at: Any) -> Any:
    array = context.make_array(kind)(context, builder, data)
    return builder.load(builder.gep(array.data, [at]), align=1, typ=_BYTES)


def _all(builder: Any, byte: Any) -> Any:
    """A vector of the same byte."""
    nothing = ir.Constant(_BYTES, ir.Undefined)
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
        above = builder.sub(block, _all(builder, values[2]))
        room = _all(builder, builder.sub(values[3], values[2]))
        return builder.bitcast(builder.icmp_unsigned("<=", above, room), ir.IntType(BLOCK))

    return types.uint64(data, types.int64, types.uint8, types.uint8), answer


def _lowest_bit(_: Any, bits: Any) -> Any:
    def answer(_: Any, builder: Any, __: Any, values: Any) -> Any:
        return builder.cttz(values[0], ir.IntType(1)(0))

    return types.int64(types.uint64), answer


def _count_bits(_: Any, bits: Any) -> Any:
    def answer(_: Any, builder: Any, __: Any, values: Any) -> Any:
        return builder.ctpop(values[0])

    return types.int64(types.uint64), answer


equal_bits: Any = intrinsic(_equal_bits)  # (data, at, byte): which are this byte
between_bits: Any = intrinsic(_between_bits)  # (data, at, low, high): which are from low to high
lowest_bit: Any = intrinsic(_lowest_bit)  # (bits): the place of the lowest, 64 for none
count_bits: Any = intrinsic(_count_bits)  # (bits): how many are set


@inlined_kernel
def eight_bytes(data: NDArray[np.uint8], at: int) -> np.uint64:
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
