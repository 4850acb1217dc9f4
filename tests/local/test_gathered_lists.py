"""Features taken from many batches, beside what Arrow takes from all of them together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from neardup.arrays import FeatureRows

NUMBERS = {"bytes": pa.uint8(), "words": pa.uint32(), "shares": pa.float64()}
LISTS = [(name, pa.list_(kind)) for name, kind in NUMBERS.items()]
OTHERS = [("page", pa.int64()), ("texts", pa.list_(pa.string())), ("flags", pa.list_(pa.bool_()))]
lengths = st.lists(st.lists(st.integers(0, 5), max_size=6), min_size=1, max_size=5)


def batch(sizes: list[int], schema: pa.Schema, first: int) -> pa.RecordBatch:
    """Rows with lists of such sizes, as a view of a larger batch."""
    rows = [
        {
            "page": first + at,
            "texts": [f"t{at}"] * size,
            "flags": [True] * size,
            **{name: [(first + at) % 200] * size for name in NUMBERS},
        }
        for at, size in enumerate([3, *sizes, 2])
    ]
    return pa.RecordBatch.from_pylist(rows, schema)[1:-1]


@given(lengths, st.booleans(), st.data())
def test_rows_of_many_batches_are_taken_in_the_order_asked_for(
    sizes: list[list[int]], only_lists: bool, data: st.DataObject
) -> None:
    schema = pa.schema(LISTS if only_lists else [*LISTS[:2], *OTHERS, *LISTS[2:]])
    batches = [batch(each, schema, 100 * at) for at, each in enumerate(sizes)]
    total = sum(map(len, sizes))
    numbers = np.array(data.draw(st.permutations(range(total))), np.int64)
    cuts = np.cumsum([len(each) for each in sizes])[:-1]
    features = FeatureRows(schema, batches, np.split(numbers, cuts))
    wanted = np.array(data.draw(st.lists(st.sampled_from(range(total)))) if total else [], np.int64)
    taken = features.take(wanted)
    taken.validate(full=True)
    rows = pa.Table.from_batches(batches).take(pa.array(np.argsort(numbers)[wanted]))
    assert taken.to_pylist() == rows.to_pylist()
    assert taken.schema == schema


def test_only_lists_of_numbers_without_nulls_are_gathered() -> None:
    schema = pa.schema([*LISTS, *OTHERS])
    some = batch([1, 2], schema, 0)
    assert FeatureRows.of(some).number_lists == list(NUMBERS)
    rows = [*some.to_pylist(), {"bytes": None, "words": [1, None], "shares": [0.5]}]
    missing = pa.RecordBatch.from_pylist(rows, schema)
    features = FeatureRows.of(some, missing)
    assert features.number_lists == ["shares"]
    assert features.take(np.array([4, 0]))["words"].to_pylist() == [[1, None], [1]]
