"""Kernel == reference for bytes told apart sixty-four at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.reference import bits as plain_bits
from kernels.reference import text_bits as plain
from neardup.kernels import text_bits as bits
from neardup.kernels.jit import kernel
from neardup.kernels.text_bits import text_bits

marks = st.sampled_from(list("ab. !?;。！？；\n茶ไก\x00\x1b\x7fé"))
texts = st.text(marks, max_size=200).map(str.encode) | st.binary(max_size=150)
flags = st.lists(st.booleans() | st.just(False), min_size=1, max_size=200)


def unpacked(words: NDArray[np.uint64], size: int) -> list[bool]:
    every = np.unpackbits(words.view(np.uint8), bitorder="little").astype(bool).tolist()
    assert not any(every[size:])
    found: list[bool] = every[:size]
    return found


@given(texts)
def test_text_bits(text: bytes) -> None:
    found = text_bits(np.frombuffer(text, np.uint8))
    kinds = [plain.is_newline, plain.is_end, plain.is_run, plain.is_odd, plain.is_unspaced]
    for words, is_kind in zip(found, kinds, strict=True):
        assert unpacked(words, len(text)) == [is_kind(text, at) for at in range(len(text))]


@pytest.mark.parametrize("gap", range(60, 66))
def test_marks_of_several_bytes_across_blocks(gap: int) -> None:
    text = (" " * gap + "。" + " " * 61 + "？茶. ").encode()
    found = unpacked(text_bits(np.frombuffer(text, np.uint8)).ends, len(text))
    assert found == [plain.is_end(text, at) for at in range(len(text))]


@given(flags, st.data())
def test_the_next_place_that_is_set(given_flags: list[bool], data: st.DataObject) -> None:
    end = data.draw(st.integers(0, len(given_flags)))
    at = data.draw(st.integers(0, end))
    packed = np.packbits([*given_flags, *[False] * 64], bitorder="little")
    words = np.frombuffer(packed.tobytes().ljust(40, b"\0")[:40], np.uint64)
    assert next_set(words, at, end) == plain_bits.next_set(given_flags, at, end)
    unset = [not flag for flag in given_flags]
    assert next_clear(words, at, end) == plain_bits.next_set(unset, at, end)
    assert count_set(words, at, end) == sum(given_flags[at:end])
    assert is_set(words, at) == (at < len(given_flags) and given_flags[at])


@given(st.binary(min_size=70, max_size=70), st.integers(0, 6), st.integers(0, 255))
def test_questions_about_a_block(text: bytes, at: int, byte: int) -> None:
    data, block = np.frombuffer(text, np.uint8), text[at : at + 64]
    assert equal_bits(data, at, byte) == plain_bits.bits_of([each == byte for each in block])
    between = [byte // 2 <= each <= byte for each in block]
    assert between_bits(data, at, byte // 2, byte) == plain_bits.bits_of(between)


small_numbers = st.lists(st.integers(0, 2) | st.integers(0, 2**32 - 1), min_size=20, max_size=20)


@given(small_numbers, small_numbers, st.integers(0, 4), st.integers(0, 4))
def test_equal_numbers(one: list[int], other: list[int], at: int, there: int) -> None:
    found = equal_numbers(np.array(one, np.uint32), at, np.array(other, np.uint32), there)
    both = zip(one[at : at + 16], other[there : there + 16], strict=True)
    assert found == plain_bits.bits_of([a == b for a, b in both])


@given(st.integers(0, 2**64 - 1))
def test_bits_of_a_number(number: int) -> None:
    lowest = (number & -number).bit_length() - 1 if number else 64
    assert lowest_bit(np.uint64(number)) == lowest
    assert leading_zeros(np.uint64(number)) == 64 - number.bit_length()
    assert count_bits(np.uint64(number)) == number.bit_count()


@kernel
def leading_zeros(number: np.uint64) -> int:
    return bits.leading_zeros(number)  # type: ignore[no-any-return]


@kernel
def next_set(words: NDArray[np.uint64], at: int, end: int) -> int:
    return bits.next_set(words, at, end)


@kernel
def next_clear(words: NDArray[np.uint64], at: int, end: int) -> int:
    return bits.next_clear(words, at, end)


@kernel
def count_set(words: NDArray[np.uint64], begin: int, end: int) -> int:
    return bits.count_set(words, begin, end)


@kernel
def is_set(words: NDArray[np.uint64], at: int) -> bool:
    return bits.is_set(words, at)


@kernel
def equal_bits(data: NDArray[np.uint8], at: int, byte: int) -> int:
    return bits.equal_bits(data, at, np.uint8(byte))  # type: ignore[no-any-return]


@kernel
def between_bits(data: NDArray[np.uint8], at: int, low: int, high: int) -> int:
    return bits.between_bits(data, at, np.uint8(low), np.uint8(high))  # type: ignore[no-any-return]


@kernel
def equal_numbers(
    one: NDArray[np.uint32], at: int, other: NDArray[np.uint32], there: int
) -> np.uint64:
    return bits.equal_numbers(one, at, other, there)  # type: ignore[no-any-return]


@kernel
def lowest_bit(number: np.uint64) -> int:
    return bits.lowest_bit(number)  # type: ignore[no-any-return]


@kernel
def count_bits(number: np.uint64) -> int:
    return bits.count_bits(number)  # type: ignore[no-any-return]
