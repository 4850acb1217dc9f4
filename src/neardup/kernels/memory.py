"""Memory: columns read at their addresses, lists copied row by row, arrays that grow.

A kernel that is passed addresses reads the rows of many Arrow batches as one table, and nothing is
copied to make it one. The caller must hold the batches until it returns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from neardup.kernels.jit import Bytes, cgutils, intrinsic, kernel, of_numba, types

Addresses = NDArray[np.uint64]
Numbers = NDArray[np.int32]

array_at: Any = of_numba("numba", "carray")


def _pointer_to(_: Any, address: Any) -> Any:
    def pointer(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), pointer


pointer_to: Any = intrinsic(_pointer_to)  # (address): the pointer that `array_at` takes


def _prefetch(_: Any, __: Any) -> Any:
    def request(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", (cgutils.voidptr_t,), kind)
        pointer = builder.inttoptr(arguments[0], cgutils.voidptr_t)
        builder.call(fetch, [pointer, number(0), number(3), number(1)])  # read, keep, data
        return context.get_dummy_value()

    return types.void(types.uint64), request


# (address): load the cache line of an address, without waiting for it
prefetch: Any = intrinsic(_prefetch)


@kernel
def bytes_at(address: np.uint64, count: int) -> Bytes:
    """`count` bytes from an address on; the next ones are the same for other types."""
    found: Bytes = array_at(pointer_to(address), count, np.uint8)
    return found


@kernel
def places_at(address: np.uint64, count: int) -> Numbers:
    """Signed integers of 32 bits."""
    found: Numbers = array_at(pointer_to(address), count, np.int32)
    return found


@kernel
def words_at(address: np.uint64, count: int) -> NDArray[np.uint32]:
    """Unsigned integers of 32 bits."""
    found: NDArray[np.uint32] = array_at(pointer_to(address), count, np.uint32)
    return found


@kernel
def long_words_at(address: np.uint64, count: int) -> NDArray[np.uint64]:
    """Unsigned integers of 64 bits."""
    found: NDArray[np.uint64] = array_at(pointer_to(address), count, np.uint64)
    return found


@kernel
def floats_at(address: np.uint64, count: int) -> NDArray[np.float32]:
    """Floating-point numbers of 32 bits."""
    found: NDArray[np.float32] = array_at(pointer_to(address), count, np.float32)
    return found


@kernel
def text_places(
    columns: Addresses, batch: Numbers, row: Numbers, number: NDArray[np.int64]
) -> tuple[Addresses, NDArray[np.int64]]:
    """Address and size in bytes of one text per row, `number[p]` of the list of texts at row p; the
    size is -1 where the number is below 0.

    A row of `columns` has three addresses for its batch: the list offsets, the string offsets (both
    of 32 bits), and the bytes of the strings.
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


@kernel
def copy_lists(
    data: Bytes,
    starts: NDArray[np.int32],
    width: int,
    rows: NDArray[np.int64],
    target: Bytes,
    places: NDArray[np.int64],
) -> None:
    """Copy the lists of some `rows`, each to its place in the `target`.

    The type of the values does not matter: `starts` and `places` count values of `width` bytes, and
    list n is from `starts[n]` to `starts[n + 1]`.
    """
    for number in range(len(rows)):
        begin = np.int64(starts[rows[number]]) * width
        size = np.int64(starts[rows[number] + 1]) * width - begin
        at = places[number] * width
        from_here, to_here = data[begin : begin + size], target[at : at + size]
        for step in range(size):  # of slices: the compiler makes vector operations of it
            to_here[step] = from_here[step]


@kernel
def doubled(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """An array twice as long that begins with these values."""
    larger = np.empty(2 * len(values), np.int64)
    larger[: len(values)] = values
    return larger
