"""word-table: the formula and its four conditions on tables worked out by hand."""

from __future__ import annotations

from collections import Counter
from math import log

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.config import build_options
from neardup.errors import UsageError
from neardup.methods.base import OwnSearch, SurveyResults
from neardup.methods.word_table import (
    WordTable,
    WordTableOptions,
    average_measure,
    letter_row,
    word_tables,
)
from neardup.model import Relation, Verdict
from neardup.text.keywords import keywords, word_hashes
from neardup.text.sites import Survey
from neardup.text.views import View
from page_batches import judge_one, page_batch, pair_set

# D1, "Cricket Rules": what step 2 of section 4 gives as its keywords.
D1 = (
    "welcome greatest game cricket site help explain absolute beginner basic rules cricket rules "
    "cricket sports worth time learning rewarding sport looking play backyard mate join club "
    "cricket-rules help learn basics begin enjoy popular sports world cricket game played bat ball "
    "large field known ground teams players object game score runs bat dismiss opposing batsmen "
    "field cricket rules displayed page traditional form cricket called test cricket formats game "
    "matches twenty20 cricket rules differ slightly"
)
# The text of D1 that step 1 gives; it ends before "formats".
D1_TEXT = (
    "Welcome to the greatest game of all - Cricket. This site will help explain to an absolute "
    "beginner some of the basic rules of cricket. Although there are many more rules in cricket "
    "than in many other sports, it is well worth your time learning them as it is a most rewarding "
    "sport. Whether you are looking to play in the backyard with a mate or join a club "
    "Cricket-Rules will help you learn the basics and begin to enjoy one of the most popular "
    "sports in the world. Cricket is a game played with a bat and ball on a large field, known as "
    "a ground, between two teams of 11 players each. The object of the game is to score runs when "
    "at bat and to put out, or dismiss, the opposing batsmen when in the field. The cricket rules "
    'displayed on this page here are for the traditional form of cricket which is called "Test '
    'Cricket".'
)


def method(**values: object) -> WordTable:
    return WordTable(build_options(WordTableOptions, values, owner="word-table"), View.WHOLE)


def paper() -> WordTable:
    return method(**WordTable.paper_preset)


def table_of(words: str) -> dict[str, tuple[int, int]]:
    """Frequency and position of each word."""
    hashes, frequencies, positions = (
        each.to_pylist()[0] for each in word_tables(pa.array([words.split()]))
    )
    entries = dict(zip(hashes, zip(frequencies, positions, strict=True), strict=True))
    return {
        word: entries[int(word_hashes(pa.array([word]))[0])] for word in sorted(set(words.split()))
    }


def rows(*texts: str) -> pa.RecordBatch:
    lists = pa.array([text.split() for text in texts], pa.list_(pa.string()))
    average = pa.nulls(len(texts), pa.float64())
    return pa.record_batch([*word_tables(lists), average], schema=WordTable().feature_schema)


def verdict(one: str, two: str, chosen: WordTable | None = None) -> Verdict:
    features = rows(one, two)
    return judge_one(chosen or paper(), features.slice(0, 1), features.slice(1, 1))


# Steps A to D


def test_keywords_of_the_cricket_page() -> None:
    [found] = keywords(pa.array([D1]), ["en"]).to_pylist()
    assert found == D1.split()
    assert len(found) == 73
    assert len(set(found)) == 56


def test_stop_words_of_the_cricket_page_are_those_the_paper_takes_out() -> None:
    [found] = keywords(pa.array([D1_TEXT]), ["en"]).to_pylist()
    assert found == D1.split()[:65]


def test_frequencies_of_the_cricket_page() -> None:
    table = table_of(D1)
    assert {word: frequency for word, (frequency, _) in table.items()} == Counter(D1.split())
    # table 4
    assert [table[w][0] for w in ("absolute", "backyard", "ball", "basic", "basics", "bat")] == [
        1,
        1,
        1,
        1,
        1,
        2,
    ]
    assert table["cricket"][0] == 8


def test_positions_of_the_cricket_page_are_row_times_column() -> None:
    table = table_of(D1)
    assert table["absolute"][1] == 1 * 1
    in_row_b = ["backyard", "ball", "basic", "basics", "bat", "batsmen", "begin", "beginner"]
    assert [table[word][1] for word in in_row_b] == [2 * column for column in range(1, 9)]
    assert table["worth"][1] == 23 * 3  # welcome, world, worth


