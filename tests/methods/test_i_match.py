"""i-match: idf and lexicon by hand, signatures that forget order, randomised lexicons."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference.tokens import token_hash
from neardup.config import build_options
from neardup.methods.base import SurveyResults
from neardup.methods.i_match import IMatch, IMatchOptions, normalised_idf
from neardup.model import Relation, Verdict
from neardup.text.sites import Survey
from neardup.text.views import View
from page_batches import judge_one, page_batch

WORDS = [f"word{number}" for number in range(60)]


def method(**values: object) -> IMatch:
    return IMatch(build_options(IMatchOptions, values, owner="i-match"), View.WHOLE)


def survey(pages: int, **counts: int) -> Survey:
    pairs = sorted((token_hash(word), count) for word, count in counts.items())
    keys, values = zip(*pairs, strict=True)
    return Survey(pages, np.array(keys, np.uint64), np.array(values, np.int64))


def verdict(one: str, two: str, statistics: Survey | None = None, **values: object) -> Verdict:
    chosen = method(**values)
    features = chosen.describe(page_batch([one, two]), SurveyResults(corpus=statistics))
    return judge_one(chosen, features.slice(0, 1), features.slice(1, 1))


def common_words(pages: int = 100, on: int = 10) -> Survey:
    return survey(pages, **dict.fromkeys(WORDS, on))


def test_normalised_idf_by_hand() -> None:
    found = normalised_idf(np.array([1, 10, 100, 0]), 100)
    assert found.tolist() == pytest.approx([1, 0.5, 0, 1])
    assert normalised_idf(np.array([1]), 1).tolist() == [1]


def test_the_survey_counts_pages_not_occurrences() -> None:
    counts = method().survey(page_batch(["Tea tea milk", "tea", ""])).to_pylist()
    assert {each["key"]: each["count"] for each in counts} == {
        token_hash("tea"): 2,
        token_hash("milk"): 1,
    }


def test_words_too_common_or_too_rare_are_outside_the_lexicon() -> None:
    statistics = survey(100, the=95, tea=20, milk=10, typo=1)
    chosen = method(**IMatch.paper_preset)
    features = chosen.describe(
        page_batch(["the tea milk", "tea milk typo", "tea"]), SurveyResults(corpus=statistics)
    )
    assert features["terms"].to_pylist() == [2, 2, 1]
    signatures = features["signatures"].to_pylist()
    assert signatures[0] == signatures[1] != signatures[2]


@given(st.permutations(WORDS), st.integers(1, 3))
def test_order_and_repeats_do_not_matter(words: list[str], times: int) -> None:
    found = verdict(" ".join(WORDS), " ".join(words * times), common_words(), lexicons=0)
    assert found.relation in (Relation.NEAR, Relation.SAME)
    assert found.similarity == 1


def test_one_word_of_the_lexicon_breaks_the_signature_of_2002() -> None:
    found = verdict(" ".join(WORDS), " ".join(WORDS[:-1]), common_words(), lexicons=0)
    assert found.relation is Relation.DIFFERENT
    assert found.evidence["lexicon_words"] == [60, 59]


def test_a_randomised_lexicon_without_the_word_does_not_notice() -> None:
    found = verdict(" ".join(WORDS), " ".join(WORDS[:-1]), common_words(), lexicons=20)
    assert found.relation is Relation.NEAR
    # each of 20 lexicons lacks the word with chance 0.3; the main one has it
    assert 1 <= found.evidence["equal_signatures"] <= 14
    assert found.similarity == found.evidence["equal_signatures"] / 21


def test_a_randomised_lexicon_lacks_its_share_of_words() -> None:
    words = [f"term{number}" for number in range(2_000)]
    lexicons = 20
    one_changed = [
        verdict(" ".join(words), " ".join(words[:place] + words[place + 1 :]), lexicons=lexicons)
        for place in range(40)
    ]
    share = sum(each.evidence["equal_signatures"] for each in one_changed) / (40 * lexicons)
    assert 0.2 < share < 0.4


def test_two_pages_tell_no_idf_so_every_word_counts_and_the_evidence_says_so() -> None:
    chosen = method()
    pages = page_batch([" ".join(WORDS), " ".join(reversed(WORDS))])
    counts = chosen.survey(pages)
    statistics = Survey(2, np.sort(counts["key"].to_numpy()), counts["count"].to_numpy())
    features = chosen.describe(pages, SurveyResults(corpus=statistics))
    found = judge_one(chosen, features.slice(0, 1), features.slice(1, 1))
    assert found.relation is Relation.NEAR
    assert "few pages tell no idf" in found.evidence["why"]
    assert found.evidence["lexicon_words"] == [60, 60]


def test_pages_with_nothing_in_the_lexicon_are_undecided_and_never_equal() -> None:
    statistics = common_words(on=100)  # every word on every page
    found = verdict(" ".join(WORDS), " ".join(WORDS), statistics)
    assert found.relation is Relation.UNDECIDED
    assert found.evidence["why"].endswith("60 tokens, 0 in the lexicon")
    chosen = method()
    assert (
        chosen.keys(
            chosen.describe(page_batch([" ".join(WORDS)]), SurveyResults(corpus=statistics))
        ).num_rows
        == 0
    )


def test_near_pages_share_a_key_and_lexicons_do_not_mix() -> None:
    chosen = method()
    texts = [" ".join(WORDS), " ".join(WORDS[:-1]), " ".join(WORDS)]
    features = chosen.describe(page_batch(texts), SurveyResults(corpus=common_words()))
    keys = pa.Table.from_batches([chosen.keys(features)]).to_pylist()
    of = [{each["key"] for each in keys if each["row"] == row} for row in range(3)]
    assert of[0] == of[2]
    assert len(of[0]) == 11
    assert of[0] & of[1]
