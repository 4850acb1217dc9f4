"""Tokens and their hashes: the kernel agrees with the reference, and hashes never change."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from kernels.reference import tokens as reference
from neardup.kernels.tokens import token_hashes, token_spans
from unicode_text import buffers, documents, slices


@given(documents)
@example(["a b c d e", "中a中b", "", "กี้", "\u0301a"])
def test_spans_agree_with_reference(texts: list[str]) -> None:
    data, offsets = buffers(texts)
    starts, ends, places = token_spans(data, offsets)
    found = slices(data, starts, ends)
    rows = [found[places[row] : places[row + 1]] for row in range(len(texts))]
    assert rows == [reference.tokens(text) for text in texts]


@given(documents)
def test_hashes_agree_with_reference(texts: list[str]) -> None:
    hashes, places = token_hashes(*buffers(texts))
    found = hashes.tolist()
    rows = [found[places[row] : places[row + 1]] for row in range(len(texts))]
    assert rows == [list(map(reference.token_hash, reference.tokens(text))) for text in texts]


def test_hashes_are_those_that_are_on_disk() -> None:
    """Written down once: a change here would break every stored result."""
    hashes, _ = token_hashes(*buffers(["hello 中 한국어 2023"]))
    assert [f"{value:016x}" for value in hashes.tolist()] == STORED


STORED = ["aa6e8d749b8897fb", "837f5ed4c39fe33e", "96cc3437e6ab9620", "b06a999e38695b19"]


@given(st.binary(max_size=64))
def test_any_bytes_are_harmless(content: bytes) -> None:
    data, offsets = np.frombuffer(content, np.uint8), np.array([0, len(content)], np.int64)
    starts, ends, places = token_spans(data, offsets)
    assert places[-1] == len(starts) == len(token_hashes(data, offsets)[0])
    assert len(starts) <= (len(content) + 1) // 2
    edges = np.column_stack([starts, ends]).ravel()
    assert (np.diff(edges) >= 0).all()
    assert not len(edges) or (edges[0] >= 0 and edges[-1] <= len(content))
