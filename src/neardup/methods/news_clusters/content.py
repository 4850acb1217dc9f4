"""What the Comparer compares: word counts for the cosine, a sequence of symbols for the LCS.

Words are the keywords of the main text (stop words dropped, Chinese cut into words), hashed to 32
bits. A sequence has one character for each token (a character of a script without spaces, a word
of a spaced one), so that one routine measures both.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import LCSseq

from neardup.kernels.cosine import sparse_cosines

FIRST_SYMBOL, SYMBOLS = 0x1_0000, 0x10_0000  # the code points above the surrogates
MOST = 65_535  # a count that fits
Rows = Sequence[int] | NDArray[np.int64]
PACKED = np.dtype([("word", "<u4"), ("count", "<u2")])


class Vectors(NamedTuple):
    """Ragged count vectors, as `kernels.cosine` takes them."""

    words: NDArray[np.uint32]
    counts: NDArray[np.uint16]
    offsets: NDArray[np.int64]


def count_words(words: pa.ListArray) -> Vectors:
    """The counts of each page's words."""
    encoded = words.flatten().dictionary_encode()
    names = [
        xxhash.xxh32_intdigest(word.as_buffer()) for word in encoded.dictionary.cast(pa.binary())
    ]
    hashes = np.array(names, np.int64)[encoded.indices.to_numpy()]
    pages = pc.list_parent_indices(words).to_numpy().astype(np.int64)
    both, counts = np.unique(pages << 32 | hashes, return_counts=True)
    offsets = np.searchsorted(both >> 32, np.arange(len(words) + 1))
    return Vectors(
        (both & 0xFFFF_FFFF).astype(np.uint32),
        np.minimum(counts, MOST).astype(np.uint16),
        offsets.astype(np.int64),
    )


def pack(words: NDArray[np.uint32], counts: NDArray[np.uint16]) -> str:
    """One vector as a text that any store can keep."""
    packed = np.empty(words.size, PACKED)
    packed["word"], packed["count"] = words, counts
    return base64.b64encode(packed.tobytes()).decode("ascii")


def unpack(texts: Sequence[str]) -> Vectors:
    """The vectors of packed texts."""
    each = [base64.b64decode(text) for text in texts]
    packed = np.frombuffer(b"".join(each), PACKED)
    offsets = np.cumsum([0, *map(len, each)]) // PACKED.itemsize
    return Vectors(packed["word"].copy(), packed["count"].copy(), offsets.astype(np.int64))


def as_sequence(tokens: NDArray[np.uint64]) -> str:
    """One character a token. Two of a million tokens may share one, which the LCS can bear."""
    symbols = (tokens % np.uint64(SYMBOLS)).astype("<u4") + np.uint32(FIRST_SYMBOL)
    return symbols.tobytes().decode("utf-32-le")


def cosines(
    left: Vectors, right: Vectors, left_rows: Rows, right_rows: Rows
) -> NDArray[np.float64]:
    """The cosine of each pair of rows."""
    rows = np.asarray(left_rows, np.int64), np.asarray(right_rows, np.int64)
    return sparse_cosines(*left, *right, *rows)


def common_subsequences(left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
    """The longest common subsequence of each pair as a share of the longer sequence."""
    scored = process.cpdist(
        left, right, scorer=LCSseq.normalized_similarity, dtype=np.float64, workers=1
    )
    both_empty = np.array([not a and not b for a, b in zip(left, right, strict=True)], bool)
    return np.where(both_empty, 0.0, scored)