def test_words_beyond_a_to_z_have_rows_of_their_own() -> None:
    assert letter_row("a") == (0, 1)
    assert letter_row("z") == (0, 26)
    assert letter_row("é") == (0, 5)
    assert letter_row("7") == (1, 27)
    assert letter_row("茶") == (2, 1 + ord("茶") % 26)
    table = table_of("apple 3d 4k 茶 茶叶 avocado")
    assert (table["apple"][1], table["avocado"][1]) == (1, 2)
    assert (table["3d"][1], table["4k"][1]) == (27, 54)
    row = 1 + ord("茶") % 26
    assert (table["茶"][1], table["茶叶"][1]) == (row, 2 * row)


# Step E: SM and the four conditions


def test_measure_worked_by_hand() -> None:
    # D1: ant 1x at 1, bee 2x at 2.            D2: bat 2x at 2, bee 3x at 4.
    # S1: bee log(2*3) * |2 - 4|; S2: ant log 1 * 1 = 0; S3: bat log 2 * 2; N = 2.
    found = verdict("ant bee bee", "bat bat bee bee bee")
    assert found.evidence["sm"] == pytest.approx((2 * log(6) + 2 * log(2)) / 2, abs=1e-6)
    assert found.evidence["common"] == 1
    assert found.similarity == pytest.approx(15 / (15 + log(6) + log(2)))


def test_condition_1_mirror() -> None:
    found = verdict("ant bee bee cat", "cat bee ant bee")
    assert (found.relation, found.similarity) == (Relation.SAME, 1.0)
    assert found.evidence["sm"] == 0


def test_condition_2_close() -> None:
    # y at 25, twice, in one page only: SM = log(2) * 25 / 1.5 = 11.55.
    found = verdict("ant", "ant yak yak")
    assert found.relation is Relation.NEAR
    assert found.evidence["sm"] == pytest.approx(log(2) * 25 / 1.5, abs=1e-6)


def test_condition_3_slight() -> None:
    # SM = log(6) * 25 / 1.5 = 29.86
    assert verdict("ant", "ant " + "yak " * 6).relation is Relation.OVERLAP


def test_condition_4_least_similar() -> None:
    # SM = log(30) * 25 / 1.5 = 56.69
    assert verdict("ant", "ant " + "yak " * 30).relation is Relation.DIFFERENT


def test_the_gap_between_15_and_16_is_closed_at_15() -> None:
    chosen = paper()
    none = np.full(4, np.nan)
    measured = np.array([15.0, 15.5, 50.0, 50.5])
    assert chosen.relations(measured, np.ones(4), none) == [
        Relation.NEAR,
        Relation.OVERLAP,
        Relation.OVERLAP,
        Relation.DIFFERENT,
    ]


def test_words_that_occur_once_are_a_mirror_in_the_paper_and_nothing_with_the_guard() -> None:
    one, two = "ant bee cat", "dog elk fox"
    assert verdict(one, two).relation is Relation.SAME
    guarded = verdict(one, two, method(minimum_words=1))
    assert (guarded.relation, guarded.similarity) == (Relation.DIFFERENT, 0.0)
    partly = verdict("ant bee cat dog", "ant bee cat elk", method(minimum_words=1))
    assert partly.relation is Relation.NEAR  # SM 0, but not all words are common


def test_evidence_says_why() -> None:
    assert verdict("ant", "ant yak yak").evidence["why"] == "SM 11.55; 1 of 2 words in common"
    why = verdict("ant bee", "cat dog", method(minimum_words=1)).evidence["why"]
    assert why == "SM 0.00; 0 of 4 words in common, too few to tell by SM"


def test_too_few_words_are_undecided_even_against_themselves() -> None:
    found = verdict("ant bee", "ant bee", method())
    assert (found.relation, found.similarity) == (Relation.UNDECIDED, None)
    assert method().keys(rows("ant bee")).num_rows == 0
    assert method().search(pa.Table.from_batches([rows("ant bee", "ant bee")])).num_rows == 0


# The average as threshold


PAGES = ["ant bee bee", "ant bee bee bee", "yak yak yak yak zoo zoo zoo", "elk elk"]


