"""Kernel == reference for lines and sentences."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.reference import lines as plain
from neardup.kernels import lines
from neardup.kernels.text_bits import text_bits

texts = st.text(st.sampled_from("ab. !?;。！？；\n茶海ทあ𠮷é　�"), max_size=200)
documents = st.lists(texts, max_size=5)


def buffers(documents: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    encoded = [text.encode() for text in documents]
    data = np.frombuffer(b"".join(encoded), np.uint8)
    return data, np.cumsum([0, *map(len, encoded)]).astype(np.int64)


def cut(data: NDArray[np.uint8], starts: NDArray[np.int64]) -> list[str]:
    return [data[a:b].tobytes().decode() for a, b in pairwise(starts)]


@given(documents)
def test_lines(documents: list[str]) -> None:
    data, offsets = buffers(documents)
    starts, document_lines = lines.line_offsets(lines.newline_bits(data), offsets)
    found = [line.removesuffix("\n") for line in cut(data, starts)]
    for number, text in enumerate(documents):
        here = found[document_lines[number] : document_lines[number + 1]]
        assert here == plain.lines(text)


@given(st.binary(max_size=300) | st.integers(0, 200).map(lambda size: b"\n" * size))
def test_newline_bits(data: bytes) -> None:
    bits = lines.newline_bits(np.frombuffer(data, np.uint8))
    found = [at for at in range(64 * bits.size) if int(bits[at // 64]) >> at % 64 & 1]
    assert found == [at for at, byte in enumerate(data) if byte == ord("\n")]
    assert bits.tolist() == text_bits(np.frombuffer(data, np.uint8)).newlines.tolist()


@given(documents)
def test_sentences(documents: list[str]) -> None:
    data, offsets = buffers(documents)
    starts, _ = lines.line_offsets(text_bits(data).newlines, offsets)
    pieces, line_pieces = lines.sentence_offsets(text_bits(data).ends, starts)
    found = cut(data, pieces)
    for number, line in enumerate(cut(data, starts)):
        assert found[line_pieces[number] : line_pieces[number + 1]] == plain.sentences(line)


@given(documents)
def test_equal_lines_have_equal_hashes_and_others_do_not(documents: list[str]) -> None:
    data, offsets = buffers(documents)
    starts, _ = lines.line_offsets(text_bits(data).newlines, offsets)
    named: dict[str, int] = {}
    hashes = lines.line_hashes(data, starts)
    for line, value in zip(cut(data, starts), hashes.tolist(), strict=True):
        assert named.setdefault(line.removesuffix("\n"), value) == value
    assert len(set(named.values())) == len(named)


@given(documents, st.integers(0, 20))
def test_dense_lines(documents: list[str], tokens: int) -> None:
    data, offsets = buffers(documents)
    starts, _ = lines.line_offsets(text_bits(data).newlines, offsets)
    counts = np.full(len(starts) - 1, tokens)
    found = lines.dense_lines(text_bits(data).unspaced, starts, counts).tolist()
    assert found == [plain.is_dense(line, tokens) for line in cut(data, starts)]


@given(
    st.lists(
        st.lists(st.binary(max_size=9), max_size=30)
        .map(b" ".join)
        .map(lambda line: line.replace(b"\n", b" ")),
        max_size=4,
    )
)
def test_traces(texts: list[bytes]) -> None:
    data = np.frombuffer(b"\n".join([*texts, b""]), np.uint8)
    starts = np.cumsum([0, *(len(text) + 1 for text in texts)]).astype(np.int64)
    every = [plain.traces(text) for text in texts]
    long_lines, traces = lines.line_traces(data, starts)
    assert long_lines.tolist() == [number for number, each in enumerate(every) if any(each)]
    assert traces.tolist() == [each for each in every if any(each)]


@given(st.lists(st.text("ab 12 茶", max_size=90), max_size=4))
def test_numbers_of_lines_are_those_without_digits(texts: list[str]) -> None:
    data = np.frombuffer("\n".join([*texts, ""]).encode(), np.uint8)
    starts, _ = lines.line_offsets(lines.newline_bits(data), np.array([0, data.size], np.int64))
    hashes, long_lines, traces = lines.line_numbers(data, starts)
    masked = np.frombuffer(re.sub(rb"[0-9]", b"0", data.tobytes()), np.uint8)
    assert hashes.tolist() == lines.line_hashes(masked, starts).tolist()
    every = [plain.traces(line.removesuffix("\n").encode()) for line in cut(masked, starts)]
    assert long_lines.tolist() == [number for number, each in enumerate(every) if any(each)]
    assert traces.tolist() == [each for each in every if any(each)]


@given(st.binary(max_size=200))
def test_digits_are_masked(data: bytes) -> None:
    masked = lines.without_digits(np.frombuffer(data, np.uint8)).tobytes()
    assert masked == re.sub(rb"[0-9]", b"0", data)


def test_an_edited_line_keeps_a_trace() -> None:
    """One word of forty changes, and with it a third of all windows, those of before and after: a
    line in a hundred loses all four traces."""
    random = np.random.default_rng(1)
    known = 0
    for _ in range(500):
        words = [f"w{number}" for number in random.integers(0, 10_000, 40)]
        edited = [*words[:20], "another", *words[21:]]
        before, after = (plain.traces(" ".join(line).encode()) for line in (words, edited))
        known += any(one == other for one, other in zip(before, after, strict=True))
    assert 480 <= known < 500
