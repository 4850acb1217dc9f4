"""Kernel == reference for what is read where it stands."""

from __future__ import annotations

import ctypes

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference import memory as plain
from neardup.kernels import memory

Choice = tuple[int, int]


def chosen(data: st.DataObject, sizes: list[int]) -> list[Choice]:
    """Some rows of batches of such sizes."""
    rows = [(batch, row) for batch, size in enumerate(sizes) for row in range(size)]
    return data.draw(st.lists(st.sampled_from(rows), max_size=8)) if rows else []


def columns(choices: list[Choice]) -> list[np.ndarray[tuple[int], np.dtype[np.int32]]]:
    return [np.array([each[side] for each in choices], np.int32) for side in range(2)]


texts = st.lists(st.text(max_size=5), max_size=3)


@given(st.lists(st.lists(texts, max_size=4), min_size=1, max_size=4), st.data())
def test_text_places(batches: list[list[list[str]]], data: st.DataObject) -> None:
    choices = chosen(data, [len(batch) for batch in batches])
    batch, row = columns(choices)
    number = np.array(
        [data.draw(st.integers(-1, len(batches[b][r]) - 1)) for b, r in choices], np.int64
    )
    lists = [pa.array(each, pa.list_(pa.string())) for each in batches]
    addresses, sizes = memory.text_places(
        np.array([list_addresses(each) for each in lists], np.uint64), batch, row, number
    )
    found = [
        ctypes.string_at(address, size).decode() if size >= 0 else None
        for address, size in zip(addresses.tolist(), sizes.tolist(), strict=True)
    ]
    assert found == plain.texts(batches, batch.tolist(), row.tolist(), number.tolist())


def list_addresses(lists: pa.ListArray) -> list[int]:
    buffers = [lists.buffers()[1], *lists.values.buffers()[1:]]
    return [buffer.address if buffer else 0 for buffer in buffers]