def surveyed(chosen: WordTable, pages: pa.RecordBatch) -> Survey:
    counts = chosen.survey(pages)
    keys = counts["key"].to_numpy()
    order = np.argsort(keys)
    return Survey(pages.num_rows, keys[order], counts["count"].to_numpy()[order])


def test_average_is_over_all_pairs_of_the_sample() -> None:
    chosen = method(bound="average", minimum_share=0, minimum_words=1)
    assert chosen.surveys is chosen
    assert method().surveys is None
    survey = surveyed(chosen, page_batch(PAGES))
    features = rows(*PAGES)
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    measured = [
        judge_one(paper(), features.slice(i, 1), features.slice(j, 1)).evidence["sm"]
        for i, j in pairs
    ]
    assert average_measure(survey, 128) == pytest.approx(sum(measured) / 6, abs=1e-5)


def test_what_is_below_the_average_is_near() -> None:
    chosen = method(bound="average", minimum_share=0, minimum_words=1)
    pages = page_batch(PAGES)
    features = chosen.describe(pages, SurveyResults(corpus=surveyed(chosen, pages)))
    average = features["average"][0].as_py()
    for i in range(4):
        for j in range(i + 1, 4):
            found = judge_one(chosen, features.slice(i, 1), features.slice(j, 1))
            below = found.evidence["sm"] < average
            assert (found.relation in (Relation.SAME, Relation.NEAR)) == below
    proposed = pair_set(chosen.search(pa.Table.from_batches([features])))
    assert (0, 1) in proposed
    assert (1, 2) not in proposed


def test_average_takes_the_same_sample_in_any_batches() -> None:
    chosen = method(bound="average", minimum_share=0, minimum_words=1, sample=3)
    pages = page_batch(PAGES)
    parts = [chosen.survey(pages.slice(at, 2)) for at in (2, 0)]
    both = pa.Table.from_batches(parts)
    keys = both["key"].to_numpy()
    order = np.argsort(keys)
    survey = Survey(4, keys[order], both["count"].to_numpy()[order])
    assert average_measure(survey, 3) == average_measure(surveyed(chosen, pages), 3)


def test_average_needs_a_survey_and_printed_takes_none() -> None:
    with pytest.raises(UsageError, match="needs a survey"):
        method(bound="average").describe(page_batch(PAGES))
    assert method().survey(page_batch(PAGES)).num_rows == 0


# Pages


def test_features_do_not_depend_on_the_batch() -> None:
    texts = [D1_TEXT, "", "搜索引擎发布了新的搜索引擎。", "Épée 3d épée"]
    pages = page_batch(texts, script=["Latn", "", "Hani", "Latn"])
    whole = method().describe(pages).to_pylist()
    assert whole == [
        row for at in range(4) for row in method().describe(pages.slice(at, 1)).to_pylist()
    ]


def test_too_many_pages_are_refused_in_words() -> None:
    features = pa.Table.from_batches([rows("ant", "bee", "cat")])
    with pytest.raises(UsageError, match="3 pages are more than its maximum_pages of 2"):
        method(maximum_pages=2, minimum_words=1).search(features)


words = st.sampled_from(["ab", "be", "cat", "dog", "yak", "zoo", "茶", "3d"])
texts = st.lists(st.lists(words, max_size=12), max_size=8)


@given(texts, st.sampled_from([0.0, 0.4, 1.0]), st.booleans())
def test_candidates_are_what_judging_every_pair_finds(
    drawn: list[list[str]], share: float, slight: bool
) -> None:
    chosen = method(minimum_share=share, minimum_words=2, slight_pairs=slight)
    assert isinstance(chosen.candidate_source, OwnSearch)
    features = rows(*(" ".join(words) for words in drawn))
    proposed = pair_set(chosen.search(pa.Table.from_batches([features])))
    wanted = {Relation.SAME, Relation.NEAR} | ({Relation.OVERLAP} if slight else set())
    for left in range(len(drawn)):
        for right in range(left + 1, len(drawn)):
            there = judge_one(chosen, features.slice(left, 1), features.slice(right, 1))
            back = judge_one(chosen, features.slice(right, 1), features.slice(left, 1))
            assert (there.relation, there.similarity) == (back.relation, back.similarity)
            assert (there.relation in wanted) == ((left, right) in proposed)
