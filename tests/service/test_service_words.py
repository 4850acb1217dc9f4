"""The review pages speak two languages, all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from neardup.service import review
from neardup.service.review.rendering import WORDS
from neardup.service.review.visits import CHINESE, language_of, translator

HERE = Path(review.__file__).parent
SAID = re.compile(r"""\bt(?:ranslate)?\(\s*(?:"([^"]+)"|'([^']+)')""")


def spoken() -> set[str]:
    """All words in templates and code that are to be translated."""
    files = [*HERE.glob("templates/*.html"), *HERE.glob("*.py")]
    found = {a or b for file in files for a, b in SAID.findall(file.read_text("utf-8"))}
    return found | {words for table in WORDS.values() for words in table.values()}


def test_every_word_has_a_chinese_one() -> None:
    words = spoken()
    assert len(words) > 100
    assert sorted(words - CHINESE.keys()) == []


@pytest.mark.parametrize("words", sorted(CHINESE))
def test_places_for_values_are_the_same(words: str) -> None:
    places = re.compile(r"\{(\w+)\}")
    assert sorted(places.findall(words)) == sorted(places.findall(CHINESE[words]))
    assert re.search("[\u4e00-\u9fff]", CHINESE[words])


@pytest.mark.parametrize(
    ("chosen", "accepted", "expected"),
    [
        (None, "", "en"),
        (None, "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        (None, "fr-FR,en;q=0.5,zh;q=0.4", "en"),
        (None, "fr;q=1.0,zh-Hant;q=0.7,en;q=0.3", "zh"),
        (None, "zh;q=x,,;q=,*", "en"),
        ("zh", "en", "zh"),
        ("en", "zh", "en"),
        ("xx", "zh", "zh"),
    ],
)
def test_the_language_is_chosen(chosen: str | None, accepted: str, expected: str) -> None:
    assert language_of(chosen, accepted) == expected


def test_values_find_their_places() -> None:
    assert translator("zh")("on {hosts} hosts", hosts=3) == "来自 3 个主机"
    assert translator("en")("Showing {first} to {last}", first=1, last=2) == "Showing 1 to 2"
