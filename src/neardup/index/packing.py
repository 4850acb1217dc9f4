"""Rows of Arrow batches as compressed bytes, and back."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pyarrow as pa
import zstandard

TEXT = 1  # levels of compression; higher ones save a few per cent and cost as much as parsing
NUMBERS = -1  # hashes hardly shrink
MOST_BYTES = 1 << 31

_here = threading.local()  # compressors must not be shared by threads


def pack(batch: pa.RecordBatch, level: int = NUMBERS) -> bytes:
    """A batch without its schema."""
    if not hasattr(_here, "compressors"):
        _here.compressors = {each: zstandard.ZstdCompressor(each) for each in (TEXT, NUMBERS)}
    packed: bytes = _here.compressors[level].compress(batch.serialize())
    return packed


def pack_rows(batch: pa.RecordBatch, level: int = NUMBERS) -> list[bytes]:
    """Each row by itself."""
    return [pack(batch.slice(row, 1), level) for row in range(batch.num_rows)]


def unpack(schema: pa.Schema, packed: Sequence[bytes]) -> pa.RecordBatch:
    """What was packed, as one batch."""
    if not packed:
        return pa.RecordBatch.from_pylist([], schema)
    if not hasattr(_here, "decompressor"):
        _here.decompressor = zstandard.ZstdDecompressor()
    decompress = _here.decompressor.decompress
    rows = [
        pa.ipc.read_record_batch(pa.py_buffer(decompress(each, MOST_BYTES)), schema)
        for each in packed
    ]
    return rows[0] if len(rows) == 1 else pa.concat_batches(rows)
