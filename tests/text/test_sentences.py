"""Sentences of Chinese and of spaced languages."""

from __future__ import annotations

import pytest
from hypothesis import given

from sentence_texts import sentences
from unicode_text import texts


@pytest.mark.parametrize(
    "expected",
    [
        ["He left.", "She stayed!", "Did she?", "Yes."],
        ["Mr. Smith and Dr. Jones met Gen. Lee.", "They talked."],
        ["The U.S. Army bought it, e.g. Guns, i.e. Weapons.", "It paid."],
        ["J. R. R. Tolkien wrote it.", "A. С. Пушкин тоже."],
        ["Pi is 3.14 or so.", "See www.example.com for more."],
        ["It was 5 p.m. on Monday.", "We left at 6 p.m.", "Then it rained."],
        ["See No. 5 and Fig. 3.", "He said no.", "Then he left."],
        ["1. Introduction to it.", "2. Methods and more."],
        ["“Really?” he asked.", '"No."', "She left."],
        ["Yahoo! is old, etc. and so on.", "Wait...", "What?!", "(Really.)", "Yes."],
        ["Она ушла.", "Он остался."],
    ],
)
def test_spaced_sentences(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["他走了。", "她没走！", "为什么？", "不知道"],
        ["他说：“走吧。”", "然后走了。"],
        ["「本当ですか？」", "と聞いた。"],
        ["一是发展；二是改革。", "等等……还有呢。"],
        ["真的吗?!", "我不信!", "“好吧。”"],
        ["である．", "値は１．５です。"],
        ["圆周率是3.14。", "见www.example.com。"],
        ["（他走了。）", "好。」』”", "完。"],
    ],
)
def test_sentences_without_spaces(expected: list[str]) -> None:
    assert sentences("".join(expected)) == expected


def test_a_line_ends_a_sentence_and_may_be_none() -> None:
    assert sentences("Title\n\n———\n  A line, \n* * *\nof text. \n。！\n") == [
        *("Title", "A line,", "of text."),
    ]
    assert sentences("") == []


def test_full_stops_of_other_scripts() -> None:
    assert sentences("यह है। वह है। هل هذا؟ نعم۔") == ["यह है।", "वह है।", "هل هذا؟", "نعم۔"]


@given(texts)
def test_sentences_are_the_text_in_order(text: str) -> None:
    at = 0
    for sentence in sentences(text):
        assert sentence == sentence.strip()
        assert "\n" not in sentence
        at = text.index(sentence, at) + len(sentence)
