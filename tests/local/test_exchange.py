from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from neardup.local.exchange import packed_rows, unpacked_rows

VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.timestamp("us", "UTC"): st.integers(0, 2**50),
    pa.string(): st.text(max_size=5),
    pa.large_string(): st.text(max_size=5),
    pa.binary(): st.binary(max_size=5),
    pa.binary(3): st.binary(min_size=3, max_size=3),
}
LISTS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.list_(pa.uint8()): st.lists(st.integers(0, 255), max_size=4),
    pa.list_(pa.bool_()): st.lists(st.booleans(), max_size=4),
    pa.list_(pa.string()): st.lists(st.text(max_size=3), max_size=4),
    pa.large_list(pa.uint64()): st.lists(st.integers(0, 2**64 - 1), max_size=4),
    pa.large_list(pa.large_string()): st.lists(st.text(max_size=3), max_size=4),
    pa.list_(pa.uint64(), 2): st.lists(st.integers(0, 9), min_size=2, max_size=2),
    pa.list_(pa.list_(pa.int64())): st.lists(st.lists(st.integers(0, 9), max_size=2), max_size=2),
    pa.struct([("a", pa.int64()), ("b", pa.string())]): st.fixed_dictionaries(
        {"a": st.integers(0, 9), "b": st.text(max_size=2)}
    ),
}
TYPES = {**VALUES, **LISTS}


@st.composite
def batches(draw: st.DrawFn) -> pa.RecordBatch:
    """Rows of any types, as a view of a larger batch."""
    kinds = draw(st.lists(st.sampled_from([*TYPES]), max_size=5))
    count, first = draw(st.integers(0, 6)), draw(st.integers(0, 2))
    rows = first + count
    columns = [
        pa.array(draw(st.lists(TYPES[kind] | st.none(), min_size=rows, max_size=rows)), kind)
        for kind in kinds
    ]
    schema = pa.schema([(str(place), kind) for place, kind in enumerate([*kinds, pa.int8()])])
    return pa.record_batch([*columns, pa.array([7] * rows, pa.int8())], schema=schema)[first:]


@given(batches(), st.data())
def test_packed_rows_are_the_rows(batch: pa.RecordBatch, data: st.DataObject) -> None:
    packed = packed_rows(batch)
    packed.validate(full=True)
    there = unpacked_rows(packed, batch.schema)
    there.validate(full=True)
    assert there.equals(batch)
    wanted = data.draw(st.lists(st.integers(0, max(batch.num_rows - 1, 0)), max_size=4))
    rows = pa.array(wanted if batch.num_rows else [], pa.int64())
    names = data.draw(st.sets(st.sampled_from(batch.schema.names), min_size=1))
    some = unpacked_rows(packed.take(rows)[1:], batch.schema, names)
    assert some.schema.names == [name for name in batch.schema.names if name in names]
    assert some.equals(batch.select(some.schema.names).take(rows)[1:])
