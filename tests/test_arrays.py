from __future__ import annotations

from functools import partial
from itertools import groupby

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from neardup.arrays import (
    FeatureRows,
    Places,
    addresses_of,
    distinct,
    found_in,
    list_array,
    places_in_runs,
    ragged,
    string_columns,
)

SCHEMA = pa.schema([("long", pa.list_(pa.uint32())), ("words", pa.list_(pa.string()))])
rows = st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=5), min_size=1, max_size=8)


def batch(lists: list[list[int]]) -> pa.RecordBatch:
    words = [[str(number) for number in each] for each in lists]
    return pa.record_batch(
        [pa.array(lists, SCHEMA[0].type), pa.array(words, SCHEMA[1].type)], SCHEMA
    )


texts = st.lists(st.tuples(st.text(), st.text(st.characters(codec="ascii"))), max_size=5)


@given(texts)
def test_columns_of_texts_hold_the_texts(pairs: list[tuple[str, str]]) -> None:
    columns = [[pair[side] for pair in pairs] for side in (0, 1)]
    made = string_columns(*columns)
    for column, values in zip(made, columns, strict=True):
        column.validate(full=True)
        assert column.to_pylist() == [text.encode("utf-8", "replace").decode() for text in values]


@given(rows)
def test_lists_become_the_column_that_they_came_from(lists: list[list[int]]) -> None:
    column = pa.array(lists, SCHEMA[0].type)
    made = list_array(*ragged(column))
    made.validate(full=True)
    assert made.equals(column)


@given(st.lists(st.integers(0, 2)))
def test_places_in_runs_of_equal_values(values: list[int]) -> None:
    expected = [place for _, run in groupby(values) for place, _ in enumerate(run)]
    assert places_in_runs(np.array(values, np.int64)).tolist() == expected


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3)))
def test_distinct_numbers_are_those_of_a_set(numbers: list[int]) -> None:
    assert distinct(np.array(numbers, np.uint64)).tolist() == sorted(set(numbers))


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4), min_size=1))
def test_parts_together_are_read_like_one_table(parts: list[list[int]]) -> None:
    batches = [pa.record_batch({"a": pa.array(each, pa.uint64())}) for each in parts]
    batches = [each.append_column("b", pa.array([1] * len(each), pa.uint64())) for each in batches]
    lists = [[[number] * (number % 3) for number in each] for each in parts]
    kind = pa.list_(pa.uint64())
    batches = [
        batch.append_column("c", pa.array(column, kind))
        for batch, column in zip(batches, lists, strict=True)
    ]
    places = [(part, row) for part, each in enumerate(parts) for row in range(len(each))]
    of_part, in_part = np.array(places, np.int32).T.copy()
    rows = FeatureRows.at([FeatureRows.of(each) for each in batches], Places(of_part, in_part))
    every = np.arange(len(rows))
    work = partial(addresses_of, ("a", "b"))
    assert rows.known(work).tolist() == addresses_of(("a", "b"), batches).tolist()
    assert rows.known(work) is rows.known(work)
    taken = rows.take(every[::-1])
    assert taken["a"].to_pylist() == [number for part in parts for number in part][::-1]
    assert taken["b"].to_pylist() == [1] * len(rows)
    assert taken["c"].to_pylist() == [each for part in lists for each in part][::-1]


def test_rows_whose_numbers_have_gaps_are_taken() -> None:
    batches = [pa.record_batch({"a": pa.array(each)}) for each in ([[1], [2, 3]], [[4, 5, 6]])]
    far = 10_000  # nobody has written there
    rows = FeatureRows(batches[0].schema, batches, [np.array([far, 3]), np.array([7])])
    assert rows.take(np.array([7, far, 3]))["a"].to_pylist() == [[4, 5, 6], [1], [2, 3]]
    assert rows.positions()[[3, 7, far]].tolist() == [1, 2, 0]


@given(st.lists(st.integers(0, 20)), st.lists(st.integers(0, 20)))
def test_numbers_are_found_among_others(numbers: list[int], wanted: list[int]) -> None:
    ordered = np.array(sorted({*numbers}), np.int64)
    found, places = found_in(ordered, np.array(wanted, np.int64))
    assert found.tolist() == [each in numbers for each in wanted]
    assert ordered[places].tolist() == [each for each in wanted if each in numbers]
