"""Tokens by script: words where words have spaces between them, characters where they have not.

The rules and the hash function stand in `kernels/tokens.py`.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from neardup.kernels.tokens import token_hashes, token_spans
from neardup.text.normalise import fold_text, string_buffers


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
