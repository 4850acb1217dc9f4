"""`news-clusters` (Liang & Wen): each device and store, and the alternatives the paper names."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.methods.base import MemoryState
from neardup.methods.news_clusters import extractor
from neardup.methods.news_clusters.devices import Newsroom, elect
from neardup.methods.news_clusters.method import NewsClusters
from neardup.methods.news_clusters.stores import DAY, Binding, Clock, FingerprintMap, InvertedTable
from neardup.model import Relation
from news_pages import (
    FIRST,
    OTHER,
    STORY,
    TITLE,
    hashed,
    method,
    news,
    newsroom,
)
from page_batches import judge_one, page_batch


class TestSelector:
    def test_x_fingerprints_of_one_cluster(self) -> None:
        room = newsroom()
        room.place(news("a", [1, 2, 3]))
        placed = room.place(news("b", [1, 2, 9, 10]))
        assert (placed.match, placed.relation, placed.similarity) == ("a", Relation.NEAR, 0.5)
        assert placed.evidence["why"] == "2 of 4 fingerprints point to the cluster of a"
        assert room.place(news("c", [3, 20])).match is None  # one is not enough

    @pytest.mark.parametrize(("x", "match"), [(1, "a"), (2, "a"), (3, None)])
    def test_x_from_one_to_all(self, x: int, match: str | None) -> None:
        room = newsroom(x=x)
        room.place(news("a", [1, 2, 3]))
        assert room.place(news("b", [1, 2, 9])).match == match

    def test_fingerprints_of_later_members_count_for_the_cluster(self) -> None:
        room = newsroom()
        for page in (news("a", [1, 2]), news("b", [1, 2, 5, 6])):
            room.place(page)
        assert room.place(news("c", [5, 6])).match == "a"

    def test_more_votes_win(self) -> None:
        room = newsroom()
        for page in (news("a", [1, 2]), news("b", [4, 5, 6])):
            room.place(page)
        assert room.place(news("c", [1, 2, 4, 5, 6])).match == "b"

    def test_then_more_weight(self) -> None:
        room = newsroom()
        for page in (news("a", [1, 2]), news("b", [4, 5]), news("c", [4, 5])):
            room.place(page)
        assert room.place(news("d", [1, 2, 4, 5])).match == "b"

    def test_then_the_older(self) -> None:
        room = newsroom()
        for page in (news("z", [1, 2]), news("a", [4, 5], day=1)):
            room.place(page)
        assert room.place(news("d", [4, 5, 1, 2], day=2)).match == "z"

    def test_votes_for_different_clusters_do_not_add_up(self) -> None:
        room = newsroom()
        for page in (news("a", [1, 2]), news("b", [4, 5])):
            room.place(page)
        assert room.place(news("c", [1, 4])).match is None


class TestComparer:
    def test_the_best_value_above_k(self) -> None:
        room = newsroom()
        for name, counts in (("a", {1: 3, 2: 4}), ("c", {7: 1}), ("e", {1: 1, 2: 1, 3: 1})):
            room.place(news(name, [hashed(name)], title="storm", counts=counts))
        placed = room.place(news("f", [9], title="storm", counts={1: 1, 2: 1, 3: 1}))
        assert placed.match == "e"  # the most similar page itself, not the founder
        assert placed.similarity == pytest.approx(1.0)
        assert placed.evidence["device"] == "Comparer"
        assert placed.evidence["candidates"] == 3
        # cosine of e and a: 7 / (5 * sqrt(3)) = 0.81
        assert room.documents["f"].cluster == room.documents["e"].cluster == "a"

    def test_k_itself_is_not_above_k(self) -> None:
        for k, match in ((0.6, None), (0.59, "a")):
            room = newsroom(k=k)
            room.place(news("a", [1], title="storm", counts={1: 3, 2: 4}))
            assert room.place(news("b", [2], title="storm", counts={1: 1})).match == match

    def test_only_pages_with_title_words_in_common_are_candidates(self) -> None:
        room = newsroom()
        room.place(news("a", [1], title="storm harbour", counts={1: 1}))
        assert room.place(news("b", [2], title="budget", counts={1: 1})).match is None

    def test_the_pages_with_most_hits(self) -> None:
        room = newsroom(documents=2)
        for name, title in (("a", "storm"), ("b", "storm harbour old"), ("c", "storm harbour")):
            room.updater.update(news(name, title=title), name, "")
        page = news("d", title="storm harbour old town")
        assert room.comparer.candidates(page) == ["b", "c"]

    def test_hits_that_are_equal_go_by_id(self) -> None:
        room = newsroom(documents=2)
        for name in "cab":
            room.updater.update(news(name, title="storm"), name, "")
        assert room.comparer.candidates(news("d", title="storm")) == ["a", "b"]

    @pytest.mark.parametrize(("day", "found"), [(0, True), (3, True), (4, False), (-4, False)])
    def test_only_the_last_t_days(self, day: int, found: bool) -> None:
        room = newsroom(t=3)
        room.updater.update(news("a", title="storm", day=10), "a", "")
        candidates = room.comparer.candidates(news("b", title="storm", day=10 + day))
        assert candidates == (["a"] if found else [])

    def test_all_recent_pages(self) -> None:
        room = newsroom(candidates="all", t=3)
        for name, day in (("old", 0), ("b", 5), ("a", 6)):
            room.updater.update(news(name, day=day, title="x"), name, "")
        assert room.comparer.candidates(news("c", day=7, title="y")) == ["a", "b"]

    def test_text_search(self) -> None:
        room = newsroom(candidates="search", documents=2)
        for name, words in (("a", "the storm"), ("b", "the budget vote"), ("c", "the vote")):
            room.updater.update(news(name, text_words=words.split()), name, "")
        # "budget" is rarer than "vote", which is rarer than "the".
        page = news("d", text_words=["the", "budget", "vote", "unheard"])
        assert room.comparer.candidates(page) == ["b", "c"]
        page = news("d", text_words=["the", "storm"])
        assert room.comparer.candidates(page) == ["a", "b"]

    def test_frequent_words_propose_nothing(self) -> None:
        room = newsroom(frequent=2)
        for name in "abc":
            title = "storm harbour" if name == "a" else "storm"
            room.updater.update(news(name, title=title), name, "")
        assert room.comparer.candidates(news("d", title="storm harbour")) == ["a"]


class TestContent:
    def test_cosine_over_words_without_stop_words(self) -> None:
        texts = ["The storm hit the old harbour and the storm left.", "A storm of an old harbour."]
        pages = page_batch(texts, title=["", ""])
        vectors = method().describe(pages)
        assert [sorted(each) for each in vectors["counts"].to_pylist()] == [
            [1, 1, 1, 1, 2],  # hit, old, harbour, left; storm twice
            [1, 1, 1],
        ]
        verdict = judge_one(method(), vectors.slice(0, 1), vectors.slice(1, 1))
        assert verdict.similarity == pytest.approx(4 / (8**0.5 * 3**0.5))

    def test_lcs_is_over_words_of_spaced_scripts(self) -> None:
        pages = page_batch(["One two three four five.", "One three two five."])
        features = method(comparison="lcs").describe(pages)
        verdict = judge_one(method(comparison="lcs"), features.slice(0, 1), features.slice(1, 1))
        assert verdict.similarity == pytest.approx(3 / 5)

    def test_lcs_is_over_characters_of_others(self) -> None:
        pages = page_batch(
            ["昨天下午下了一场大雨。", "昨天下午下了大雨，大雾。"], title=["台风"] * 2
        )
        features = method(comparison="lcs").describe(pages)
        verdict = judge_one(method(comparison="lcs"), features.slice(0, 1), features.slice(1, 1))
        assert verdict.similarity == pytest.approx(8 / 10)

    @given(st.dictionaries(st.integers(0, 2**32 - 1), st.integers(1, 65535)))
    def test_packing(self, counts: dict[int, int]) -> None:
        items = sorted(counts.items())
        words = np.array([word for word, _ in items], np.uint32)
        numbers = np.array([number for _, number in items], np.uint16)
        vectors = extractor.unpack([extractor.pack(words, numbers), ""])
        assert vectors.words.tolist() == words.tolist()
        assert vectors.counts.tolist() == numbers.tolist()
        assert vectors.offsets.tolist() == [0, len(items), len(items)]

    def test_nothing_is_like_nothing(self) -> None:
        assert extractor.common_subsequences(["", "a"], ["", ""]).tolist() == [0.0, 0.0]


class TestVoter:
    def test_the_title_is_the_head(self) -> None:
        features = method().describe(page_batch([STORY], title=[TITLE]))
        state = MemoryState()
        method().assign(pa.array(["a"]), features, state)
        head = state.map("news-clusters/documents")["a"][0]
        assert head == f"{hashed('stormclosestheoldharbour'):016x}"

    def test_without_a_title_another_feature_is(self) -> None:
        assert elect(news("a", [7, 8])) == f"{7:016x}"

    def test_members_have_the_head_of_their_cluster(self) -> None:
        room = newsroom()
        room.place(news("a", [1, 2, 3]))
        room.place(news("b", [5, 1, 2]))
        assert room.documents["b"].head == room.documents["a"].head == f"{1:016x}"

    def test_founding(self) -> None:
        placed = newsroom().place(news("a", [1, 2]))
        assert (placed.match, placed.relation, placed.similarity) == (
            *(None, Relation.DIFFERENT, None),
        )
        assert placed.evidence["device"] == "Voter"


class TestUpdater:
    def binding(self, room: Newsroom, fingerprint: int) -> tuple[str, int]:
        found = room.fingerprints.get(fingerprint)
        assert found is not None
        return found.cluster, found.weight

    def test_unseen_fingerprints_are_bound_with_a0(self) -> None:
        room = newsroom(a0=2)
        room.updater.update(news("a", [1]), "a", "")
        assert self.binding(room, 1) == ("a", 2)
        assert room.fingerprints.get(2) is None

    def test_weights_go_up_in_the_same_cluster(self) -> None:
        room = newsroom()
        for name in "abc":
            room.updater.update(news(name, [1]), "a", "")
        assert self.binding(room, 1) == ("a", 3)

    def test_weights_go_down_in_another_and_the_binding_ends(self) -> None:
        room = newsroom()
        for name in "ab":
            room.updater.update(news(name, [1]), "a", "")
        room.updater.update(news("c", [1]), "c", "")
        assert self.binding(room, 1) == ("a", 1)
        room.updater.update(news("d", [1]), "d", "")
        assert self.binding(room, 1) == ("", 0)
        room.updater.update(news("e", [1]), "e", "")
        assert self.binding(room, 1) == ("e", 1)  # free to bind anew

    def test_unbound_fingerprints_have_no_vote(self) -> None:
        room = newsroom(x=1)
        room.updater.update(news("a", [1]), "a", "")
        room.updater.update(news("b", [1]), "b", "")
        assert room.selector.select(news("c", [1])) is None

    def test_bindings_expire(self) -> None:
        room = newsroom(x=1, expiry=3)
        room.updater.update(news("a", [1]), "a", "")
        assert room.selector.select(news("b", [1], day=3)) is not None
        assert room.selector.select(news("b", [1], day=3.1)) is None
        room.updater.update(news("c", [1], day=3.1), "c", "")
        assert self.binding(room, 1) == ("c", 1)

    def test_without_expiry_they_stay(self) -> None:
        room = newsroom(x=1)
        room.updater.update(news("a", [1]), "a", "")
        assert room.selector.select(news("b", [1], day=9999)) is not None


class TestGuards:
    def test_boilerplate_stops_voting(self) -> None:
        room = newsroom(x=1, common=3)
        for name in "abcd":
            room.updater.update(news(name, [1]), name, "")
        room.updater.update(news("e", [1]), "d", "")
        binding = room.fingerprints.get(1)
        assert binding is not None
        assert binding.seen == ["a", "b", "c", "d"]
        assert room.selector.select(news("f", [1])) is None

    def test_without_the_guard_it_votes_on(self) -> None:
        room = newsroom(x=1)
        for name in "abc":
            room.updater.update(news(name, [1]), name, "")
        found = room.selector.select(news("f", [1]))
        assert found is not None
        assert found.cluster == "c"

    def test_one_sentence_pages_are_undecided(self) -> None:
        pages = page_batch([FIRST.split(". ", maxsplit=1)[0] + ".", FIRST], title=[TITLE] * 2)
        guarded = NewsClusters()
        features = guarded.describe(pages)
        assert guarded.decidable(features).to_pylist() == [False, True]
        verdict = judge_one(guarded, features.slice(0, 1), features.slice(0, 1))
        assert (verdict.relation, verdict.similarity) == (Relation.UNDECIDED, None)
        assigned = guarded.assign(pa.array(["a", "b"]), features.take([0, 0]), MemoryState())
        assert assigned["match"].to_pylist() == [None, None]
        assert assigned["relation"].to_pylist() == ["undecided", "undecided"]
        assert set(guarded.keys(features)["row"].to_pylist()) == {1}

    def test_pages_without_features_are_undecided_even_as_printed(self) -> None:
        features = method().describe(page_batch([""]))
        assert method().decidable(features).to_pylist() == [False]


class TestStores:
    def test_all_values_are_plain_data(self) -> None:
        state = MemoryState()
        pages = page_batch([STORY, STORY, OTHER], title=[TITLE, TITLE, "Budget agreed at last"])
        method().assign(pa.array(["a", "b", "c"]), method().describe(pages), state)
        for name in ("fingerprints", "documents", "words", "days", "clock", "words/counts"):
            values = dict(state.map(f"news-clusters/{name}"))
            assert json.loads(json.dumps(values)) == values

    def test_bindings_come_back(self) -> None:
        fingerprints = FingerprintMap(MemoryState())
        for binding in (
            Binding("a", 3, 7, ["a"]),
            Binding("a", 3, 7, ["a", "b"]),
            Binding("", 0, 7, ["a"]),
            Binding("a", 3, 7, []),
        ):
            fingerprints.put(2**64 - 1, binding)
            assert fingerprints.get(2**64 - 1) == binding

    def test_long_lists_come_back_whole(self) -> None:
        table = InvertedTable(MemoryState())
        names = [f"p{number}" for number in range(200)]
        for name in names:
            table.add(name, DAY, ["storm", "storm"])
        assert table.having("storm", [1]) == names
        assert table.pages([1]) == names
        assert table.frequency("storm", [0, 1, 2]) == table.count([1]) == 200

    def test_pages_without_a_time_take_the_latest(self) -> None:
        clock = Clock(MemoryState())
        assert [clock.time_of(time) for time in (None, 5, 3, None, 9, None)] == [0, 5, 3, 5, 9, 9]
