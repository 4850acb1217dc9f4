from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from neardup.local.features import Features
from neardup.local.run import Silent, Stage, equal_ranges, key_ranges, row_ranges
from neardup.local.work import FileParts, in_order_of_keys, within_keys
from neardup.schemas import COUNTS, KEYS
from neardup.text.sites import Survey, add_counts

SCHEMA = pa.schema([("page", pa.int64()), ("words", pa.list_(pa.string()))])


def batch(pages: list[int]) -> pa.RecordBatch:
    return pa.record_batch([pages, [[f"w{page}"] * page for page in pages]], schema=SCHEMA)


def test_mapped_features_are_found_by_page_number(tmp_path: Path) -> None:
    pages = [np.array([4, 0, 2]), np.array([1]), np.array([], np.int64), np.array([5, 3])]
    parts = FileParts(tmp_path / "f", SCHEMA, compressed=False)
    stage = Stage("features", Silent())
    parts.fill(pages, lambda each: (batch(each.tolist()), 0), 2, stage)
    features = Features.mapped(parts, pages)
    wanted = np.array([3, 3, 0, 5, 1, 4])
    for _ in range(2):  # the memory is given back in between
        assert features.take(wanted).to_pylist() == batch(wanted.tolist()).to_pylist()
    assert features.all()["page"].to_pylist() == [0, 1, 2, 3, 4, 5]
    assert features.take(np.array([], np.int64)).schema == SCHEMA
    assert len(features) == 6


def test_features_in_memory() -> None:
    features = Features.in_memory(batch([0, 1, 2]))
    assert features.take(np.array([2, 0]))["page"].to_pylist() == [2, 0]


@given(st.integers(0, 10**12), st.integers(10**6, 10**10), st.integers(1, 64))
def test_key_ranges_cover_every_key_once(size: int, memory: int, workers: int) -> None:
    ranges = key_ranges(min(size, memory * 20), memory, workers)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 2**64 - 1
    assert all(one[1] + 1 == other[0] for one, other in pairwise(ranges))


@given(st.integers(1, 2**31), st.integers(0, 10**12), st.integers(10**6, 10**10))
def test_row_ranges_cut_between_rows(rows: int, size: int, memory: int) -> None:
    ranges = row_ranges(rows, min(size, memory * 20), memory)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 2**64 - 1
    assert all(one[1] + 1 == other[0] for one, other in pairwise(ranges))
    assert all(first % 2**32 == 0 for first, _ in ranges)


keyed = st.lists(st.tuples(st.integers(0, 9) | st.integers(0, 2**64 - 1), st.integers(1, 5)))


@given(st.lists(keyed, max_size=4), st.integers(1, 5))
def test_counts_add_up_over_batches_and_ranges(
    batches: list[list[tuple[int, int]]], cuts: int
) -> None:
    tables = [
        pa.record_batch(
            [
                pa.array([k for k, _ in rows], pa.uint64()),
                pa.array([n for _, n in rows], pa.int64()),
            ],
            schema=COUNTS,
        )
        for rows in batches
    ]
    expected: dict[int, int] = {}
    for rows in batches:
        for key, count in rows:
            expected[key] = expected.get(key, 0) + count
    ranges = equal_ranges(cuts)
    found = [
        add_counts(within_keys(in_order_of_keys(each), *cut) for each in tables) for cut in ranges
    ]
    keys, counts = (np.concatenate(columns) for columns in zip(*found, strict=True))
    survey = Survey(1, keys, counts)
    asked = np.array([*expected, 123], np.uint64)
    assert survey.count(asked).tolist() == [*expected.values(), max(1, expected.get(123, 1))]


def test_a_range_of_keys_is_read_from_parts_in_order(tmp_path: Path) -> None:
    keys = [[9, 1, 2**64 - 1], [], [5, 5, 0, 7]]
    parts = FileParts(tmp_path / "k", KEYS, compressed=False)

    def part(some: list[int]) -> tuple[pa.RecordBatch, int]:
        rows = pa.array(range(len(some)), pa.int64())
        return in_order_of_keys(pa.record_batch([rows, pa.array(some, pa.uint64())], KEYS)), 0

    parts.fill(keys, part, 1, Stage("keys", Silent()))
    found = [each["key"].to_pylist() for each in parts.each_range(1, 7)]
    assert found == [[1], [], [5, 5, 7]]
    assert [each["row"].to_pylist() for each in parts.each_range(0, 2**64 - 1)] == [
        [1, 0, 2],
        [],
        [2, 0, 1, 3],
    ]
