"""Sentences: the kernel agrees with the reference."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from kernels.reference import sentences as reference
from neardup.kernels.sentences import count_sentences, sentence_spans
from unicode_text import buffers, documents, slices


@given(documents)
@example(
    ["U.S.\nA", "No. 5. no. Then", "abcdefgh. A", "1．5です．また", "é. A", "a\u0301. B", "?。x"]
)
def test_spans_agree_with_reference(texts: list[str]) -> None:
    data, offsets = buffers(texts)
    starts, ends, places = sentence_spans(data, offsets)
    found = slices(data, starts, ends)
    rows = [found[places[row] : places[row + 1]] for row in range(len(texts))]
    assert rows == [reference.sentences(text) for text in texts]


@given(documents)
def test_counts_agree_with_reference(texts: list[str]) -> None:
    counts = count_sentences(*buffers(texts))
    assert counts.dtype == np.int32
    assert counts.tolist() == [len(reference.sentences(text)) for text in texts]


@given(st.binary(max_size=64))
def test_any_bytes_are_harmless(content: bytes) -> None:
    data, offsets = np.frombuffer(content, np.uint8), np.array([0, len(content)], np.int64)
    starts, ends, _ = sentence_spans(data, offsets)
    assert ((starts >= 0) & (starts < ends) & (ends <= len(content))).all()
