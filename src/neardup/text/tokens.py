"""Text as it is compared: one form for every width, case, script variant and kind of space.

Never for showing: folded text has lost its capitals and its traditional characters. What is folded
and why stands in docs/decisions/0003-folding-and-tokens.md.

Tokens by script: words where words have spaces between them, characters where they have not.

The rules and the hash function stand in `kernels/tokens.py`.

The sentences of a text. The rules stand in `kernels/sentences.py`.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.kernels.fold import fold
from neardup.kernels.sentences import sentence_spans
from neardup.kernels.tokens import token_hashes, token_spans


def fold_text(text: str) -> str:
    """One text, folded; a lone surrogate becomes a question mark."""
    data = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
    folded, _ = fold(data, np.array([0, len(data)], np.int64))
    return folded.tobytes().decode("utf-8")


def fold_batch(column: pa.StringArray) -> pa.StringArray:
    """A column of texts, folded; what is null stays null."""
    return string_array(*fold(*string_buffers(column)), like=column)


def string_buffers(
    column: pa.StringArray | pa.LargeStringArray,
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The UTF-8 bytes of a column, not copied, and the offsets of its rows in them."""
    _, offsets, data = column.buffers()
    width = np.int64 if pa.types.is_large_string(column.type) else np.int32
    if not len(column):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    rows = np.frombuffer(offsets, width, len(column) + 1, column.offset * np.dtype(width).itemsize)
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return content, rows.astype(np.int64)


def string_array(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], *, like: pa.StringArray
) -> pa.StringArray:
    """A column of the bytes, not copied, with the type and the nulls of `like`."""
    large = pa.types.is_large_string(like.type)
    if not large and offsets[-1] > np.iinfo(np.int32).max:
        raise ValueError("folded text above 2 GB in one column: pass fewer rows at a time")
    rows = offsets if large else offsets.astype(np.int32)
    valid = like.is_valid().buffers()[1] if like.null_count else None
    buffers = [valid, pa.py_buffer(rows), pa.py_buffer(data)]
    return pa.Array.from_buffers(like.type, len(like), buffers, like.null_count)


def tokens(text: str) -> list[str]:
    """The tokens of `text`, which is folded first."""
    content = fold_text(text).encode()
    data = np.frombuffer(content, np.uint8)
    starts, ends, _ = token_spans(data, np.array([0, len(data)], np.int64))
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    return [content[start:end].decode() for start, end in spans]


def tokens_batch(folded: pa.StringArray) -> pa.LargeListArray:
    """The token hashes (uint64) of each row of a column of folded text."""
    hashes, offsets = token_hashes(*string_buffers(folded))
    return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(hashes))


def sentences(text: str) -> list[str]:
    """The sentences of `text` in order, without the white space around them."""
    data = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
    starts, ends, _ = sentence_spans(data, np.array([0, len(data)], np.int64))
    content = data.tobytes()
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    return [content[start:end].decode("utf-8") for start, end in spans]
