"""`news-clusters` (Liang & Wen): each device and store, and the alternatives the paper names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from neardup.methods.base import DecidesInOrder, MemoryState, Surveys
from neardup.methods.news_clusters import NewsClusters, content, extractor
from neardup.methods.news_clusters.newsroom import Newsroom
from neardup.methods.news_clusters.options import NewsClustersOptions
from neardup.methods.news_clusters.page import NewsPage
from neardup.methods.news_clusters.stores import DAY, Binding, Clock, FingerprintMap, InvertedTable
from neardup.methods.news_clusters.voter import elect
from neardup.model import Relation
from page_batches import judge_one, page_batch

PAPER = NewsClusters.paper_preset


def method(**options: object) -> NewsClusters:
    """The paper's rule as printed, with these options."""
    return NewsClusters(NewsClustersOptions(**{**PAPER, **options}))  # type: ignore[arg-type]


def hashed(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode())


SHORT = "It rained."
FIRST = "The harbour was closed at noon. Ships had to wait far outside for most of the day."
SECOND = "Nobody was hurt, the mayor said, but the old bridge will need a lot of repairs. He left."
THIRD = "Schools stay shut. The trains run again from Monday."
STORY = "\n".join([SHORT, FIRST, SECOND, THIRD])
TITLE = "Storm closes the old harbour"
OTHER = "\n".join(
    [
        "Ministers agreed on a budget that nobody likes after two nights without sleep.",
        "Taxes on fuel go up by a tenth, and those on bread go down a little.",
        "The opposition wants a vote before the summer begins, which few expect to see.",
    ]
)


class TestExtractor:
    def fingerprints(self, title: str, text: str, **options: object) -> list[int]:
        features = method(**options).features(page_batch([text], title=[title]))
        prints: list[int] = features["fingerprints"].to_pylist()[0]
        return prints

    def test_the_longest_sentence_of_each_of_the_longest_paragraphs(self) -> None:
        assert self.fingerprints(TITLE, STORY) == [
            hashed("stormclosestheoldharbour"),
            hashed("nobodywashurtthemayorsaidbuttheoldbridgewillneedalotofrepairs"),
            hashed("shipshadtowaitfaroutsideformostoftheday"),
            hashed("thetrainsrunagainfrommonday"),
        ]  # "It rained." has fewer than ten characters without its punctuation

    def test_n_is_how_many_with_the_title(self) -> None:
        assert len(self.fingerprints(TITLE, STORY, n=2)) == 2
        assert len(self.fingerprints(TITLE, STORY, n=3)) == 3

    def test_short_features_are_dropped(self) -> None:
        assert len(self.fingerprints(TITLE, STORY, minimum_length=25)) == 3
        assert self.fingerprints("", SHORT) == []

    def test_full_width_and_traditional_letters_are_folded(self) -> None:
        one = "台風ＡＢＣ於昨日下午登陸沿海地區。"
        other = "台风ABC于昨日下午登陆沿海地区。"
        assert self.fingerprints("", one) == self.fingerprints("", other) != []

    def test_equal_features_count_once(self) -> None:
        assert len(self.fingerprints("", f"{FIRST}\n{FIRST}\n{FIRST}")) == 1

    def test_paragraphs(self) -> None:
        found = self.fingerprints("", f"{THIRD}\n{SHORT}", features="paragraphs")
        assert found == [hashed("schoolsstayshutthetrainsrunagainfrommonday")]

    def test_full_text(self) -> None:
        found = self.fingerprints("", f"{SHORT}\n{THIRD}", features="full-text")
        assert found == [hashed("itrainedschoolsstayshutthetrainsrunagainfrommonday")]

    def test_around_full_stops(self) -> None:
        found = self.fingerprints("", f"{SHORT}\n{THIRD}", features="full-stops", reach=6, n=3)
        # The longest sentence ends the text; "Schools stay shut." is followed by "The trains".
        assert found == [hashed("aysh" + "ut" + "thetra")]

    def test_slices(self) -> None:
        text = "abcdefghijklmnopqrstuvwxyzabcdef."
        found = self.fingerprints("", text, features="slices", n=3)
        assert found == [hashed("abcdefghijklmnop"), hashed("qrstuvwxyzabcdef")]

    def test_features_of_a_page_without_text(self) -> None:
        for kind in extractor.FEATURES:
            assert self.fingerprints("", "", features=kind) == []

    def test_site_names_in_titles(self) -> None:
        plain = self.fingerprints(TITLE, "")
        assert self.fingerprints(f"{TITLE} | The Paper", "", title_part=True) == plain
        assert self.fingerprints(f"{TITLE} | The Paper", "") != plain

    def test_title_words_are_cut_and_lose_stop_words(self) -> None:
        pages = page_batch([STORY, STORY], title=["我爱北京天安门", "The storm of the year"])
        scripts = pa.array(["Hani", "Latn"])
        pages = pages.set_column(pages.schema.get_field_index("script"), "script", scripts)
        words = method().features(pages)["title_words"].to_pylist()
        assert words == [["爱", "北京", "天安门"], ["storm", "year"]]

    def test_the_longest_sentence_stands_in_for_a_title(self) -> None:
        pages = page_batch([STORY])
        assert method().features(pages)["title_words"].to_pylist() == [[]]
        words = method(stand_in=True).features(pages)["title_words"].to_pylist()[0]
        assert words == ["hurt", "mayor", "said", "old", "bridge", "need", "lot", "repairs"]

    def test_batches_do_not_matter(self) -> None:
        pages = page_batch([STORY, "", OTHER], title=[TITLE, "", "Budget"])
        for options in ({}, {"comparison": "lcs"}, {"features": "slices"}):
            whole = method(**options).features(pages)
            parts = [method(**options).features(pages.slice(row, 1)) for row in range(3)]
            assert whole.to_pylist() == [part.to_pylist()[0] for part in parts]


