"""Arrays that stand somewhere else: a kernel that is told addresses reads them where they are.

The rows of many Arrow batches are one table to such a kernel, and nothing is copied to make it so.
Whoever calls it holds the batches until it returns.

Lists copied to their places, row by row, whatever their numbers are.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from neardup.kernels.jit import kernel

Addresses = NDArray[np.uint64]
Numbers = NDArray[np.int32]

array_at: Any = numba.carray  # type: ignore[attr-defined]


def _pointer_to(_: Any, address: Any) -> Any:
    def pointer(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), pointer


pointer_to: Any = intrinsic(_pointer_to)  # an address as what `array_at` takes


def _prefetch(_: Any, __: Any) -> Any:
    def asked_for(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", (cgutils.voidptr_t,), kind)
        pointer = builder.inttoptr(arguments[0], cgutils.voidptr_t)
        builder.call(ask, [pointer, number(0), number(3), number(1)])  # data, to read, to keep
        return context.get_dummy_value()

    return types.void(types.uint64), asked_for


prefetch: Any = intrinsic(_prefetch)  # asks for the 64 bytes around an address, and does not wait


@kernel
def bytes_at(address: np.uint64, count: int) -> NDArray[np.uint8]:
    """So many bytes."""
    found: NDArray[np.uint8] = array_at(pointer_to(address), count, np.uint8)
    return found


@kernel
def places_at(address: np.uint64, count: int) -> Numbers:
    """So many numbers of 32 bits with a sign."""
    found: Numbers = array_at(pointer_to(address), count, np.int32)
    return found


@kernel
def words_at(address: np.uint64, count: int) -> NDArray[np.uint32]:
    """So many numbers of 32 bits without one."""
    found: NDArray[np.uint32] = array_at(pointer_to(address), count, np.uint32)
    return found


@kernel
def long_words_at(address: np.uint64, count: int) -> NDArray[np.uint64]:
    """So many numbers of 64 bits without a sign."""
    found: NDArray[np.uint64] = array_at(pointer_to(address), count, np.uint64)
    return found


@kernel
def floats_at(address: np.uint64, count: int) -> NDArray[np.float32]:
    """So many floating-point numbers of 32 bits."""
    found: NDArray[np.float32] = array_at(pointer_to(address), count, np.float32)
    return found


@kernel
def gather(columns: Addresses, batch: Numbers, row: Numbers) -> NDArray[np.uint64]:
    """The numbers of 64 bits at such rows of such batches; `columns` has the address of the column
    of each batch."""
    found = np.empty(len(row), np.uint64)
    for place in range(len(row)):
        column = long_words_at(columns[batch[place]], row[place] + 1)
        found[place] = column[row[place]]
    return found


@kernel
def text_places(
    columns: Addresses, batch: Numbers, row: Numbers, number: NDArray[np.int64]
) -> tuple[Addresses, NDArray[np.int64]]:
    """Address and bytes of text `number` of the list at such rows of such batches; -1 bytes where
    the number is below 0.

    A row of `columns` has three addresses: of the places where the lists of a batch start, of those
    where each text of the lists starts (both of 32 bits), and of the bytes of all.
    """
    addresses = np.zeros(len(row), np.uint64)
    sizes = np.full(len(row), -1)
    for place in range(len(row)):
        if number[place] >= 0:
            column = columns[batch[place]]
            text = places_at(column[0], row[place] + 1)[row[place]] + number[place]
            starts = places_at(column[1], text + 2)
            addresses[place] = column[2] + np.uint64(starts[text])
            sizes[place] = starts[text + 1] - starts[text]
    return addresses, sizes


Bytes = NDArray[np.uint8]


@kernel
def copy_lists(
    data: Bytes,
    starts: NDArray[np.int32],
    width: int,
    rows: NDArray[np.int64],
    target: Bytes,
    places: NDArray[np.int64],
) -> None:
    """The lists of some `rows`, each to its place in the `target`.

    `starts` and `places` count numbers of `width` bytes; list n is from `starts[n]` to the next.
    """
    for number in range(len(rows)):
        begin = np.int64(starts[rows[number]]) * width
        size = np.int64(starts[rows[number] + 1]) * width - begin
        at = places[number] * width
        from_here, to_here = data[begin : begin + size], target[at : at + size]
        for step in range(size):  # of slices: the compiler makes vector operations of it
            to_here[step] = from_here[step]
