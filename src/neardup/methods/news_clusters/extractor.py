"""The Extractor (section 2, step 1): fingerprints of a page, and what the Comparer compares.

A page is reduced to its title and main text. The main text gives N-1 features; the option
`features` says which (section 3, point 1, names the alternatives). Each feature is folded and
stripped of punctuation and spaces, and dropped if it is then too short. Fingerprints are 64-bit
hashes of the M that remain.

The Comparer compares word counts (cosine) or sequences of symbols (LCS). Words are the keywords of
the main text, without stop words, hashed to 32 bits; Chinese is segmented. A sequence has one
character per token, which is a character in scripts without spaces and a word in others, so that
one routine measures both.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import LCSseq

from neardup.arrays import (
    Floats,
    Numbers,
    booleans,
    list_array,
    lists_of,
    offsets_of,
    places_in_runs,
    string_buffers,
)
from neardup.kernels.sentences import sentence_spans
from neardup.kernels.word_vectors import sparse_cosines
from neardup.methods.news_clusters.stores import NewsClustersOptions
from neardup.text.tokens import fold_batch

# What separates a title from the name of its site; a bare dash only between Chinese characters.
# White space is tried from its first character only: from each, it would be quadratic.
TITLE_SEAMS = re.compile(
    r"(?:(?<!\s)\s+)?[|｜_]+\s*|(?<!\s)\s+[-–—·»«]+\s+"
    r"|(?<=[\u3400-\u9fff])[-–—]+(?=[\u3400-\u9fff])"
)
NOT_OF_A_WORD = r"[^\pL\pN\pM]+"


def extract(
    titles: pa.StringArray, blocks: pa.ListArray, options: NewsClustersOptions
) -> pa.ListArray:
    """The fingerprints of each page, the title's first.

    `blocks` is the main text: a list of paragraphs for each page.
    """
    count = len(titles)
    from_text = FEATURES[options.features](blocks, options)
    pages = np.concatenate([np.arange(count), pc.list_parent_indices(from_text).to_numpy()])
    texts = bare(pa.concat_arrays([titles, from_text.flatten()]))
    order = np.argsort(pages, kind="stable")
    is_long = booleans(pc.greater_equal(pc.utf8_length(texts), options.minimum_length))
    order = order[is_long[order]]
    values = [
        xxhash.xxh3_64_intdigest(text)
        for text in texts.take(pa.array(order)).cast(pa.binary()).to_pylist()
    ]
    return _distinct(pages[order], np.array(values, np.uint64), count)


def story_title(title: str) -> str:
    """The title without the name of its site: its longest part."""
    return max(TITLE_SEAMS.split(title), key=len)


def bare(texts: pa.StringArray) -> pa.StringArray:
    """Folded texts without punctuation and spaces."""
    return pc.replace_substring_regex(fold_batch(texts), NOT_OF_A_WORD, "")


def longest_sentences(blocks: pa.ListArray, options: NewsClustersOptions) -> pa.ListArray:
    """The longest sentence of each of the N-1 longest paragraphs: the paper's choice."""
    paragraphs = longest_paragraphs(blocks, options)
    flat = paragraphs.flatten()
    data, offsets = string_buffers(flat)
    starts, ends, places = sentence_spans(data, offsets)
    # Lengths in characters: continuation bytes of UTF-8 do not count.
    before = offsets_of((data & 0xC0) != 0x80)
    paragraph = np.repeat(np.arange(len(flat)), np.diff(places))
    longest = _longest(before[ends] - before[starts], paragraph, 1)
    content = data.tobytes()
    texts = [content[starts[each] : ends[each]].decode() for each in longest.tolist()]
    pages = pc.list_parent_indices(paragraphs).to_numpy()[paragraph[longest]]
    return lists_of(pages, pa.array(texts, pa.string()), len(blocks))


def longest_paragraphs(blocks: pa.ListArray, options: NewsClustersOptions) -> pa.ListArray:
    """The N-1 longest paragraphs, the longest first."""
    flat = blocks.flatten()
    pages = pc.list_parent_indices(blocks).to_numpy()
    chosen = _longest(pc.utf8_length(flat).to_numpy(), pages, options.n - 1)
    return lists_of(pages[chosen], flat.take(pa.array(chosen)), len(blocks))


def full_text(blocks: pa.ListArray, options: NewsClustersOptions) -> pa.ListArray:
    """The whole text as one feature."""
    texts = pc.binary_join(blocks, "\n")
    return list_array(texts, np.arange(len(texts) + 1))


