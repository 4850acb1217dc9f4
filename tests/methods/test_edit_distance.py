"""edit-distance: overlap factors worked by hand, the site rule, and filters that lose nothing."""

from __future__ import annotations

from itertools import combinations, product

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from neardup.config import build_options
from neardup.methods.base import OwnSearch
from neardup.methods.edit_distance import (
    PRIVATE_PLANES,
    EditDistance,
    EditDistanceOptions,
    feature_strings,
    largest_common_count,
    length_bands,
    ranked_members,
)
from neardup.model import Relation, Verdict
from page_batches import judge_one, judge_rows, page_batch, pair_set

JOINED = {Relation.SAME, Relation.NEAR}
PAPER = EditDistance.paper_preset


def method(**values: object) -> EditDistance:
    return EditDistance(build_options(EditDistanceOptions, values, owner="edit-distance"))


def paper() -> EditDistance:
    return method(**PAPER)


def rows(strings: list[str], sites: list[str] | None = None) -> pa.RecordBatch:
    lengths = [len(string) for string in strings]
    columns = [strings, lengths, sites or [""] * len(strings)]
    return pa.record_batch(columns, schema=EditDistance().feature_schema)


def site_features(*hosts: str) -> list[str]:
    pages = page_batch(["很好。"] * len(hosts), script=["Hani"] * len(hosts), host=list(hosts))
    sites: list[str] = paper().describe(pages)["site"].to_pylist()
    return sites


def verdict(one: str, two: str, sites: tuple[str, str] = ("", ""), **values: object) -> Verdict:
    features = rows([one, two], list(sites))
    return judge_one(method(**values), features.slice(0, 1), features.slice(1, 1))


# The feature string (IV.B)


def test_feature_is_the_han_character_before_each_full_stop() -> None:
    text = "导航 首页\n今天天气很好。他来了iPhone。数字12。引号”。完成！\n版权所有。"
    assert feature_strings(pa.array([text])) == ["好有"]


def test_feature_of_a_page_that_is_not_chinese_is_the_last_word_of_each_sentence() -> None:
    [one, two] = feature_strings(
        pa.array(["The cat sat. A dog ran!\nHome page", "It SAT. They ran."]), words=True, fold=True
    )
    assert one == two
    assert len(one) == 2
    assert all(ord(symbol) >= PRIVATE_PLANES for symbol in one)


def test_traditional_and_simplified_are_one_when_folded() -> None:
    texts = pa.array(["他去图书馆。很难。", "他去圖書館。很難。"])
    assert len(set(feature_strings(texts, fold=True))) == 1
    assert len(set(feature_strings(texts))) == 2


def test_features_follow_the_script_of_each_page() -> None:
    pages = page_batch(
        ["很好。", "The end. No more."], script=["Hani", "Latn"], host=["news.a.cn", "b.com"]
    )
    features = EditDistance().describe(pages)
    assert features["length"].to_pylist() == [1, 2]
    assert features["site"].to_pylist() == ["news.a.cn", "b.com"]
    assert paper().describe(pages)["symbols"].to_pylist() == ["好", ""]


def test_features_do_not_depend_on_the_batch() -> None:
    texts = ["很好。真的。", "", "One day. Next day.", "没有句号"]
    pages = page_batch(texts, script=["Hani", "", "Latn", "Hani"])
    whole = EditDistance().describe(pages).to_pylist()
    assert whole == [
        row for at in range(4) for row in EditDistance().describe(pages.slice(at, 1)).to_pylist()
    ]


# Definitions 2 to 4


@pytest.mark.parametrize(
    ("one", "two", "lcc"),
    [
        ("abcdefghij", "abcdefghij", 10),  # no edit
        ("abcdefgh", "abcdefghij", 8),  # two inserted: 10 - 2
        ("abcdefghij", "abcdXfghij", 9),  # one changed
        ("abcde", "vwxyzabcde", 5),  # five inserted: 10 - 5
        ("abcde", "vwxyz", 0),  # all changed
        ("ab", "ba", 0),  # two changes: 2 - 2
    ],
)
def test_largest_common_count(one: str, two: str, lcc: int) -> None:
    assert largest_common_count(pa.array([one]), pa.array([two])).tolist() == [lcc]


def test_overlap_factors_worked_by_hand() -> None:
    # n = 8, m = 10, LCC = 8: overlap_sour 8/8, overlap_dest 8/10.
    found = verdict("abcdefgh", "abcdefghij")
    assert found.relation is Relation.NEAR
    assert found.similarity == pytest.approx(0.8)
    assert found.evidence["overlap_sour"] == 1.0
    assert found.evidence["lcc"] == 8


def test_just_below_the_threshold_is_no_duplicate() -> None:
    # n = m = 10, LCC = 7.
    found = verdict("abcdefghij", "abcdefgXYZ")
    assert found.relation is Relation.DIFFERENT
    assert found.similarity == pytest.approx(0.7)


def test_equal_strings_are_the_same() -> None:
    assert verdict("abcdefghij", "abcdefghij").relation is Relation.SAME


def test_pages_of_one_site_need_the_shorter_string_whole() -> None:
    changed = ("abcdefghij", "abcdefghiX")  # 9 of 10
    assert verdict(*changed, sites=("a.cn", "b.cn")).relation is Relation.NEAR
    assert verdict(*changed, sites=("a.cn", "a.cn")).relation is Relation.DIFFERENT
    assert verdict(*changed, sites=("", "")).relation is Relation.NEAR  # no site is not one site
    assert site_features("news.sina.com.cn", "sports.sina.com.cn") == ["sina.com.cn"] * 2
    longer = ("abcdefgh", "abcdefghij")  # 8 of 8, 8 of 10
    assert verdict(*longer, sites=("a.cn", "a.cn")).relation is Relation.NEAR