def news(
    name: str,
    fingerprints: Sequence[int] = (),
    *,
    day: float = 0,
    title: str = "",
    counts: dict[int, int] | None = None,
    text_words: Sequence[str] = (),
) -> NewsPage:
    """A page as the Extractor would give it."""
    vector = sorted((counts or {}).items())
    words = np.array([word for word, _ in vector], np.uint32)
    numbers = np.array([number for _, number in vector], np.uint16)
    return NewsPage(
        id=name,
        time=int(day * DAY),
        fingerprints=tuple(fingerprints),
        title_words=tuple(title.split()),
        content=content.pack(words, numbers),
        text_words=tuple(text_words),
        digest=name,
    )


def newsroom(**options: object) -> Newsroom:
    given_options = NewsClustersOptions(**{**PAPER, **options})  # type: ignore[arg-type]
    return Newsroom(MemoryState(), given_options)


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
        vectors = method().features(pages)
        assert [sorted(each) for each in vectors["counts"].to_pylist()] == [
            [1, 1, 1, 1, 2],  # hit, old, harbour, left; storm twice
            [1, 1, 1],
        ]
        verdict = judge_one(method(), vectors.slice(0, 1), vectors.slice(1, 1))
        assert verdict.similarity == pytest.approx(4 / (8**0.5 * 3**0.5))

    def test_lcs_is_over_words_of_spaced_scripts(self) -> None:
        pages = page_batch(["One two three four five.", "One three two five."])
        features = method(comparison="lcs").features(pages)
        verdict = judge_one(method(comparison="lcs"), features.slice(0, 1), features.slice(1, 1))
        assert verdict.similarity == pytest.approx(3 / 5)

    def test_lcs_is_over_characters_of_others(self) -> None:
        pages = page_batch(
            ["昨天下午下了一场大雨。", "昨天下午下了大雨，大雾。"], title=["台风"] * 2
        )
        features = method(comparison="lcs").features(pages)
        verdict = judge_one(method(comparison="lcs"), features.slice(0, 1), features.slice(1, 1))
        assert verdict.similarity == pytest.approx(8 / 10)

    @given(st.dictionaries(st.integers(0, 2**32 - 1), st.integers(1, 65535)))
    def test_packing(self, counts: dict[int, int]) -> None:
        items = sorted(counts.items())
        words = np.array([word for word, _ in items], np.uint32)
        numbers = np.array([number for _, number in items], np.uint16)
        vectors = content.unpack([content.pack(words, numbers), ""])
        assert vectors.words.tolist() == words.tolist()
        assert vectors.counts.tolist() == numbers.tolist()
        assert vectors.offsets.tolist() == [0, len(items), len(items)]

    def test_nothing_is_like_nothing(self) -> None:
        assert content.common_subsequences(["", "a"], ["", ""]).tolist() == [0.0, 0.0]


