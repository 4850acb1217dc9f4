"""In what two pages are identical: the rule of `methods.identical`, pair by pair, in place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel
from neardup.kernels.memory import Addresses, Numbers, long_words_at

# The columns that identify a page, all of 64 bits: see `methods.identical`.
COLUMNS = ("text_low", "text_high", "bytes_key", "content_key", "shell_key")
LOW, HIGH, BYTES_KEY, CONTENT_KEY, SHELL_KEY = range(len(COLUMNS))

# Two shells are not identical, and no method judges them.
SHELLS, NEITHER, BYTES, CONTENT = -1, 0, 1, 2


@kernel
def identical_kinds(
    columns: Addresses,
    left_batch: Numbers,
    left_row: Numbers,
    right_batch: Numbers,
    right_row: Numbers,
) -> NDArray[np.int8]:
    """`columns` are the addresses of `COLUMNS`, a row for each batch. Few pairs have the same
    digests, so hardly more than one number of a page is read."""
    kinds = np.zeros(len(left_row), np.int8)
    for pair in range(len(kinds)):
        page, row = columns[left_batch[pair]], left_row[pair]
        other, other_row = columns[right_batch[pair]], right_row[pair]
        low = _word(page[LOW], row)
        if low == 0 or low != _word(other[LOW], other_row):
            continue
        if _word(page[HIGH], row) != _word(other[HIGH], other_row):
            continue
        of_bytes, content = _word(page[BYTES_KEY], row), _word(page[CONTENT_KEY], row)
        kind = NEITHER
        if of_bytes == _word(other[BYTES_KEY], other_row):
            kind = BYTES
        elif content == _word(other[CONTENT_KEY], other_row):
            kind = CONTENT
        shell = _word(page[SHELL_KEY], row)
        has_little = of_bytes == content  # too little text to be a page: the title does not count
        if shell and shell == _word(other[SHELL_KEY], other_row) and (not kind or has_little):
            kind = SHELLS
        kinds[pair] = kind
    return kinds


@kernel
def _word(column: np.uint64, row: int) -> np.uint64:
    """A number of a column."""
    word: np.uint64 = long_words_at(column, row + 1)[row]
    return word
