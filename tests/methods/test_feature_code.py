"""`feature-code` (Chen & Niu): codes, judge, forest and exact index, worked by hand."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference.feature_codes import packed
from neardup.local.features import survey_batch
from neardup.methods.base import InOrder, MemoryState, SharedKeys
from neardup.methods.feature_code import (
    Code,
    FeatureCode,
    FeatureCodeOptions,
    Forest,
    Ruling,
    interval,
)
from neardup.methods.registry import make_method
from neardup.model import Relation, Verdict
from neardup.text.views import View
from page_batches import judge_one, page_batch

JOINS = FeatureCode.joins
PAPER = FeatureCodeOptions(**FeatureCode.paper_preset)  # type: ignore[arg-type]
FIVE = """\
桂林山水甲天下，玉碧罗青意可参。
何方，可化身千亿；一树梅花，一放翁。
“秋风起兮白云飞。”草木黄落兮，雁南归。
兰有秀兮
3.5万人来此，都说好！"""


def paper(index: str = "exact", **options: object) -> FeatureCode:
    given_options = {**FeatureCode.paper_preset, "index": index, **options}
    return FeatureCode(FeatureCodeOptions(**given_options))  # type: ignore[arg-type]


def code_batch(codes: Sequence[Sequence[str]], own: int | None = None) -> pa.RecordBatch:
    """Features from paragraphs written as "opening auxiliary": 'a xyz' is opening a, marks xyz."""
    rows = []
    for code in codes:
        auxiliary: list[int] = []
        for paragraph in code:
            marks = [packed(mark) for mark in paragraph[2:]]
            auxiliary += marks + [0] * (3 - len(marks))
        main = [packed(paragraph[0]) for paragraph in code]
        number = len(code) if own is None else own
        rows.append({"main": main, "auxiliary": auxiliary, "own": number, "bytes": 100})
    return pa.RecordBatch.from_pylist(rows, FeatureCode().feature_schema)


def judge(method: FeatureCode, left: Sequence[str], right: Sequence[str]) -> Verdict:
    return judge_one(method, code_batch([left]), code_batch([right]))


def shown(symbols: Sequence[int]) -> str:
    """Symbols as text, a dot for none."""
    texts = [value.to_bytes(8, "big").rstrip(b"\0").decode() for value in symbols]
    return " ".join(text or "." for text in texts)


class TestCodes:
    """Section 3.1, figure 2: five paragraphs, n = 3."""

    def test_main_and_auxiliary_code(self) -> None:
        features = paper().describe(page_batch([FIVE])).to_pylist()[0]
        # The fourth line is no sentence and not long: it is not of the main text.
        assert shown(features["main"]) == "桂 何 秋 3.5"
        assert shown(features["auxiliary"]) == "下 参 . 方 亿 花 飞 兮 归 此 好 ."

    def test_n_marks(self) -> None:
        features = paper(n=1).describe(page_batch([FIVE])).to_pylist()[0]
        assert shown(features["auxiliary"]) == "下 方 飞 此"

    def test_words_stand_for_characters_in_spaced_scripts(self) -> None:
        text = "It's late, she said, and left.\nЗима пришла: снег."
        features = paper().describe(page_batch([text])).to_pylist()[0]
        assert shown(features["main"]) == "it's зима"
        assert shown(features["auxiliary"]) == "late said left приш снег ."

    def test_traditional_and_full_width_text_has_the_same_code(self) -> None:
        one, other = "国家，发展。\nＡＢ很好。", "國家，發展。\nAB很好。"
        left, right = (paper().describe(page_batch([text])) for text in (one, other))
        assert left["main"].equals(right["main"])
        assert left["auxiliary"].equals(right["auxiliary"])

    def test_bytes_are_of_gb18030(self) -> None:
        features = paper().describe(page_batch(["国家，ab。"]))
        assert features["bytes"].to_pylist() == [2 * 4 + 2]

    def test_paragraphs_with_stock_openings_are_not_its_own(self) -> None:
        text = "据报道，昨天下雨。\n新华社北京电。\n下雨了。\n“记者看到，下雨。”"
        assert paper().describe(page_batch([text]))["own"].to_pylist() == [1]

    def test_a_page_without_text(self) -> None:
        features = paper().describe(page_batch(["", "首页"]))
        assert features["main"].to_pylist() == [[], []]
        assert paper().decidable(features).to_pylist() == [False, False]

    def test_batches_do_not_matter(self) -> None:
        pages = page_batch([FIVE, "", "下雨了。\n天晴了。"])
        whole = paper().describe(pages)
        parts = [paper().describe(pages.slice(row, 1)) for row in range(3)]
        assert pa.Table.from_batches([whole]).equals(pa.Table.from_batches(parts).combine_chunks())


SEVEN = ["a x", "b x", "c x", "d x", "e x", "f x", "g x"]
CHANGED = [paragraph[0] + " y" for paragraph in SEVEN]


class TestJudge:
    """Section 3.2, rules 1 to 3."""

    def test_rule_1_equal_main_codes(self) -> None:
        verdict = judge(paper(), SEVEN, CHANGED)
        assert verdict.relation is Relation.SAME
        assert verdict.similarity == 1.0
        assert verdict.evidence["why"] == "equal main codes of 7 paragraphs"

    def test_rule_2_proper_subset(self) -> None:
        verdict = judge(paper(), SEVEN[1:4], SEVEN)
        assert verdict.relation is Relation.CONTAINED
        assert verdict.similarity == pytest.approx(3 / 7)
        assert judge(paper(), SEVEN, SEVEN[1:4]).relation is Relation.CONTAINS
        assert "3 of 3 auxiliary codes equal" in str(verdict.evidence["why"])

    def test_rule_2_large_intersection_of_either(self) -> None:
        verdict = judge(paper(), [*SEVEN, "h x"], [*SEVEN, "i x", "j x"])
        assert verdict.relation is Relation.NEAR
        assert verdict.similarity == pytest.approx(7 / 9)
        assert verdict.evidence["main_codes"] == [8, 9]

    def test_rule_2_exactly_80_percent_is_not_above_it(self) -> None:
        left, right = [*SEVEN[:4], "h x"], [*SEVEN[:4], "i x"]
        assert judge(paper(), left, right).relation is Relation.DIFFERENT
        assert judge(paper(large=0.79), left, right).relation is Relation.NEAR

    @pytest.mark.parametrize("shared", [0, 1])
    def test_rule_2_small_intersection(self, shared: int) -> None:
        left, right = SEVEN, [*SEVEN[:shared], *"hijklm"]
        for undetermined in ("different", "compare"):
            verdict = judge(paper(undetermined=undetermined), left, right)
            assert verdict.relation is Relation.DIFFERENT

    def test_rule_2_between_is_different_or_compared(self) -> None:
        left, right = SEVEN, [*SEVEN[:4], "h x", "i x", "j x"]
        verdict = judge(paper(), left, right)
        assert verdict.relation is Relation.DIFFERENT
        assert "neither few nor most" in str(verdict.evidence["why"])
        assert judge(paper(undetermined="compare"), left, right).relation is Relation.NEAR

    def test_rule_3_80_percent_of_the_auxiliary_codes(self) -> None:
        longer = [*SEVEN, "h x"]
        four_of_five = [*SEVEN[:4], "e y"]
        three_of_five = [*SEVEN[:3], "d y", "e y"]
        assert judge(paper(), four_of_five, longer).relation is Relation.CONTAINED
        verdict = judge(paper(), three_of_five, longer)
        assert verdict.relation is Relation.DIFFERENT
        assert "3 of 5 auxiliary codes equal" in str(verdict.evidence["why"])

    def test_rule_3_of_repeated_openings_takes_those_with_equal_codes(self) -> None:
        verdict = judge(paper(), ["a x", "b x"], ["a y", "a x", "b x"])
        assert verdict.evidence["auxiliary_shared"] == 2
        assert verdict.evidence["auxiliary_equal"] == 2

    def test_rule_3_is_about_the_whole_intersection_whatever_its_order(self) -> None:
        verdict = judge(paper(), SEVEN, SEVEN[::-1])
        assert (verdict.relation, verdict.similarity) == (Relation.NEAR, 1.0)
        assert verdict.evidence["auxiliary_shared"] == 7
        # Six openings in reverse order, of which only one opens the same paragraph.
        reversed_others = [SEVEN[5], *CHANGED[4::-1]]
        verdict = judge(paper(), SEVEN[:6], reversed_others)
        assert verdict.relation is Relation.DIFFERENT
        assert "1 of 6 auxiliary codes equal" in str(verdict.evidence["why"])

    def test_rule_3_counts_codes_or_characters(self) -> None:
        # Three of five codes are equal, and two characters of each other one.
        longer = ["a xyz", "b xyz", "c xyz", "d xyz", "e xyz", "f xyz"]
        shorter = ["a xyz", "b xyz", "c xyw", "d xyw", "e xyz"]
        assert judge(paper(), shorter, longer).relation is Relation.DIFFERENT
        verdict = judge(paper(counting="characters"), shorter, longer)
        assert verdict.relation is Relation.CONTAINED
        assert "13 of 15 auxiliary characters equal" in str(verdict.evidence["why"])


class TestGuards:
    def test_short_equal_main_codes_need_the_auxiliary_code(self) -> None:
        method = FeatureCode()
        assert judge(method, SEVEN[:5], CHANGED[:5]).relation is Relation.DIFFERENT
        assert judge(method, SEVEN[:6], CHANGED[:6]).relation is Relation.SAME
        assert judge(method, SEVEN[:5], SEVEN[:5]).relation is Relation.SAME

    def test_stock_openings_do_not_count_towards_it(self) -> None:
        features = code_batch([SEVEN, CHANGED], own=5)  # n - m = 5, not above 5
        left, right = features.slice(0, 1), features.slice(1, 1)
        assert judge_one(FeatureCode(), left, right).relation is Relation.DIFFERENT
        assert judge_one(paper(), left, right).relation is Relation.SAME

    def test_one_paragraph_is_undecided_also_against_itself(self) -> None:
        verdict = judge(FeatureCode(), ["a xyz"], ["a xyz"])
        assert (verdict.relation, verdict.similarity) == (Relation.UNDECIDED, None)
        assert FeatureCode().keys(code_batch([["a xyz"]])).num_rows == 0
        assert judge(paper(), ["a xyz"], ["a xyz"]).relation is Relation.SAME


PARAGRAPHS = st.builds("{} {}".format, st.sampled_from("abcd"), st.sampled_from(["", "x", "xy"]))
PAGES = st.lists(PARAGRAPHS, max_size=6)
OPTIONS = st.builds(
    FeatureCodeOptions,
    large=st.sampled_from([0.5, 0.8]),
    undetermined=st.sampled_from(["different", "compare"]),
    auxiliary=st.sampled_from([0.01, 0.5, 0.8, 1.0]),
    minimum_paragraphs=st.integers(1, 2),
    certain_length=st.sampled_from([-1, 3, 5]),
    counting=st.sampled_from(["codes", "characters"]),
)


class TestRuleThree:
    @given(st.lists(PARAGRAPHS, max_size=4), st.lists(PARAGRAPHS, max_size=4))
    def test_the_best_pairing_of_equal_openings(self, left: list[str], right: list[str]) -> None:
        every = paper(large=0, small=0, undetermined="compare", certain_length=99)
        shorter, longer = sorted((left, right), key=len)
        best = max(
            (sum(a[0] == b[0] for a, b in pairs), sum(a == b for a, b in pairs))
            for order in itertools.permutations(longer)
            for pairs in [list(zip(shorter, order, strict=False))]
        )
        evidence = judge(every, left, right).evidence
        if best[0]:
            assert (evidence["auxiliary_shared"], evidence["auxiliary_equal"]) == best


class TestExactIndex:
    @given(st.lists(PAGES, min_size=2, max_size=6), OPTIONS)
    def test_every_pair_that_joins_shares_a_key(
        self, codes: list[list[str]], options: FeatureCodeOptions
    ) -> None:
        method = FeatureCode(options)
        features = code_batch(codes)
        keys: dict[int, set[int]] = {row: set() for row in range(len(codes))}
        for pair in method.keys(features).to_pylist():
            keys[pair["row"]].add(pair["key"])
        for left, right in itertools.combinations(range(len(codes)), 2):
            verdict = judge_one(method, features.slice(left, 1), features.slice(right, 1))
            if verdict.relation in JOINS:
                assert keys[left] & keys[right]

    @given(PAGES, PAGES, OPTIONS)
    def test_verdicts_are_symmetric(
        self, left: list[str], right: list[str], options: FeatureCodeOptions
    ) -> None:
        method = FeatureCode(options)
        one, other = judge(method, left, right), judge(method, right, left)
        assert one.relation is other.relation.reverse
        assert one.similarity == other.similarity

    @given(PAGES, OPTIONS)
    def test_a_page_is_the_same_as_itself_or_undecided(
        self, code: list[str], options: FeatureCodeOptions
    ) -> None:
        enough = len(code) >= options.minimum_paragraphs
        verdict = judge(FeatureCode(options), code, code)
        assert verdict.relation is (Relation.SAME if enough else Relation.UNDECIDED)

    def test_what_an_engine_sees(self) -> None:
        exact, forest = FeatureCode(), FeatureCode(FeatureCodeOptions(index="forest"))
        assert exact.candidate_source == SharedKeys()
        assert forest.candidate_source == InOrder()
        assert exact.view is View.OWN
        assert make_method("feature-code", preset="paper").view is View.OWN


def assign(
    codes: Mapping[str, Sequence[str]], state: MemoryState | None = None, **options: object
) -> tuple[list[str | None], Forest]:
    """What each page is matched with, and the forest after it."""
    method = paper("forest", **options)
    state = state or MemoryState()
    assigned = method.assign(pa.array(list(codes)), code_batch(list(codes.values())), state)
    for text in assigned["evidence"].to_pylist():
        assert json.loads(text)["why"]
    return assigned["match"].to_pylist(), Forest(state, _never, 50)


def _never(ours: Code, theirs: Code) -> Ruling:
    raise AssertionError("only looked at")


def content(forest: Forest) -> list[tuple[str, list[str]]]:
    """The page at each node, and its auxiliary list."""
    return [(node.page, node.near) for node in forest.nodes()]


class TestForest:
    """Sections 4.2 and 4.4."""

    def test_intervals_are_closed_above(self) -> None:
        assert [interval(size, 1, 50) for size in (1, 50, 51, 100, 101, 150, 151)] == [
            *(0, 0, 1, 1, 2, 2, 3)
        ]
        assert interval(500, 5, 50) == 1

    def test_merge_rule_1_equal_main_codes_change_nothing(self) -> None:
        matches, forest = assign({"old": SEVEN, "new": CHANGED})
        assert matches == [None, "old"]
        assert content(forest) == [("old", [])]

    def test_merge_rule_2_a_subset_goes_to_the_list(self) -> None:
        matches, forest = assign({"old": SEVEN, "new": SEVEN[:3]})
        assert matches == [None, "old"]
        assert content(forest) == [("old", ["new"])]

    def test_merge_rule_2_unless_an_equal_one_is_there(self) -> None:
        pages = {"old": SEVEN, "new": SEVEN[:3], "same": SEVEN[:3], "other": SEVEN[4:]}
        matches, forest = assign(pages)
        assert matches == [None, "old", "old", "old"]
        assert content(forest) == [("old", ["new", "other"])]

    def test_merge_rule_3_a_superset_takes_the_node(self) -> None:
        matches, forest = assign({"old": SEVEN[1:3], "new": SEVEN, "newer": [*SEVEN, "h x"]})
        assert matches == [None, "old", "new"]
        # "old" is equal to "new" and is in the list already when "new" would be added.
        assert content(forest) == [("newer", ["old"])]
        assert forest.nodes()[0].key == [packed(letter) for letter in "bc"]

    def test_merge_rule_4_a_large_intersection_goes_to_the_list(self) -> None:
        matches, forest = assign({"old": [*SEVEN, "h x"], "new": [*SEVEN, "i x", "j x"]})
        assert matches == [None, "old"]
        assert content(forest) == [("old", ["new"])]

    def test_different_pages_become_nodes_in_order(self) -> None:
        pages = {name: [f"{name} x", f"{name} y"] for name in "mcxadz"}
        matches, forest = assign(pages)
        assert matches == [None] * 6
        sides = {node.page: (node.left, node.right) for node in forest.nodes()}
        assert sides == {
            "m": ("c", "x"),
            "c": ("a", "d"),
            "x": ("", "z"),
            "a": ("", ""),
            "d": ("", ""),
            "z": ("", ""),
        }

    def test_a_search_meets_only_its_path(self) -> None:
        # "new" holds all of "left" but goes right at the root, so the forest misses what the exact
        # index finds, and finds it when the pages come in another order.
        left, root, new = ["a x", "b x"], ["m x", "n x"], ["z x", "a x", "b x"]
        matches, _ = assign({"root": root, "left": left, "new": new})
        assert matches == [None, None, None]
        matches, _ = assign({"left": left, "root": root, "new": new})
        assert matches == [None, None, "left"]
        assert judge(paper(), left, new).relation is Relation.CONTAINED

    def test_a_boundary_between_intervals_parts_equal_pages(self) -> None:
        features = code_batch([SEVEN, SEVEN])
        sizes = pa.array([350, 351])  # 50 bytes a paragraph, and a little more
        features = features.set_column(3, "bytes", sizes)
        method = paper("forest")
        ids = pa.array(["one", "other"])
        assert method.assign(ids, features, MemoryState())["match"].to_pylist() == [None, None]
        wide = paper("forest", width=100)
        assert wide.assign(ids, features, MemoryState())["match"].to_pylist() == [None, "one"]

    def test_sorted_input_makes_a_long_branch_and_no_recursion(self) -> None:
        letters = [chr(0x4E00 + number) for number in range(1500)]
        matches, forest = assign({letter: [f"{letter} x"] for letter in letters})
        assert matches == [None] * 1500
        assert [node.right for node in forest.nodes()] == [*letters[1:], ""]

    def test_one_page_at_a_time_is_the_same(self) -> None:
        pages = {"a": SEVEN, "b": SEVEN[:3], "c": ["z x", "y x"], "d": [*SEVEN, "h x"]}
        at_once, forest = assign(pages)
        state = MemoryState()
        single = [assign({name: code}, state)[0][0] for name, code in pages.items()]
        assert single == at_once == [None, "a", None, "a"]
        assert content(Forest(state, _never, 50)) == content(forest)

    def test_undecided_pages_stay_out(self) -> None:
        pages = {"a": ["a x"], "b": ["a x"], "c": []}
        matches, forest = assign(pages, minimum_paragraphs=2)
        assert matches == [None] * 3
        assert forest.nodes() == []

    @given(st.lists(PAGES, max_size=6))
    def test_a_match_is_what_the_judge_calls_equal(self, codes: list[list[str]]) -> None:
        pages: dict[str, Sequence[str]] = {f"p{row}": code for row, code in enumerate(codes)}
        matches, _ = assign(pages)
        for page, match in zip(pages, matches, strict=True):
            if match is not None:
                assert judge(paper(), pages[page], pages[match]).relation in JOINS


class TestSite:
    def test_paragraphs_of_the_site_are_masked(self) -> None:
        texts = [
            f"{day}下雨了，路滑。\n{day}夜里天晴，风停。\n本站声明，请勿转载。" for day in "甲乙丙"
        ]
        pages = page_batch(texts, host=["a.example"] * 3, title=list("甲乙丙"))
        method = FeatureCode()
        surveyed = survey_batch(method, pages)
        assert make_method("feature-code", preset="paper").site_counts is not None
        mains = [shown(each) for each in method.describe(pages, surveyed)["main"].to_pylist()]
        assert mains == ["甲 甲", "乙 乙", "丙 丙"]
        assert [shown(each) for each in method.describe(pages)["main"].to_pylist()] == [
            *("甲 甲 本", "乙 乙 本", "丙 丙 本")
        ]
