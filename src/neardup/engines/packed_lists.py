"""Lists of numbers as byte strings, which others carry in one piece. Only offsets are copied."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa


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
