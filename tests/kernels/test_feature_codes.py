"""Feature codes: the kernels do what the plain functions do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference import feature_codes as reference
from neardup.kernels import feature_codes
from neardup.kernels.feature_codes import Offsets, Symbols

ALPHABET = "ab’'.-3 ，。“”！？:中国人的ไทกิé́あ\t한글"
PARAGRAPHS = st.lists(st.text(ALPHABET, max_size=12) | st.text(max_size=8), max_size=5)
CODES = st.lists(st.tuples(st.integers(1, 3), st.tuples(st.integers(0, 1))), max_size=5)


def ragged(lists: Sequence[Sequence[int]]) -> tuple[Symbols, Offsets]:
    flat = np.array([value for each in lists for value in each], np.uint64)
    return flat, np.cumsum([0, *map(len, lists)]).astype(np.int64)


def codes_of(paragraphs: Sequence[str], marks: int) -> tuple[list[int], list[list[int]]]:
    encoded = [list(paragraph.encode()) for paragraph in paragraphs]
    data, offsets = ragged(encoded)
    main, auxiliary = feature_codes.paragraph_codes(data.astype(np.uint8), offsets, marks)
    return main.tolist(), auxiliary.tolist()


@given(PARAGRAPHS, st.integers(1, 4))
def test_codes_of_paragraphs(paragraphs: list[str], marks: int) -> None:
    paragraphs = [paragraph.encode("utf-8", "replace").decode() for paragraph in paragraphs]
    main, auxiliary = codes_of(paragraphs, marks)
    for row, paragraph in enumerate(paragraphs):
        first, before_marks = reference.paragraph_codes(paragraph, marks)
        assert main[row] == reference.packed(first)
        expected = [reference.packed(symbol) for symbol in before_marks]
        assert auxiliary[row] == expected + [0] * (marks - len(expected))


@pytest.mark.parametrize(
    ("paragraph", "first", "before_marks"),
    [
        ("桂林，山水；甲天下。", "桂", "林 水 下"),
        ("“你好！”他说：“再见。”", "你", "好 说 见"),
        ("据报道3.5万人，来自iPhone-4用户。", "据", "人 户"),
        ("It's 3.5% more, e-mail me: now.", "It's", "3.5 more me"),
        ("no marks at all", "no", ""),
        ("——…！", "", ""),
        ("", "", ""),
    ],
)
def test_codes_by_hand(paragraph: str, first: str, before_marks: str) -> None:
    assert reference.paragraph_codes(paragraph, 3) == (first, before_marks.split())
    main, auxiliary = codes_of([paragraph], 3)
    assert main == [reference.packed(first)]
    assert [code for code in auxiliary[0] if code] == [
        reference.packed(symbol) for symbol in before_marks.split()
    ]


@given(st.lists(st.tuples(CODES, CODES), max_size=4))
def test_common_symbols(pairs: list[tuple[list[tuple[int, tuple[int]]], ...]]) -> None:
    left = [[main for main, _ in pair[0]] for pair in pairs]
    right = [[main for main, _ in pair[1]] for pair in pairs]
    found = feature_codes.common_symbols(*ragged(left), *ragged(right)).tolist()
    assert found == [reference.common_symbols(a, b) for a, b in zip(left, right, strict=True)]


@given(st.lists(st.tuples(CODES, CODES), max_size=4), st.integers(0, 3))
def test_equal_lists(pairs: list[tuple[list[tuple[int, tuple[int]]], ...]], same: int) -> None:
    left = [[main for main, _ in pair[0]] for pair in pairs]
    right = [[main for main, _ in pair[1]] for pair in pairs]
    right[:same] = left[:same]
    found = feature_codes.equal_lists(*ragged(left), *ragged(right)).tolist()
    assert found == [a == b for a, b in zip(left, right, strict=True)]


def test_symbols_sort_as_their_text_does() -> None:
    texts = ["a", "ab", "b", "é", "中", "国", "𠀀"]
    numbers = [reference.packed(text) for text in texts]
    assert sorted(texts) == [text for _, text in sorted(zip(numbers, texts, strict=True))]
