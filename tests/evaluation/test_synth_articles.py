"""The text of generated articles and what reprints do to it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import opencc
import pytest
import xxhash

from neardup.evaluation.synth.articles import (
    Article,
    merge,
    reprint,
    to_traditional,
    write_article,
)
from neardup.evaluation.synth.language import TABLE, Draws, language, source, zipf_table

LANGUAGES = ("en", "zh")
PINNED = [2929895902352875634, 7133024865855965221]


def shingles(article: Article, width: int = 5) -> set[tuple[str, ...]]:
    """Runs of words, or of characters in Chinese."""
    text = " ".join(article.texts)
    units = text.split() if article.language == "en" else list(text)
    return {tuple(units[n : n + width]) for n in range(len(units) - width + 1)}


def resemblance(left: Article, right: Article) -> float:
    a, b = shingles(left), shingles(right)
    return len(a & b) / len(a | b)


def containment(inner: Article, outer: Article) -> float:
    a = shingles(inner)
    return len(a & shingles(outer)) / len(a)


def article(code: str, number: int = 0, length: str = "normal") -> Article:
    return write_article(code, (1, number), length)


def test_draws_are_the_same_for_the_same_key() -> None:
    # the numbers are pinned: generated sets are the same on every machine and version
    assert [Draws(1, "x").below(1000) for _ in range(2)] == [Draws(1, "x").below(1000)] * 2
    assert Draws("pinned").raw(2).tolist() == PINNED
    assert Draws(1, "x").raw(4).tolist() != Draws(1, "y").raw(4).tolist()


def test_draws_stay_in_their_ranges() -> None:
    draws = Draws("ranges")
    assert {draws.below(3) for _ in range(100)} == {0, 1, 2}
    assert all(2 <= draws.between(2, 3) < 3 for _ in range(100))
    assert {draws.chance(0.5) for _ in range(100)} == {True, False}
    assert sorted(draws.sample("abcde", 9)) == list("abcde")
    assert set(draws.picks("abc", 100)) == set("abc")
    assert draws.picks("abc", 0) == []


def test_skewed_draws_are_low_far_more_often() -> None:
    drawn = Draws("skewed").skewed(100_001)
    counts = np.bincount(drawn)
    assert drawn.size == 100_001
    assert counts.size == 63  # 63 * 63 / 64 is the highest
    assert counts[0] / drawn.size == pytest.approx(0.1, abs=0.01)
    assert counts[:4].sum() > counts[32:].sum()


def test_a_stream_is_the_same_however_it_is_cut() -> None:
    whole, cut = Draws("cut").raw(1000), Draws("cut")
    assert np.concatenate([cut.raw(300), cut.raw(0), cut.raw(1), cut.raw(699)]).tolist() == (
        whole.tolist()
    )


def test_numbers_are_those_of_splitmix64() -> None:
    state = int(xxhash.xxh3_64_intdigest(b"7/x"))
    expected = []
    for _ in range(3):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) % 2**64
        expected.append(mixed ^ (mixed >> 31))
    assert Draws(7, "x").raw(3).tolist() == expected


def test_a_zipf_table_holds_common_words_more_often() -> None:
    table = zipf_table([str(n) for n in range(100)], 4096, shift=1).tolist()
    counts = [table.count(str(n)) for n in range(100)]
    assert counts[:20] == sorted(counts[:20], reverse=True)
    assert counts[0] / counts[9] == pytest.approx(10, rel=0.2)
    assert counts[-1] > 0


@pytest.mark.parametrize("code", LANGUAGES)
def test_an_article_is_a_function_of_its_key(code: str) -> None:
    assert article(code) == article(code)
    assert article(code) != article(code, 1)
    assert len(article(code, length="short").sentences) < 13


@pytest.mark.parametrize("code", LANGUAGES)
def test_no_sentence_is_in_two_articles(code: str) -> None:
    seen: set[str] = set()
    for number in range(400):
        sentences = article(code, number).sentences
        assert len(set(sentences)) == len(sentences)
        assert seen.isdisjoint(sentences)
        seen.update(sentences)


@pytest.mark.parametrize("code", LANGUAGES)
def test_different_articles_share_next_to_nothing(code: str) -> None:
    texts = [article(code, number) for number in range(40)]
    shared = [resemblance(a, b) for a, b in combinations(texts, 2)]
    assert max(shared) < 0.05


@pytest.mark.parametrize("code", LANGUAGES)
def test_words_follow_zipf_and_articles_have_a_subject(code: str) -> None:
    nouns = set(language(code).words[:TABLE].tolist())
    assert len(nouns) > 250
    used = [n for n in nouns if n in "".join(article(code).texts)]
    assert len(used) < len(nouns) / 3


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [
        ("mirror", 1, 1),
        ("edited", 0.5, 0.99),
        ("trimmed", 0.6, 0.97),
        ("extended", 0.7, 0.98),
        ("reflowed", 0.75, 1),
        ("reordered", 0.6, 0.999),
    ],
)
def test_reprints_share_the_text_they_should(
    code: str, kind: str, least: float, most: float
) -> None:
    for number in range(30):
        original = article(code, number)
        changed = reprint(kind, original, Draws(number))
        assert least <= resemblance(original, changed) <= most


@pytest.mark.parametrize("code", LANGUAGES)
def test_excerpts_are_inside_and_merged_pages_half_inside(code: str) -> None:
    for number in range(20):
        original, other = article(code, number), article(code, number + 100)
        excerpt = reprint("excerpt", original, Draws(number))
        assert containment(excerpt, original) > 0.99
        assert len(shingles(excerpt)) < 0.6 * len(shingles(original))
        merged = merge(original, other)
        assert 0.15 < containment(merged, original) < 0.85
        assert 0.15 < containment(merged, other) < 0.85


def test_edits_are_one_to_six_percent_of_the_words() -> None:
    changed = total = 0
    for number in range(100):
        original = article("en", number)
        edited = reprint("edited", original, Draws(number))
        for before, after in zip(original.sentences, edited.sentences, strict=True):
            lost = set(before.split()) - set(after.split())
            changed += len(lost) + (after.count(" ") != before.count(" ") and not lost)
            total += len(before.split())
    assert 0.01 < changed / total < 0.06


def test_reflowing_and_reordering_keep_every_sentence() -> None:
    original = article("zh")
    reflowed = reprint("reflowed", original, Draws(1))
    assert reflowed.sentences == original.sentences
    assert reflowed.paragraphs != original.paragraphs
    reordered = reprint("reordered", original, Draws(1))
    assert sorted(reordered.sentences) == sorted(original.sentences)
    assert reordered.sentences != original.sentences


def test_traditional_characters_fold_back_and_fit_big5() -> None:
    labels = source("zh").labels
    simplified, traditional = labels["simplified"], labels["traditional"]
    assert len(simplified) == len(traditional) == len(set(simplified))
    assert traditional.encode("big5")
    assert opencc.OpenCC("t2s").convert(traditional) == simplified
    turned = to_traditional(article("zh"))
    assert turned.title != ""
    assert opencc.OpenCC("t2s").convert(turned.texts[0]) == article("zh").texts[0]
