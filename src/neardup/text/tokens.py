"""Text as it is compared: folded, and split into tokens.

Folding gives one form to every width, case, script variant and kind of space. Folded text is never
shown: it has lost its capitals and its traditional characters. Why what is folded:
docs/decisions/0003-folding-and-tokens.md. Tokens are words where a script separates words by
spaces, and characters where it does not. The rules and the hash function are in
`kernels/tokens.py`.
"""

from __future__ import annotations

from base64 import b32encode

import numpy as np
import pyarrow as pa
import xxhash

from neardup.arrays import string_array, string_buffers
from neardup.kernels.fold import fold
from neardup.kernels.tokens import token_hashes, token_spans

MOST_WORDS = 50_000  # of a page that search finds; a PostgreSQL tsvector holds a megabyte
FIRST_UNSPACED = "\u0e00"  # Thai; Han and Kana come later


def fold_text(text: str) -> str:
    """One text, folded; a lone surrogate becomes a question mark."""
    data = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
    folded, _ = fold(data, np.array([0, len(data)], np.int64))
    return folded.tobytes().decode("utf-8")


def fold_batch(column: pa.StringArray) -> pa.StringArray:
    """A column of texts, folded; what is null stays null."""
    return string_array(*fold(*string_buffers(column)), like=column)


def tokens(text: str) -> list[str]:
    """The tokens of `text`, which is folded first."""
    content = fold_text(text).encode()
    data = np.frombuffer(content, np.uint8)
    starts, ends, _ = token_spans(data, np.array([0, len(data)], np.int64))
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    return [content[start:end].decode() for start, end in spans]


def search_words(text: str) -> list[str]:
    """What a text is found by: a short hash of each token, and of each two neighbours where a
    script has no spaces, so that any two characters of Chinese are found as they stand. In order,
    each once, the first `MOST_WORDS`; plain letters and digits, whatever the script."""
    words = tokens(text)
    unspaced = [len(token) == 1 and token >= FIRST_UNSPACED for token in words]
    pairs = [
        words[at] + words[at + 1]
        for at in range(len(words) - 1)
        if unspaced[at] and unspaced[at + 1]
    ]
    hashes = (xxhash.xxh3_64_digest(word.encode())[:5] for word in {*words, *pairs})
    return sorted(b32encode(each).decode().lower() for each in hashes)[:MOST_WORDS]


def tokens_batch(folded: pa.StringArray) -> pa.LargeListArray:
    """The token hashes (uint64) of each row of a column of folded text."""
    hashes, offsets = token_hashes(*string_buffers(folded))
    return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(hashes))
