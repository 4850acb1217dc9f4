"""Where the features of pages stand in memory, for kernels that read them there.

A row a batch, so that the rows of many batches are one table to a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.kernels import shared_text

Addresses = NDArray[np.uint64]


def list_addresses(batches: Sequence[pa.RecordBatch]) -> Addresses:
    """Of the columns that `shared_text` reads: where their lists start, and their values."""
    return _table(
        [
            [place for name in shared_text.COLUMNS for place in _of_lists(batch[name])]
            for batch in batches
        ]
    )


def text_addresses(batches: Sequence[pa.RecordBatch], name: str) -> Addresses:
    """Of a column of lists of texts: where the lists start, where the texts start, the bytes."""
    return _table([[*_of_lists(batch[name]), _text_bytes(batch[name].values)] for batch in batches])


def number_addresses(batches: Sequence[pa.RecordBatch], name: str) -> Addresses:
    """Of a column of numbers of 64 bits."""
    return np.array([_address(batch[name], 8) for batch in batches], np.uint64)


def _table(rows: list[list[int]]) -> Addresses:
    return np.array(rows, np.uint64).reshape(len(rows), -1)


def _of_lists(column: pa.ListArray) -> list[int]:
    kind = column.type.value_type
    width = 4 if pa.types.is_string(kind) else kind.bit_width // 8
    return [_address(column, 4), _address(column.values, width)]


def _text_bytes(texts: pa.StringArray) -> int:
    data = texts.buffers()[2]
    return data.address if data is not None else 0


def _address(array: pa.Array, width: int) -> int:
    """Of the first number of an array that may be a slice of another; 0 for one without any."""
    buffer = array.buffers()[1]
    return buffer.address + array.offset * width if buffer is not None else 0
