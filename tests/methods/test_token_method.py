"""What all methods over tokens share: verdicts, undecided pages, batches of any size."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.arrays import large_list_array, ragged
from neardup.methods.base import searcher
from neardup.methods.chunk_hash import ChunkHash
from neardup.methods.i_match import IMatch
from neardup.methods.minhash import Minhash
from neardup.methods.simhash import Simhash
from neardup.methods.spotsigs import SpotSigs
from neardup.methods.supershingle import Supershingle
from neardup.methods.token_method import TokenMethod, page_tokens
from neardup.model import Relation
from page_batches import judge_one, judge_rows, page_batch, pair_set

METHODS: list[TokenMethod] = [
    Simhash(),
    Minhash(),
    Supershingle(),
    IMatch(),
    SpotSigs(),
    ChunkHash(),
]
ENGLISH = (
    "The harbour was closed on a Monday because the ice had come early. "
    "A pilot said that the last ship is still waiting in the bay, and the crew have food. "
    "It will be the first winter that the town can not trade with the islands."
)
CHINESE = (
    "港口在星期一关闭了，因为今年的冰来得很早。引航员说最后的一艘船还在海湾里等待，"
    "船员的食物是足够的。这将是小镇和群岛第一个不能通商的冬天，也是最长的一个。"
)
OTHER = (
    "Bread needs flour, water, salt and time. The dough is folded by hand, and a cold night does "
    "the rest. Bakers have told that the oven can be too hot, but it was never too slow."
)
every_method = pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)


@every_method
@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
def test_a_page_is_the_same_as_itself_in_other_clothes(method: TokenMethod, text: str) -> None:
    dressed = text.replace(" ", "\u00a0").replace(",", "，").upper()
    features = method.describe(page_batch([text, dressed], script=["Latn", "Latn"]))
    if text is CHINESE:
        features = method.describe(page_batch([text, text + " "], script=["Hani", "Hani"]))
    verdict = judge_one(method, features.slice(0, 1), features.slice(1, 1))
    assert verdict.relation is Relation.SAME
    assert verdict.similarity == 1
    assert "tokens are the same" in verdict.evidence["why"]


@every_method
def test_pages_with_nothing_in_common_are_different_both_ways(method: TokenMethod) -> None:
    features = method.describe(page_batch([ENGLISH, OTHER], script=["Latn", "Latn"]))
    one = judge_one(method, features.slice(0, 1), features.slice(1, 1))
    two = judge_one(method, features.slice(1, 1), features.slice(0, 1))
    assert one.relation is two.relation is Relation.DIFFERENT
    assert one.similarity == two.similarity


@every_method
def test_too_little_text_is_undecided_and_has_no_keys(method: TokenMethod) -> None:
    features = method.describe(page_batch(["", "Too short", "!?", ENGLISH]))
    assert method.decidable(features).to_pylist() == [False, False, False, True]
    assert set(method.keys(features)["row"].to_pylist()) == {3}
    verdict = judge_one(method, features.slice(1, 1), features.slice(1, 1))
    assert verdict.relation is Relation.UNDECIDED
    assert verdict.similarity is None
    assert verdict.evidence["why"].startswith("too little text to tell")
    if (searches := searcher(method)) is not None:
        twice = pa.Table.from_batches([features, features])
        assert pair_set(searches.search(twice)) == {(3, 7)}


@every_method
def test_features_do_not_depend_on_the_batch(method: TokenMethod) -> None:
    texts = [ENGLISH, "", CHINESE, OTHER, "e\u0301 cafe\u0301 " + OTHER]
    pages = page_batch(texts, script=["Latn", "", "Hani", "Latn", "Latn"])
    whole = method.describe(pages)
    one_by_one = [method.describe(pages.slice(row, 1)) for row in range(len(texts))]
    assert pa.Table.from_batches(one_by_one).combine_chunks() == pa.Table.from_batches([whole])
    keys = [key for part in one_by_one for key in method.keys(part)["key"].to_pylist()]
    assert keys == method.keys(whole)["key"].to_pylist()


@every_method
def test_no_pages_give_no_rows(method: TokenMethod) -> None:
    features = method.describe(page_batch([]))
    assert features.schema == method.row_schema
    assert features.num_rows == method.keys(features).num_rows == 0
    assert judge_rows(method, features, features).num_rows == 0
    if (searches := searcher(method)) is not None:
        assert searches.search(pa.Table.from_batches([features])).num_rows == 0


@every_method
def test_a_copy_shares_a_key_and_is_a_candidate(method: TokenMethod) -> None:
    features = method.describe(page_batch([OTHER, ENGLISH, ENGLISH]))
    keys = method.keys(features).to_pylist()
    of = {row: {each["key"] for each in keys if each["row"] == row} for row in range(3)}
    assert of[1] & of[2]
    if (searches := searcher(method)) is not None:
        assert (1, 2) in pair_set(searches.search(pa.Table.from_batches([features])))


@given(st.lists(st.lists(st.integers(0, 2**64 - 1)), max_size=5), st.integers(0, 5))
def test_list_columns_come_back_from_any_slice(rows: list[list[int]], start: int) -> None:
    column = pa.array(rows, pa.large_list(pa.uint64()))
    back = large_list_array(*ragged(column.slice(start)))
    assert back.to_pylist() == rows[start:]
    assert back.type == column.type


def test_tokens_are_those_of_the_folded_text() -> None:
    one, two = (
        page_tokens(pa.array([text])) for text in ("ＡＢＣ 網頁 café", "abc 网页 CAFE\u0301")
    )
    assert one.values.tolist() == two.values.tolist()
    assert one.sizes.tolist() == [4]
