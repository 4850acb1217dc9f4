"""Rows of a table as lines of JSON, by columns: a result has as many rows as pages and pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.kernels.json_text import quoted_texts
from neardup.text.normalise import string_buffers

LARGEST = 2**28  # bytes of a batch that is written at once: Arrow's strings hold 2**31, escaped
NOTHING = np.empty(0, np.uint8)


def json_lines(batch: pa.RecordBatch, ready: tuple[str, ...] = ()) -> Iterator[memoryview]:
    """Each row as `json.dumps(row, ensure_ascii=False)` writes it, and a line end.

    The columns named in `ready` are JSON already and go in as they are.
    """
    step = max(batch.num_rows * LARGEST // max(batch.nbytes, LARGEST), 1)
    for start in range(0, batch.num_rows, step):
        yield _lines(batch.slice(start, step), ready)


def _lines(batch: pa.RecordBatch, ready: tuple[str, ...]) -> memoryview:
    parts: list[pa.Array | str] = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        parts += [f'{", " if parts else "{"}"{name}": ']
        parts += [column if name in ready else _values(column)]
    lines = pc.binary_join_element_wise(*parts, "}\n", "")
    data, offsets = string_buffers(lines)
    return data[offsets[0] : offsets[-1]].data


def _values(column: pa.Array) -> pa.StringArray:
    """A column as JSON."""
    if pa.types.is_string(column.type):
        written = _quoted(column)
    elif pa.types.is_boolean(column.type):
        written = pc.if_else(column, "true", "false")
    elif pa.types.is_floating(column.type):
        encoded = column.dictionary_encode()
        numbers = pa.array([repr(number) for number in encoded.dictionary.to_pylist()], pa.string())
        written = numbers.take(encoded.indices)
    else:
        written = column.cast(pa.string())
    return pc.if_else(column.is_valid(), written, "null") if column.null_count else written


def _quoted(column: pa.StringArray) -> pa.StringArray:
    data, offsets = string_buffers(column)
    addresses = np.uint64(data.ctypes.data) + offsets[:-1].astype(np.uint64)
    quoted, ends = quoted_texts(addresses, np.diff(offsets), NOTHING)
    buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(quoted)]
    return pa.Array.from_buffers(pa.string(), len(column), buffers)
