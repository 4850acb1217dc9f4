"""Arrow lists as flat arrays and back.

Lists of numbers gathered from many batches: every list is copied once, to its place.

Arrow takes lists number by number, and what it took from several batches is copied again to join
it and once more to put it in order.

Lists of numbers as byte strings, which others carry in one piece. Only offsets are copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.kernels.memory import copy_lists


def ragged(column: pa.ListArray) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The values of the lists of a column, from the first on, and where each list starts."""
    offsets = column.offsets.to_numpy().astype(np.int64)
    values = column.values.slice(offsets[0], offsets[-1] - offsets[0]).to_numpy()
    return values, offsets - offsets[0]


def lists(values: NDArray[Any], places: NDArray[np.int64]) -> pa.ListArray:
    """A column of lists; the places are where each starts, with the end of all as the last."""
    return pa.ListArray.from_arrays(pa.array(places, pa.int32()), pa.array(values))


def lists_of_numbers(schema: pa.Schema, batches: Sequence[pa.RecordBatch]) -> list[str]:
    """The columns of lists of numbers of whole bytes in which nothing is null."""
    return [
        field.name
        for field in schema
        if pa.types.is_list(field.type)
        and pa.types.is_primitive(field.type.value_type)
        and not pa.types.is_boolean(field.type.value_type)
        and not any(_has_nulls(batch[field.name]) for batch in batches)
    ]


def _has_nulls(lists: pa.ListArray) -> bool:
    return bool(lists.null_count or lists.values.null_count)


def lengths(lists: pa.ListArray) -> NDArray[np.int32]:
    """How many numbers each list has."""
    found: NDArray[np.int32] = np.diff(lists.offsets.to_numpy())
    return found


class Gathered:
    """A column of lists in the making: their lengths are known, their numbers come by batches."""

    def __init__(self, kind: pa.ListType, lengths: NDArray[np.int32]) -> None:
        self._kind = kind
        self._width = kind.value_type.bit_width // 8
        self._starts = np.zeros(lengths.size + 1, np.int64)
        np.cumsum(lengths, out=self._starts[1:])
        self._data = np.empty(int(self._starts[-1]) * self._width, np.uint8)

    def put(self, lists: pa.ListArray, rows: NDArray[np.int64], places: NDArray[np.int64]) -> None:
        """Some rows of a batch, to their places in the column."""
        copy_lists(
            _bytes_of(lists.values, self._width),
            _read_only(lists.offsets.to_numpy()),
            self._width,
            rows,
            self._data,
            self._starts[places],
        )

    def column(self) -> pa.ListArray:
        """The column, when all is in its place."""
        count, data = int(self._starts[-1]), pa.py_buffer(self._data)
        numbers = pa.Array.from_buffers(self._kind.value_type, count, [None, data])
        starts = pa.array(self._starts, pa.int32())
        return pa.ListArray.from_arrays(starts, numbers, type=self._kind)


def _bytes_of(numbers: pa.Array, width: int) -> NDArray[np.uint8]:
    data = numbers.buffers()[1]
    if data is None:
        return _read_only(np.empty(0, np.uint8))
    return _read_only(np.frombuffer(data, np.uint8)[numbers.offset * width :])


def _read_only(numbers: NDArray[Any]) -> NDArray[Any]:
    """One kind of array for the kernel, whether the numbers are mapped or in memory."""
    numbers.setflags(write=False)
    return numbers


def pack(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """The batch with these columns as byte strings."""
    for name in names:
        place = batch.schema.get_field_index(name)
        batch = batch.set_column(place, name, _packed(batch.column(place)))
    return batch


def unpack(batch: pa.RecordBatch, schema: pa.Schema, names: Sequence[str]) -> pa.RecordBatch:
    """The batch as it was before it was packed."""
    for name in names:
        place = batch.schema.get_field_index(name)
        lists = _lists(batch.column(place), schema.field(name).type)
        batch = batch.set_column(place, schema.field(name), lists)
    return batch


def _packed(lists: pa.ListArray) -> pa.LargeBinaryArray:
    width = lists.type.value_type.bit_width // 8
    numbers = lists.values
    offsets = (lists.offsets.to_numpy().astype(np.int64) + numbers.offset) * width
    buffers = [None, pa.py_buffer(offsets), numbers.buffers()[1] or pa.py_buffer(b"")]
    return pa.Array.from_buffers(pa.large_binary(), len(lists), buffers)


def _lists(packed: pa.LargeBinaryArray, kind: pa.ListType) -> pa.ListArray:
    width = kind.value_type.bit_width // 8
    _, offsets, data = packed.buffers()
    first, count = packed.offset, len(packed) + 1
    places = np.frombuffer(offsets, np.int64, first + count)[first:] // width
    numbers = pa.Array.from_buffers(
        kind.value_type, int(places[-1]), [None, data or pa.py_buffer(b"")]
    )
    return pa.ListArray.from_arrays(pa.array(places, pa.int32()), numbers, type=kind)