def around_full_stops(blocks: pa.ListArray, options: NewsClustersOptions) -> pa.ListArray:
    """The characters on both sides of the full stops that end the N-1 longest sentences."""
    texts = pc.binary_join(blocks, "\n")
    data, offsets = string_buffers(texts)
    starts, ends, places = sentence_spans(data, offsets)
    content, spans = data.tobytes(), zip(starts.tolist(), ends.tolist(), strict=True)
    sentences = bare(pa.array([content[start:end].decode() for start, end in spans], pa.string()))
    by_page = list_array(sentences, places).to_pylist()
    return pa.array([_around(parts, options) for parts in by_page], pa.list_(pa.string()))


def _around(parts: list[str], options: NewsClustersOptions) -> list[str]:
    """`parts` are the bare sentences of a page."""
    whole = "".join(parts)
    ends = np.cumsum([len(part) for part in parts]).tolist()
    longest = sorted(range(len(parts)), key=lambda each: -len(parts[each]))[: options.n - 1]
    reach = options.reach
    return [whole[max(ends[each] - reach, 0) : ends[each] + reach] for each in longest]


def slices(blocks: pa.ListArray, options: NewsClustersOptions) -> pa.ListArray:
    """The text in N-1 slices of equal length (the last may be shorter)."""
    texts = bare(pc.binary_join(blocks, "\n")).to_pylist()
    cut = []
    for text in texts:
        size = max(-(-len(text) // (options.n - 1)), 1)
        cut.append([text[start : start + size] for start in range(0, len(text), size)])
    return pa.array(cut, pa.list_(pa.string()))


FEATURES = {
    "longest-sentences": longest_sentences,
    "paragraphs": longest_paragraphs,
    "full-text": full_text,
    "full-stops": around_full_stops,
    "slices": slices,
}


def _longest(lengths: NDArray[np.integer], groups: NDArray[np.integer], count: int) -> Numbers:
    """The indices of the `count` longest of each group, group by group, longest first."""
    order = np.lexsort((-lengths, groups))
    chosen: Numbers = order[places_in_runs(groups[order]) < count]
    return chosen


def _distinct(pages: Numbers, values: NDArray[np.uint64], count: int) -> pa.ListArray:
    """Each value of a page once, at its first occurrence."""
    _, first = np.unique(np.stack([pages.astype(np.uint64), values]), axis=1, return_index=True)
    kept = np.sort(first)
    return lists_of(pages[kept], pa.array(values[kept], pa.uint64()), count)


FIRST_SYMBOL, SYMBOLS = 0x1_0000, 0x10_0000  # the code points above the surrogates
MOST = 65_535  # largest count stored
Rows = Sequence[int] | Numbers
PACKED = np.dtype([("word", "<u4"), ("count", "<u2")])


class Vectors(NamedTuple):
    """Ragged count vectors, as `kernels.word_vectors.sparse_cosines` takes them."""

    words: NDArray[np.uint32]
    counts: NDArray[np.uint16]
    offsets: Numbers


def count_words(words: pa.ListArray) -> Vectors:
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
    """One vector as a string that any store can hold."""
    packed = np.empty(words.size, PACKED)
    packed["word"], packed["count"] = words, counts
    return base64.b64encode(packed.tobytes()).decode("ascii")


def unpack(texts: Sequence[str]) -> Vectors:
    """The vectors of packed strings."""
    vectors = [base64.b64decode(text) for text in texts]
    packed = np.frombuffer(b"".join(vectors), PACKED)
    offsets = np.cumsum([0, *map(len, vectors)]) // PACKED.itemsize
    return Vectors(packed["word"].copy(), packed["count"].copy(), offsets.astype(np.int64))


def as_sequence(tokens: NDArray[np.uint64]) -> str:
    """One character per token. Different tokens may rarely share one, which LCS tolerates."""
    symbols = (tokens % np.uint64(SYMBOLS)).astype("<u4") + np.uint32(FIRST_SYMBOL)
    return symbols.tobytes().decode("utf-32-le")


def cosines(left: Vectors, right: Vectors, left_rows: Rows, right_rows: Rows) -> Floats:
    """The cosine of each pair of rows."""
    rows = np.asarray(left_rows, np.int64), np.asarray(right_rows, np.int64)
    return sparse_cosines(*left, *right, *rows)


def common_subsequences(left: Sequence[str], right: Sequence[str]) -> Floats:
    """The longest common subsequence of each pair as a share of the longer sequence."""
    scored = process.cpdist(
        left, right, scorer=LCSseq.normalized_similarity, dtype=np.float64, workers=1
    )
    both_empty = np.array([not a and not b for a, b in zip(left, right, strict=True)], bool)
    return np.where(both_empty, 0.0, scored)
