"""Letters per script."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.data import character_classes
from neardup.kernels.jit import kernel
from neardup.kernels.utf8 import code_point_at

# The columns of `count_scripts`; the order is that of the shipped table.
SCRIPTS = (
    "Latin",
    "Han",
    "Kana",
    "Hangul",
    "Cyrillic",
    "Greek",
    "Arabic",
    "Hebrew",
    "Thai",
    "Devanagari",
    "other",
)
SCRIPT_BITS = 15


def count_scripts(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many letters of each script (`SCRIPTS`) each document of a UTF-8 buffer has."""
    index, pages = character_classes()
    return _count(data, offsets, index, pages)


@kernel
def _count(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    index: NDArray[np.uint16],
    pages: NDArray[np.uint8],
) -> NDArray[np.int64]:
    documents = len(offsets) - 1
    counts = np.zeros((documents, 16), np.int64)  # the last column is for what is no letter
    for document in range(documents):
        at, end = offsets[document], offsets[document + 1]
        row = counts[document]
        while at < end:
            if data[at] < 0x80:
                row[pages[data[at]] & SCRIPT_BITS] += 1
                at += 1
            else:
                code, size = code_point_at(data, at, end)
                row[pages[int(index[code >> 8]) << 8 | code & 255] & SCRIPT_BITS] += 1
                at += size
    return counts[:, :11].copy()
