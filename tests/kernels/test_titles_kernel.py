"""Titles looked for in texts, against plain string search."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference.fold import fold
from kernels.reference.shingles import document_hash
from kernels.reference.tokens import token_hash, tokens
from neardup.arrays import string_buffers
from neardup.kernels import titles


@given(st.lists(st.text("aB1 ２3茶é,第", max_size=12)))
def test_a_number_for_the_words_of_a_title(names: list[str]) -> None:
    found = titles.title_hashes(*string_buffers(pa.array(names, pa.string()))).tolist()
    words = [tokens(re.sub("[0-9]", " ", fold(name))) for name in names]
    assert found == [document_hash([*map(token_hash, each)]) if each else 0 for each in words]


SEAMS = re.compile(
    r"[|_·«»–—]|(?<= )-(?= )|(?<=[^\x00-\x7f])-(?=.)|(?<=.)-(?=[^\x00-\x7f])", re.DOTALL
)


def shown(title: str, text: str) -> bool:
    """Whether the text has the title's first or longest part, ASCII letters in any case."""
    first, *_ = parts = [part.strip(" ").encode() for part in SEAMS.split(title.lstrip(" "))]
    longest = max(parts, key=len)
    if len(longest) < titles.SHORT:
        return True
    sought = [longest, first] if len(first) >= titles.SHORT else [longest]
    return any(half.lower() in text.encode().lower() for part in sought for half in halves(part))


def halves(part: bytes) -> list[bytes]:
    if len(part) < 2 * titles.HALF:
        return [part]
    half = min(len(part) // 2, titles.LONG)
    return [part[:half], part[-half:]]


def found(pairs: list[tuple[str, str]]) -> list[bool]:
    columns = [pa.array(each, pa.string()) for each in zip(*pairs, strict=True)]
    stands = titles.titles_in_texts(*string_buffers(columns[0]), *string_buffers(columns[1]))
    return [bool(each) for each in stands]


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("Ferry to run all night | Harbour Times", "Home\nFERRY to run all night\nThe ...", True),
        ("Times - Ferry to run all night", "Home\nFerry to run all night", True),
        ("Ferry to run all night | Harbour Times", "Harbour Times\nWe use cookies.", False),
        ("渡轮将通宵运行_海港时报", "海港时报\n渡轮将通宵运行", True),
        ("渡轮将通宵运行_海港时报", "海港时报\n请启用脚本", False),
        ("指令索引 - Apache HTTP 服务器 2.4", "Apache HTTP服务器2.4\n指令索引", True),
        ("渡轮将通宵运行-TIMES.NET", "渡轮将通宵运行", True),
        ("渡轮将通宵运行（打印版）", "渡轮将通宵运行", True),
        ("Ferry at night (print)", "A ferry at night", True),
        ("Well-known ferry", "A known boat", False),
        ("", "", True),
        ("App", "Loading", True),
    ],
)
def test_which_titles_are_shown(title: str, text: str, expected: bool) -> None:
    assert found([(title, text)]) == [expected]
    assert shown(title, text) is expected


WORDS = st.lists(st.sampled_from(["ab", "Ab", " ", "-", "|", "–", "·", "是", "_", "abab", "«"]))


@given(st.lists(st.tuples(WORDS.map("".join), WORDS.map("".join)), min_size=1, max_size=5))
def test_as_plain_string_search(pairs: list[tuple[str, str]]) -> None:
    assert found(pairs) == [shown(*pair) for pair in pairs]


@given(WORDS.map("".join), WORDS.map("".join), st.integers(1, 60), WORDS.map("".join))
def test_in_long_texts(title: str, words: str, times: int, end: str) -> None:
    """Which are searched by blocks."""
    text = words * times + end
    assert found([(title, text)]) == [shown(title, text)]


def test_the_offsets_of_a_slice() -> None:
    column = pa.array(["skipped", "Ferry at night"]).slice(1)
    data = *string_buffers(column), *string_buffers(pa.array(["x Ferry at night"]))
    assert titles.titles_in_texts(*data).tolist() == [True]
    assert titles.titles_in_texts(*data).dtype == np.bool_
