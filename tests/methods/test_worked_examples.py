"""What the five papers work out in their texts, with the places where they contradict themselves.

docs/papers.md has the same numbers. The rules one by one are tested beside each method.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from neardup.api import compare, dedup, text_page
from neardup.errors import UsageError
from neardup.methods.edit_distance import EditDistance, largest_common_count
from neardup.methods.feature_code import interval
from neardup.methods.registry import make_method
from neardup.methods.word_table import WordTable
from neardup.model import Relation

PAPERS = ["edit-distance", "two-phase", "news-clusters", "word-table", "feature-code"]

# 000, edit-distance


def test_000_one_character_against_ten_has_no_nine_in_common() -> None:
    """Section IV.C: "the length of Sour is 1, the length of Dest is 10 and LCC(Sour, Dest) is 9"
    contradicts property 2, LCC <= n. Its point holds: Sour is whole, and beta rejects the pair."""
    counted = largest_common_count(pa.array(["好"]), pa.array(["好人大中小上下来去天"]))
    assert counted.tolist() == [1]
    made = make_method("edit-distance", preset="paper")
    assert counted[0] / 1 >= made.options.alpha
    assert counted[0] / 10 < made.options.beta


def test_000_the_constants_that_table_3_leaves_room_for() -> None:
    """0.8 and an epsilon of 0.2, with alpha + epsilon <= 1 and beta <= alpha: the 0.8 is alpha's,
    or alpha is below it. So within a site the shorter string must be whole."""
    made = make_method("edit-distance", preset="paper").options
    assert (made.alpha, made.beta, made.epsilon) == (0.8, 0.8, 0.2)
    assert made.alpha + made.epsilon == 1.0
    assert made.beta <= made.alpha
    assert EditDistance.Options().beta < made.beta  # of which docs/methods/edit-distance.md tells


# 001, two-phase: tests/methods/test_two_phase.py

# 002, news-clusters


def test_002_two_fingerprints_raise_90_percent_to_99() -> None:
    made = make_method("news-clusters", preset="paper").options
    assert 1 - (1 - 0.9) ** made.x == pytest.approx(0.99)
    constants = made.n, made.minimum_length, made.x, made.documents, made.k
    assert constants == (5, 10, 2, 50, 0.7)
    assert 3 <= made.t <= 5


def test_002_a_longer_sentence_is_less_likely_and_tells_more() -> None:
    """Equation 2: P(S) = P(w1) P(w2|w1) ...; the chance to stand for its page is 1 / (D * P(S))."""
    documents, chain = 1000, [0.1, 0.5, 0.4, 0.9]
    chances = [1 / (documents * np.prod(chain[:length])) for length in range(1, 5)]
    assert chances == sorted(chances)


# 003, word-table

# Table 6: words of both pages, common words, SM, and what the paper calls the pair
TABLE_6 = [
    (73, 66, 9, 11.4989, Relation.NEAR),
    (73, 73, 73, 0.0, Relation.SAME),
    (149, 149, 149, 0.0, Relation.SAME),
    (1075, 2034, 117, 222.7227, Relation.DIFFERENT),
    (66, 570, 7, 65.0123, Relation.DIFFERENT),
    (206, 230, 100, 6.4, Relation.NEAR),
    (129, 80, 12, 3.33, Relation.NEAR),
]


def relations_of_table_6(made: WordTable) -> list[Relation]:
    n, m, common, measured = (
        np.array(column, float) for column in zip(*(row[:4] for row in TABLE_6), strict=True)
    )
    return made.relations(measured, common / (n + m - common), np.full(n.size, np.nan))


def test_003_the_conditions_say_of_table_6_what_the_paper_says() -> None:
    made = make_method("word-table", preset="paper")
    assert isinstance(made, WordTable)
    assert relations_of_table_6(made) == [row[4] for row in TABLE_6]


def test_003_the_guard_rejects_the_papers_own_close_pairs() -> None:
    guarded = relations_of_table_6(WordTable())
    shares = [common / (n + m - common) for n, m, common, *_ in TABLE_6]
    close = [at for at, row in enumerate(TABLE_6) if row[4] is Relation.NEAR]
    assert [round(shares[at], 2) for at in close] == [0.07, 0.3, 0.06]
    assert [guarded[at] for at in close] == [Relation.DIFFERENT] * 3
    assert [guarded[at] for at in (1, 2)] == [Relation.SAME] * 2


def test_003_totals_of_table_6_are_of_distinct_words() -> None:
    """Rows 2 and 3 are a page against itself: total and common are one number, and a common word
    is counted once."""
    assert [row[:3] for row in TABLE_6[1:3]] == [(73, 73, 73), (149, 149, 149)]


# 004, feature-code


def test_004_the_interval_that_the_paper_leaves_out_is_there() -> None:
    """Section 4.4 prints (0, 50], (50, 100], (150, 200]."""
    factors = [(50, 0), (100, 1), (101, 2), (150, 2), (151, 3), (200, 3)]
    assert all(interval(size, 1, 50) == number for size, number in factors)


def test_004_more_than_five_openings_of_its_own_are_certain() -> None:
    """Section 3.3: with 6,700 common characters, two main codes of more than 5 characters are
    equal by chance with less than 1 in 6700 ** 5, about 10 ** 19."""
    assert make_method("feature-code").options.certain_length == 5
    assert 6700.0**5 > 1e19


@pytest.mark.parametrize("name", PAPERS)
def test_traditional_characters_are_the_same_as_printed_too(name: str) -> None:
    """No paper names them. A preset does not read text differently from the other methods."""
    simplified = "\n".join(
        f"{each}县的农民说，今年的收获好过去年的{each}县。" for each in "东西南北上下"
    )
    traditional = "\n".join(
        f"{each}縣的農民說，今年的收獲好過去年的{each}縣。" for each in "東西南北上下"
    )
    pages = [text_page(simplified, id="a"), text_page(traditional, id="b")]
    verdict = compare(*pages, method=name, preset="paper")
    assert verdict.relation in ("same", "near"), verdict


@pytest.mark.parametrize("name", ["edit-distance", "two-phase", "word-table"])
def test_papers_that_compare_with_what_is_stored_have_a_repository(
    name: str, tmp_path: Path
) -> None:
    made = make_method(name, preset="paper")
    assert made.joining == "repository"
    assert make_method(name).joining == "components"
    with pytest.raises(UsageError, match="the rule decides which page is kept"):
        dedup(str(tmp_path), tmp_path / "out", method=name, preset="paper", keep="newest")
