"""The hand-written parts of the kernels, compared with the plain way to the same result.

    python -m bench.kernels

For decisions 0012 and 0013. Processor time, the best of several rounds.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.documents import DATA
from bench.timing import best_seconds
from neardup.arrays import string_buffers
from neardup.kernels.fold import fold
from neardup.kernels.folded_tokens import folded_token_hashes
from neardup.kernels.lines import newline_bits
from neardup.kernels.tokens import token_hashes
from neardup.local.result import json_lines
from neardup.pages.readers import read
from neardup.text.parse import parse

PAGES = 1500
ROUNDS = 9


def main(data: Path = DATA) -> dict[str, float]:
    """Milliseconds of each kernel and of its plain alternative."""
    batches = [parse(batch.pages) for batch in read([str(data / "real-pages.warc.gz")])]
    pages = pa.concat_batches(batches).slice(0, PAGES)
    bytes_, offsets = string_buffers(pages.column("text"))
    rows = pages.select(["id", "url", "host", "title", "language", "sentences", "size"])
    assert b"".join(json_lines(rows)) == _dumped(rows)
    jobs: dict[str, Callable[[], object]] = {
        "newline_bits": lambda: newline_bits(bytes_),
        "newline_bits_by_a_loop": lambda: _newline_bits_by_a_loop(bytes_),
        "token_hashes_by_bits": lambda: folded_token_hashes(bytes_, offsets),
        "token_hashes_by_bytes": lambda: token_hashes(*fold(bytes_, offsets)),
        "json_by_column": lambda: list(json_lines(rows)),
        "json_by_row": lambda: _dumped(rows),
    }
    best_seconds(jobs, 1)  # compiles the kernels
    milliseconds = {
        name: round(1000 * each, 2) for name, each in best_seconds(jobs, ROUNDS).items()
    }
    return {"megabytes": round(len(bytes_) / 1e6, 1), **milliseconds}


@numba.njit(nogil=True)
def _newline_bits_by_a_loop(data: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """A plain loop over bytes, for the compiler to vectorise."""
    bits = np.zeros(len(data) // 64 + 1, np.uint64)
    for at in range(len(data)):
        bits[at >> 6] |= np.uint64(data[at] == 10) << np.uint64(at & 63)
    return bits


def _dumped(rows: pa.RecordBatch) -> bytes:
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows.to_pylist()]
    return "".join(lines).encode()


if __name__ == "__main__":
    print(json.dumps(main(), indent=2))
