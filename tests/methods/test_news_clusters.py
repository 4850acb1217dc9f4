"""`news-clusters` (Liang & Wen): from pages to features, and the whole method."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from neardup.methods.base import InOrder, MemoryState
from neardup.methods.news_clusters import extractor
from neardup.methods.news_clusters.method import NewsClusters
from neardup.methods.news_clusters.stores import NewsClustersOptions
from neardup.model import Relation
from neardup.text.views import View
from news_pages import (
    EDITED,
    FIRST,
    OTHER,
    SHORT,
    STORY,
    THIRD,
    TITLE,
    assigned_rows,
    hashed,
    method,
)
from page_batches import judge_one, judge_rows, page_batch

SOME_WORDS = st.lists(st.sampled_from(["storm", "harbour", "budget", "vote", "bridge", "old"]))


class TestExtractor:
    def fingerprints(self, title: str, text: str, **options: object) -> list[int]:
        features = method(**options).describe(page_batch([text], title=[title]))
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
        words = method().describe(pages)["title_words"].to_pylist()
        assert words == [["爱", "北京", "天安门"], ["storm", "year"]]

    def test_the_longest_sentence_stands_in_for_a_title(self) -> None:
        pages = page_batch([STORY])
        assert method().describe(pages)["title_words"].to_pylist() == [[]]
        words = method(stand_in=True).describe(pages)["title_words"].to_pylist()[0]
        assert words == ["hurt", "mayor", "said", "old", "bridge", "need", "lot", "repairs"]

    def test_batches_do_not_matter(self) -> None:
        pages = page_batch([STORY, "", OTHER], title=[TITLE, "", "Budget"])
        for options in ({}, {"comparison": "lcs"}, {"features": "slices"}):
            whole = method(**options).describe(pages)
            parts = [method(**options).describe(pages.slice(row, 1)) for row in range(3)]
            assert whole.to_pylist() == [part.to_pylist()[0] for part in parts]


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
        ids, features = pa.array(names), chosen.describe(pages)
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
        features, state = method(x=5).describe(pages), MemoryState()
        method(x=5).assign(pa.array(["a"]), features.slice(0, 1), state)
        later = method(x=5).assign(pa.array(["b"]), features.slice(1, 1), state)
        assert later["match"].to_pylist() == ["a"]

    def test_pages_out_of_order_are_compared_page_by_page(self) -> None:
        start = datetime(2024, 5, 1, tzinfo=UTC)
        times = [start + timedelta(days=2), start]
        pages = page_batch([STORY, EDITED], title=[TITLE, TITLE], time=times)
        found = method(x=5).assign(pa.array(["a", "b"]), method().describe(pages), MemoryState())
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
        features = NewsClusters().describe(self.pages())
        one, edited, other, copy, _ = (features.slice(row, 1) for row in range(5))
        same = judge_one(NewsClusters(), one, copy)
        assert (same.relation, same.similarity) == (Relation.SAME, 1.0)
        near = judge_one(NewsClusters(), one, edited)
        assert (near.relation, near.similarity) == (Relation.NEAR, 3 / 4)
        assert str(near.evidence["why"]).startswith("3 of 4 fingerprints in common; cosine 0.9")
        assert judge_one(NewsClusters(), one, other).relation is Relation.DIFFERENT

    def test_verdicts_are_symmetric(self) -> None:
        features = NewsClusters().describe(self.pages())
        backwards = features.take([4, 3, 2, 1, 0])
        left, right = (
            judge_rows(NewsClusters(), features, backwards),
            judge_rows(NewsClusters(), backwards, features),
        )
        assert left.equals(right)

    def test_keys_are_the_fingerprints(self) -> None:
        features = NewsClusters().describe(self.pages())
        keys = NewsClusters().keys(features)
        prints = features["fingerprints"].to_pylist()
        pairs = [(row, value) for row, values in enumerate(prints) for value in values]
        assert list(zip(keys["row"].to_pylist(), keys["key"].to_pylist(), strict=True)) == pairs

    def test_what_an_engine_sees(self) -> None:
        assert isinstance(NewsClusters().candidate_source, InOrder)
        assert NewsClusters().view is View.OWN

    def test_no_pages(self) -> None:
        features = NewsClusters().describe(page_batch([]))
        assert judge_rows(NewsClusters(), features, features).num_rows == 0
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
