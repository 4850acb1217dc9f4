"""chunk-hash: every kind of chunk by hand."""

from __future__ import annotations

from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference.set_join import resemblance
from kernels.reference.shingles import document_hash
from kernels.reference.tokens import token_hash, tokens
from neardup.config import build_options
from neardup.methods.chunk_hash import ChunkHash, ChunkHashOptions, sentence_pieces
from neardup.model import Relation, Verdict
from page_batches import judge_one, page_batch, pair_set

TEXT = "The tea is hot. The milk is cold!\nSugar is sweet. The tea is hot."
SHORT = {"minimum_chunk": 1, "minimum_tokens": 1}


def method(**values: object) -> ChunkHash:
    return ChunkHash(build_options(ChunkHashOptions, {**SHORT, **values}, owner="chunk-hash"))


def chunk(text: str) -> int:
    return document_hash([token_hash(token) for token in tokens(text.lower())])


def chunks_of(kind: str, text: str = TEXT, **values: object) -> set[int]:
    features = method(chunk=kind, **values).describe(page_batch(["", text]))
    assert features["chunks"].to_pylist()[0] == []
    return set(features["chunks"].to_pylist()[1])


def verdict(one: str, two: str, **values: object) -> Verdict:
    chosen = method(**values)
    features = chosen.describe(page_batch([one, two]))
    return judge_one(chosen, features.slice(0, 1), features.slice(1, 1))


def test_words() -> None:
    assert chunks_of("word") == {
        token_hash(word) for word in tokens("the tea is hot milk cold sugar sweet")
    }


def test_sentences() -> None:
    sentences = ["the tea is hot", "the milk is cold", "sugar is sweet"]
    assert chunks_of("sentence") == {chunk(each) for each in sentences}


def test_paragraphs() -> None:
    assert chunks_of("paragraph") == {chunk(line) for line in TEXT.split("\n")}


def test_the_whole_text() -> None:
    assert chunks_of("text") == {chunk(TEXT)}


def test_short_chunks_are_left_out() -> None:
    assert chunks_of("sentence", minimum_chunk=4) == {
        chunk("the tea is hot"),
        chunk("the milk is cold"),
    }
    assert chunks_of("sentence", minimum_chunk=5) == set()


def test_sentences_are_cut_before_letters_lose_their_case() -> None:
    pieces, counts = sentence_pieces(pa.array(["", "It is v. good. Yes.", "一。二！"]))
    assert pieces.to_pylist() == ["It is v. good.", "Yes.", "一。", "二！"]
    assert counts.tolist() == [0, 2, 2]
    of_slice, _ = sentence_pieces(pa.array(["Skipped.", "Kept."]).slice(1))
    assert of_slice.to_pylist() == ["Kept."]


def test_share_in_common_by_hand() -> None:
    found = verdict(TEXT, "The milk is cold. Sugar is sweet. Bread is old.", chunk="sentence")
    assert found.similarity == 2 / 4
    assert found.relation is Relation.NEAR
    assert found.evidence["why"] == "2 of 4 distinct sentences are on both pages"
    assert (
        verdict(TEXT, "Sugar is sweet. Bread is old.", chunk="sentence").relation
        is Relation.DIFFERENT
    )


def test_one_letter_breaks_the_whole_text_but_one_chunk_of_many() -> None:
    edited = TEXT.replace("sweet", "brown")
    assert verdict(TEXT, edited, chunk="text").similarity == 0
    assert verdict(TEXT, edited, chunk="sentence").similarity == 2 / 4
    assert verdict(TEXT, edited, chunk="word").similarity == 7 / 9


def test_chinese_sentences() -> None:
    one = "今天的天气很好。我们去公园散步。"
    found = verdict(one, one.replace("散步", "跑步"), chunk="sentence")
    assert found.similarity == 1 / 3


@given(
    st.lists(st.lists(st.sampled_from(["One cat", "Two dogs", "Red ink", "Big sky"]), max_size=5)),
    st.sampled_from([0.3, 0.5, 1.0]),
    st.sampled_from(["word", "sentence", "paragraph"]),
)
def test_candidates_and_keys_miss_no_pair(
    pages: list[list[str]], threshold: float, kind: str
) -> None:
    chosen = method(chunk=kind, threshold=threshold)
    features = chosen.describe(page_batch([".\n".join(each) for each in pages]))
    sets = features["chunks"].to_pylist()
    near = {
        (i, j)
        for (i, a), (j, b) in combinations(enumerate(sets), 2)
        if resemblance(a, b) >= threshold
    }
    assert near <= pair_set(chosen.search(pa.Table.from_batches([features])))
    keys = chosen.keys(features).to_pylist()
    of = [{each["key"] for each in keys if each["row"] == row} for row in range(len(sets))]
    assert all(of[i] & of[j] for i, j in near)


@pytest.mark.parametrize("kind", ["word", "sentence", "paragraph", "text"])
def test_no_pages(kind: str) -> None:
    assert method(chunk=kind).describe(page_batch([])).num_rows == 0