def test_a_page_inside_a_longer_one_is_contained_and_a_smaller_beta_makes_it_a_duplicate() -> None:
    inside = ("abcde", "vwxyzabcde")  # 5/5 and 5/10
    assert verdict(*inside).relation is Relation.CONTAINED
    assert verdict(inside[1], inside[0]).relation is Relation.CONTAINS
    assert verdict(*inside, beta=0.5).relation is Relation.NEAR


def test_as_printed_alpha_decides_nothing_between_sites() -> None:
    for one, two in product(("abcdefghij", "abcdefgh", "abcdeXghij", "abXX"), repeat=2):
        by_both = judge_one(paper(), rows([one]), rows([two])).relation
        by_beta = judge_one(method(**{**PAPER, "alpha": 0.01}), rows([one]), rows([two])).relation
        assert (by_both in JOINED) == (by_beta in JOINED)


def test_too_few_sentence_ends_are_undecided_even_against_themselves() -> None:
    found = verdict("abcd", "abcd")
    assert found.relation is Relation.UNDECIDED
    assert found.similarity is None
    empty = rows(["", ""])
    assert judge_one(paper(), empty.slice(0, 1), empty.slice(1, 1)).relation is Relation.UNDECIDED
    assert paper().decidable(rows(["", "a"])).to_pylist() == [False, True]


def test_evidence_says_why() -> None:
    why = verdict("abcdefgh", "abcdefghij", sites=("a.cn", "a.cn")).evidence["why"]
    assert why == (
        "8 sentence ends in common: 1.00 of the shorter page's 8 (needs 1.00 on one host), "
        "0.80 of the longer one's 10 (needs 0.70)"
    )


# Filters


strings = st.lists(st.text("abcdef的了", min_size=1, max_size=14), min_size=2, max_size=14)
shares = st.sampled_from([0.0, 0.2, 0.5, 0.7, 0.8, 0.9, 1.0])


def brute_force(
    chosen: EditDistance, features: pa.RecordBatch, wanted: set[Relation]
) -> set[tuple[int, int]]:
    pairs = list(combinations(range(features.num_rows), 2))
    left = features.take(pa.array([pair[0] for pair in pairs], pa.int64()))
    right = features.take(pa.array([pair[1] for pair in pairs], pa.int64()))
    relations = judge_rows(chosen, left, right)["relation"].to_pylist()
    return {pair for pair, relation in zip(pairs, relations, strict=True) if relation in wanted}


@given(strings, st.data(), shares.filter(bool), shares)
def test_candidates_are_what_brute_force_finds(
    texts: list[str], data: st.DataObject, alpha: float, beta: float
) -> None:
    sites = data.draw(
        st.lists(st.sampled_from(["", "a", "b"]), min_size=len(texts), max_size=len(texts))
    )
    features = rows(texts, sites)
    chosen = method(alpha=alpha, beta=beta, epsilon=0.1, minimum_length=2)
    assert isinstance(chosen.candidate_source, OwnSearch)
    proposed = pair_set(chosen.search(pa.Table.from_batches([features])))
    assert proposed == brute_force(chosen, features, JOINED)


@given(strings, shares.filter(bool), shares)
def test_candidates_with_contained_pages_are_what_brute_force_finds(
    texts: list[str], alpha: float, beta: float
) -> None:
    features = rows(texts)
    chosen = method(alpha=alpha, beta=beta, minimum_length=1, contained=True)
    wanted = {*JOINED, Relation.CONTAINED, Relation.CONTAINS, Relation.OVERLAP}
    proposed = pair_set(chosen.search(pa.Table.from_batches([features])))
    assert proposed == brute_force(chosen, features, wanted)


@given(strings, shares.filter(bool), shares)
def test_duplicates_share_a_key(texts: list[str], alpha: float, beta: float) -> None:
    features = rows(texts)
    chosen = method(alpha=alpha, beta=beta, minimum_length=1)
    keys: dict[int, set[int]] = {row: set() for row in range(len(texts))}
    found = chosen.keys(features)
    for row, key in zip(found["row"].to_pylist(), found["key"].to_pylist(), strict=True):
        keys[row].add(key)
    for one, two in brute_force(chosen, features, JOINED):
        assert keys[one] & keys[two]


@given(st.integers(1, 300), st.integers(1, 300), shares)
def test_strings_long_enough_for_each_other_share_a_band(n: int, m: int, beta: float) -> None:
    n, m = sorted((n, m))
    if n / m >= beta:
        assert set(length_bands(n, beta)) & set(length_bands(m, beta))


def test_undecided_pages_have_no_keys_and_are_no_candidates() -> None:
    features = rows(["abcd", "abcd", ""])
    assert EditDistance().keys(features).num_rows == 0
    assert EditDistance().search(pa.Table.from_batches([features])).num_rows == 0


def test_members_number_repeats_apart_and_rank_the_rare_first() -> None:
    members, offsets = ranked_members(["aab", "abc"])
    assert offsets.tolist() == [0, 3, 6]
    first, second = members[:3].tolist(), members[3:].tolist()
    assert len(set(first)) == len(set(second)) == 3
    assert len(set(first) & set(second)) == 2  # one a and the b
    assert first[0] not in second  # the second a, which only one string has
    assert second[0] not in first  # the c


@given(st.text("abc的", max_size=12), st.text("abc的", max_size=12))
def test_verdicts_are_symmetric(one: str, two: str) -> None:
    there, back = verdict(one, two, minimum_length=1), verdict(two, one, minimum_length=1)
    assert there.relation is back.relation.reverse
    assert there.similarity == back.similarity
    if there.similarity is not None:
        longer = max(len(one), len(two))
        assert there.similarity == pytest.approx(1 - Levenshtein.distance(one, two) / longer)
