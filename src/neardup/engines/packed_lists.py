"""Lists of numbers as byte strings: Arrow takes lists number by number, byte strings at once.

Nothing is copied but the offsets, which are held twice, so only columns of long lists are packed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

LONG = 256  # bytes of a list, on average, from which packing pays


def long_lists(schema: pa.Schema, batches: Sequence[pa.RecordBatch]) -> list[str]:
    """The columns of lists of numbers that are long and never null."""
    rows = sum(batch.num_rows for batch in batches)
    return [
        field.name
        for field in schema
        if pa.types.is_list(field.type)
        and pa.types.is_primitive(field.type.value_type)
        and not pa.types.is_boolean(field.type.value_type)
        and sum(batch[field.name].nbytes for batch in batches) > LONG * rows
        and not any(batch[field.name].null_count for batch in batches)
    ]


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
