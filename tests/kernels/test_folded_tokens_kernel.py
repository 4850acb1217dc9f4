"""`kernels.folded_tokens`: the same hashes as folding first and taking tokens then."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kernels.reference import folded_tokens as plain
from neardup.kernels.fold import fold
from neardup.kernels.folded_tokens import SPARE, folded_token_hashes
from neardup.kernels.tokens import AT_ONCE, token_hashes
from unicode_text import buffers, documents


def hashes(texts: list[str]) -> list[list[int]]:
    values, offsets = folded_token_hashes(*buffers(texts))
    return [values[start:end].tolist() for start, end in pairwise(offsets.tolist())]


@given(documents)
@example(
    ["", "Don't STOP", "e\u0301 cafe\u0301", "汉字 ABC漢字", "½ ﬁ … ŀ㍿", "a\u00adb a\x00b", "각"]
)
def test_kernel_agrees_with_reference(texts: list[str]) -> None:
    assert hashes(texts) == [plain.folded_token_hashes(text) for text in texts]


@given(st.lists(st.text("aZ0é\u0301中한ﬁ㍿\ufdfaŀ½.- \n\x00\u00ad", max_size=30), max_size=4))
def test_dense_mixtures(texts: list[str]) -> None:
    assert hashes(texts) == [plain.folded_token_hashes(text) for text in texts]


@given(st.lists(st.text("1aé„•中ก\u0301½ \x00", max_size=80), max_size=6), st.integers(1, 40))
@example(["„1•3"], 200)
def test_long_runs_of_words_and_marks(texts: list[str], times: int) -> None:
    texts = [text * times for text in texts]
    assert hashes(texts) == [plain.folded_token_hashes(text) for text in texts]


def test_every_character_between_letters() -> None:
    every = [chr(code) for code in range(0x110000)]
    known = [each for each in every if unicodedata.category(each) not in ("Cn", "Co", "Cs")]
    data, offsets = buffers([f"a{each}b" for each in known])
    expected = token_hashes(*fold(data, offsets))
    found = folded_token_hashes(data, offsets)
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


@pytest.mark.parametrize("character", ["㍿", "\ufdfa", "½", "ŀ", "a中", "中a", "a ", "…"])
def test_runs_that_make_the_most_tokens(character: str) -> None:
    texts = [character * (3 * SPARE), "x", character * 5]
    assert hashes(texts) == [plain.folded_token_hashes(text) for text in texts]


def test_bytes_that_are_no_text_do_not_reach_beyond_the_document() -> None:
    data = np.frombuffer(b"abc\xe4\xb8" + b"\x80def", np.uint8)
    offsets = np.array([0, 5, 9], np.int64)
    found = folded_token_hashes(data, offsets)
    expected = token_hashes(*fold(data, offsets))
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


@given(st.lists(st.lists(st.text("aZ0", min_size=1, max_size=40), max_size=6), max_size=5))
def test_words_of_any_length(documents: list[list[str]]) -> None:
    """Documents stand side by side: a word ends with its document, whatever letter comes next."""
    texts = [" ".join(words) for words in documents]
    assert hashes(texts) == [plain.folded_token_hashes(text) for text in texts]


@pytest.mark.parametrize("between", [" ", ".\n", " " * 70])
def test_more_words_than_are_hashed_together(between: str) -> None:
    words = ["Word" * (number % 7) + f"{number:x}" for number in range(3 * AT_ONCE + 5)]
    texts = [between.join(words[start:]) for start in (0, AT_ONCE, 3 * AT_ONCE)]
    assert hashes(texts) == [plain.folded_token_hashes(text) for text in texts]