class TestVoter:
    def test_the_title_is_the_head(self) -> None:
        features = method().features(page_batch([STORY], title=[TITLE]))
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
        features = guarded.features(pages)
        assert guarded.decidable(features).to_pylist() == [False, True]
        verdict = judge_one(guarded, features.slice(0, 1), features.slice(0, 1))
        assert (verdict.relation, verdict.similarity) == (Relation.UNDECIDED, None)
        assigned = guarded.assign(pa.array(["a", "b"]), features.take([0, 0]), MemoryState())
        assert assigned["match"].to_pylist() == [None, None]
        assert assigned["relation"].to_pylist() == ["undecided", "undecided"]
        assert set(guarded.keys(features)["row"].to_pylist()) == {1}

    def test_pages_without_features_are_undecided_even_as_printed(self) -> None:
        features = method().features(page_batch([""]))
        assert method().decidable(features).to_pylist() == [False]


class TestStores:
    def test_all_values_are_plain_data(self) -> None:
        state = MemoryState()
        pages = page_batch([STORY, STORY, OTHER], title=[TITLE, TITLE, "Budget agreed at last"])
        method().assign(pa.array(["a", "b", "c"]), method().features(pages), state)
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


def assigned_rows(
    chosen: NewsClusters, pages: pa.RecordBatch, state: MemoryState
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = chosen.assign(
        pages["id"], chosen.features(pages), state
    ).to_pylist()
    return rows


EDITED = STORY.replace("at noon", "at midday").replace("Schools stay shut", "Schools are shut")


SOME_WORDS = st.lists(st.sampled_from(["storm", "harbour", "budget", "vote", "bridge", "old"]))


class TestForesight:
    """Compared at once or page by page, the answer is the same."""

    @given(
        st.lists(st.tuples(SOME_WORDS, SOME_WORDS, st.integers(0, 4)), min_size=1, max_size=12),
        st.sampled_from([{}, {"frequent": 2}, {"documents": 2}, {"t": 1}, {"k": 0.3}]),
        st.randoms(use_true_random=False),
    )
    def test_as_page_by_page(
        self,
        drawn: list[tuple[list[str], list[str], int]],
        options: dict[str, object],
        shuffle: Any,
    ) -> None:
        chosen = NewsClusters(NewsClustersOptions(minimum_sentences=0, **options))  # type: ignore[arg-type]
        drawn.sort(key=lambda page: page[2])
        start = datetime(2024, 5, 1, tzinfo=UTC)
        pages = page_batch(
            [" ".join(text) + "." for _, text, _ in drawn],
            title=[" ".join(title) for title, _, _ in drawn],
            time=[start + timedelta(days=day) if day < 4 else None for *_, day in drawn],
        )
        names = [f"p{number}" for number in range(len(drawn))]
        shuffle.shuffle(names)
        ids, features = pa.array(names), chosen.features(pages)
        together, one_by_one = MemoryState(), MemoryState()
        whole = chosen.assign(ids, features, together).to_pylist()
        singly = [
            chosen.assign(ids.slice(row, 1), features.slice(row, 1), one_by_one).to_pylist()[0]
            for row in range(len(ids))
        ]
        assert whole == singly
        for name in ("fingerprints", "documents", "words", "days"):
            remembered = [state.map(f"news-clusters/{name}") for state in (together, one_by_one)]
            assert remembered[0] == remembered[1]

    def test_it_does_not_foresee_what_depends_on_earlier_calls(self) -> None:
        pages = page_batch([STORY, EDITED], title=[TITLE, TITLE])
        features, state = method(x=5).features(pages), MemoryState()
        method(x=5).assign(pa.array(["a"]), features.slice(0, 1), state)
        later = method(x=5).assign(pa.array(["b"]), features.slice(1, 1), state)
        assert later["match"].to_pylist() == ["a"]

    def test_pages_out_of_order_are_compared_page_by_page(self) -> None:
        start = datetime(2024, 5, 1, tzinfo=UTC)
        times = [start + timedelta(days=2), start]
        pages = page_batch([STORY, EDITED], title=[TITLE, TITLE], time=times)
        found = method(x=5).assign(pa.array(["a", "b"]), method().features(pages), MemoryState())
        assert found["match"].to_pylist() == [None, "a"]


class TestWhole:
    """Pages in, clusters out."""

    def pages(self) -> pa.RecordBatch:
        start = datetime(2024, 5, 1, tzinfo=UTC)
        times = [start, start + timedelta(days=1), None, start, start + timedelta(days=30)]
        texts = [STORY, EDITED, OTHER, STORY, OTHER]
        titles = [TITLE, "Harbour shut by storm", "Budget agreed at last", TITLE, "A budget deal"]
        return page_batch(texts, title=titles, time=times)

    def test_the_kinds_of_decision(self) -> None:
        rows = assigned_rows(NewsClusters(), self.pages(), MemoryState())
        assert [row["match"] for row in rows] == [None, "p0", None, "p0", "p2"]
        assert [row["relation"] for row in rows] == [
            *("different", "near", "different", "same", "same"),
        ]
        devices = [json.loads(row["evidence"])["device"] for row in rows]
        assert devices == ["Voter", "Selector", "Voter", "Selector", "Selector"]

    def test_an_edited_page_goes_to_the_comparer(self) -> None:
        words = STORY.replace("Ships had", "The ships had").replace("Nobody was", "No one was")
        edited = words.replace("again from Monday", "from Monday on")
        pages = page_batch([STORY, edited], title=[TITLE, "Storm shuts harbour for a day"])
        rows = assigned_rows(NewsClusters(), pages, MemoryState())
        assert rows[1]["match"] == "p0"
        assert json.loads(rows[1]["evidence"])["device"] == "Comparer"
        for options in ({"comparison": "lcs"}, {"candidates": "all"}, {"candidates": "search"}):
            chosen = NewsClusters(NewsClustersOptions(**options))  # type: ignore[arg-type]
            assert assigned_rows(chosen, pages, MemoryState())[1]["match"] == "p0"

    def test_one_page_at_a_time_is_the_same(self) -> None:
        pages, state = self.pages(), MemoryState()
        single = [assigned_rows(NewsClusters(), pages.slice(row, 1), state)[0] for row in range(5)]
        assert single == assigned_rows(NewsClusters(), pages, MemoryState())

    def test_the_judge_on_two_pages(self) -> None:
        features = NewsClusters().features(self.pages())
        one, edited, other, copy, _ = (features.slice(row, 1) for row in range(5))
        same = judge_one(NewsClusters(), one, copy)
        assert (same.relation, same.similarity) == (Relation.SAME, 1.0)
        near = judge_one(NewsClusters(), one, edited)
        assert (near.relation, near.similarity) == (Relation.NEAR, 3 / 4)
        assert str(near.evidence["why"]).startswith("3 of 4 fingerprints in common; cosine 0.9")
        assert judge_one(NewsClusters(), one, other).relation is Relation.DIFFERENT

    def test_verdicts_are_symmetric(self) -> None:
        features = NewsClusters().features(self.pages())
        backwards = features.take([4, 3, 2, 1, 0])
        left, right = (
            NewsClusters().judge(features, backwards),
            NewsClusters().judge(backwards, features),
        )
        assert left.equals(right)

    def test_keys_are_the_fingerprints(self) -> None:
        features = NewsClusters().features(self.pages())
        keys = NewsClusters().keys(features)
        prints = features["fingerprints"].to_pylist()
        pairs = [(row, value) for row, values in enumerate(prints) for value in values]
        assert list(zip(keys["row"].to_pylist(), keys["key"].to_pylist(), strict=True)) == pairs

    def test_what_an_engine_sees(self) -> None:
        assert isinstance(NewsClusters(), DecidesInOrder)
        assert isinstance(NewsClusters(), Surveys)

    def test_no_pages(self) -> None:
        features = NewsClusters().features(page_batch([]))
        assert NewsClusters().judge(features, features).num_rows == 0
        assert NewsClusters().keys(features).num_rows == 0
        empty = NewsClusters().assign(pa.array([], pa.string()), features, MemoryState())
        assert empty.num_rows == 0

    def test_chinese_pages(self) -> None:
        story = (
            "昨天下午，台风在沿海地区登陆，带来大风和暴雨，港口全部关闭。渔船已经回港。\n"
            "市长表示，目前没有人员伤亡的报告，但是老桥需要很长时间的维修。\n"
            "学校停课一天，火车从星期一起恢复运行。"
        )
        edited = story.replace("港口全部关闭", "全部港口都已关闭").replace("停课一天", "今天停课")
        other = (
            "财政部公布了新的年度预算方案，各方对此反应不一。\n"
            "燃油税将提高一成，面包的税率略有下降，议会下月表决。"
        )
        titles = ["台风登陆沿海地区", "台风登陆，港口关闭_新闻网", "财政部公布年度预算"]
        pages = page_batch([story, edited, other], title=titles, script=["Hani"] * 3)
        rows = assigned_rows(NewsClusters(), pages, MemoryState())
        assert [row["match"] for row in rows] == [None, "p0", None]
