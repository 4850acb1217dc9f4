"""What the hand-written parts of the kernels buy, against the plain way to the same result.

    python -m bench.kernels [--data DIR]

The figures stand in docs/decisions/0012 and 0013. Times are of the processor, the best of several
rounds taken in turns.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.arrays import string_buffers
from neardup.kernels.fold import fold
from neardup.kernels.folded_tokens import folded_token_hashes
from neardup.kernels.lines import newline_bits
from neardup.kernels.tokens import token_hashes
from neardup.local.result import json_lines
from neardup.pages import read
from neardup.text.parse import parse

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
PAGES = 1500
ROUNDS = 9


def main(data: Path = DATA) -> dict[str, object]:
    """Milliseconds of each pair of ways."""
    batches = [parse(batch.pages) for batch in read([str(data / "real-pages.warc.gz")])]
    pages = pa.concat_batches(batches).slice(0, PAGES)
    bytes_, offsets = string_buffers(pages.column("text"))
    rows = pages.select(["id", "url", "host", "title", "language", "sentences", "size"])
    assert b"".join(json_lines(rows)) == _dumped(rows)
    return {
        "megabytes": round(len(bytes_) / 1e6, 1),
        "newline_bits": _milliseconds(lambda: newline_bits(bytes_)),
        "newline_bits_by_a_loop": _milliseconds(lambda: _newline_bits_by_a_loop(bytes_)),
        "token_hashes_by_bits": _milliseconds(lambda: folded_token_hashes(bytes_, offsets)),
        "token_hashes_by_bytes": _milliseconds(lambda: token_hashes(*fold(bytes_, offsets))),
        "json_by_column": _milliseconds(lambda: list(json_lines(rows))),
        "json_by_row": _milliseconds(lambda: _dumped(rows)),
    }


@numba.njit(nogil=True)
def _newline_bits_by_a_loop(data: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """As the compiler makes it of a loop over bytes."""
    bits = np.zeros(len(data) // 64 + 1, np.uint64)
    for at in range(len(data)):
        bits[at >> 6] |= np.uint64(data[at] == 10) << np.uint64(at & 63)
    return bits


def _dumped(rows: pa.RecordBatch) -> bytes:
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows.to_pylist()]
    return "".join(lines).encode()


def _milliseconds(run: Callable[[], object]) -> float:
    run()  # compiles
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return round(best * 1000, 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    print(json.dumps(main(parser.parse_args().data), indent=2))
