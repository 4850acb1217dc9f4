"""Nothing of a page hides or reorders in the report, and numbers read well."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference import json_text
from neardup.report.listing import differences
from neardup.report.templates import (
    ENGLISH,
    counted,
    percent,
    short_lines,
    shortened,
    size,
    visible,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b", "a\u2400b"),
        ("a\x7f", "a\u2421"),
        ("left\u202etfel", "left⟨U+202E⟩tfel"),
        ("\u2067x\u2069", "⟨U+2067⟩x⟨U+2069⟩"),
        ("half \ud800 a pair", "half \ufffd a pair"),
        ("line\nline\ttab", "line\nline\ttab"),
        ("<b>茶</b>", "<b>茶</b>"),
    ],
)
def test_hidden_characters_are_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(st.characters()))
def test_what_is_shown_can_be_written(text: str) -> None:
    assert len(visible(text).encode()) >= len(text)
    assert visible(visible(text)) == visible(text)


def test_long_titles_are_cut_to_one_line() -> None:
    assert shortened("one\n two", 20) == "one two"
    assert shortened("x" * 50, 20) == "x" * 19 + "…"


@given(st.lists(st.text(st.characters(codec="utf-8") | st.sampled_from(" \x1f\u2028\u202e茶"))))
def test_many_titles_are_cut_as_one(titles: list[str]) -> None:
    many = pa.array(titles, pa.string())
    assert short_lines(many, 4).to_pylist() == [shortened(title, 4) for title in titles]


PIECES = st.text() | st.sampled_from(
    ["https://a.example/", "茶山里的气温一直偏低", "\u00e9\u0169", "𠮷"]
)


@given(PIECES, PIECES, PIECES, PIECES)
def test_a_text_is_written_as_its_difference(start: str, left: str, right: str, end: str) -> None:
    text, other = (part.replace("\0", "") for part in (start + left + end, start + right + end))
    [written] = differences(pa.array([text]), pa.array([other])).to_pylist()
    found, expected = json.loads(written), json_text.difference(text, other)
    assert found == (list(expected) if isinstance(expected, tuple) else expected)
    if isinstance(found, list):
        first, last, between = found
        assert other[:first] + between + other[len(other) - last :] == text


def test_shared_ends_are_left_out() -> None:
    one, other = "https://a.example/1.html", "https://b.example/1.html"
    written = differences(pa.array([one, one]), pa.array([other, one]))
    assert written.to_pylist() == ['[8,15,"a"]', "null"]


@pytest.mark.parametrize(
    ("part", "whole", "told"),
    [
        (0, 5, "0%"),
        (5, 5, "100%"),
        (1, 3, "33.3%"),
        (1, 10**6, "under 0.1%"),
        (999_999, 10**6, "over 99.9%"),
        (0, 0, "0%"),
    ],
)
def test_shares(part: int, whole: int, told: str) -> None:
    assert percent(part, whole) == told


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1_000, "1.0 KB"),
        (31_400, "31 KB"),
        (999_600, "1.0 MB"),
        (4_200_000_000, "4.2 GB"),
    ],
)
def test_sizes(count: int, told: str) -> None:
    assert size(count) == told


def test_one_is_not_many() -> None:
    words = [counted(ENGLISH, count, "page") for count in (1, 2000)]
    assert words == ["1 page", "2,000 pages"]
