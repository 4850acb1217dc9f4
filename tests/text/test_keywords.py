"""Keywords: words, stop words, stems."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.text.keywords import (
    counted_hashes,
    keyword_language,
    keywords,
    stop_words,
    word_hashes,
)


def of(text: str, language: str = "en", *, stem: bool = False) -> list[str]:
    found: list[str] = keywords(pa.array([text]), [language], stem=stem).to_pylist()[0]
    return found


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("The Engines of the Web", "en", ["engines", "web"]),
        ("state-of-the-art crawlers -- don’t stop", "en", ["state-of-the-art", "crawlers", "stop"]),
        ("In 2024, 3D films: 11 of them", "en", ["3d", "films"]),
        ("他们在北京发布了搜索引擎。", "zh", ["北京", "发布", "搜索引擎"]),
        ("Die Katze und der Hund", "de", ["katze", "hund"]),
        ("", "en", []),
        ("the of and", "en", []),
    ],
)
def test_words_without_stop_words(text: str, language: str, words: list[str]) -> None:
    assert of(text, language) == words


def test_stop_words_go_before_stems_are_taken() -> None:
    assert of("mining engines were running", stem=True) == ["mine", "engin", "run"]
    assert of("搜索引擎", "zh", stem=True) == ["搜索引擎"]


def test_repeats_and_order_stay() -> None:
    assert of("web page web index page") == ["web", "page", "web", "index", "page"]


@pytest.mark.parametrize(
    ("stated", "script", "language"),
    [
        ("en-GB", "Latn", "en"),
        ("", "Latn", "en"),
        ("de_AT", "Latn", "de"),
        ("en", "Hani", "zh"),  # a template that states the wrong language
        ("zh", "Latn", "en"),
        ("uk", "Cyrl", "uk"),
        ("", "Cyrl", "ru"),
        ("xx", "", "en"),
    ],
)
def test_language_of_a_page(stated: str, script: str, language: str) -> None:
    assert keyword_language(stated, script) == language


def test_stop_words_are_for_every_language_with_a_list() -> None:
    assert "the" in stop_words("en")
    assert "information" not in stop_words("en")
    assert "的" in stop_words("zh")
    assert stop_words("xx") == frozenset()


texts = st.lists(
    st.tuples(st.text("ab thé 的我们搜索 -'3", max_size=20), st.sampled_from(["en", "zh", "fr"])),
    max_size=6,
)


@given(texts, st.booleans())
def test_keywords_do_not_depend_on_the_batch(drawn: list[tuple[str, str]], stem: bool) -> None:
    column = pa.array([text for text, _ in drawn], pa.string())
    found = keywords(column, [language for _, language in drawn], stem=stem).to_pylist()
    assert found == [of(text, language, stem=stem) for text, language in drawn]


@given(st.lists(st.lists(st.sampled_from(["a", "b", "页", "c"]), max_size=6), max_size=5))
def test_hashes_ascend_and_come_once_with_their_counts(lists: list[list[str]]) -> None:
    found = counted_hashes(pa.array(lists, pa.list_(pa.string())))
    hashes, counts = (column.to_pylist() for column in found)
    for words, ours, often in zip(lists, hashes, counts, strict=True):
        expected = Counter(int(word_hashes(pa.array([word]))[0]) for word in words)
        assert list(zip(ours, often, strict=True)) == sorted(expected.items())
