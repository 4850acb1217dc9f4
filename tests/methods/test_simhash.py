"""simhash: the vote by hand, and tables that find every pair within k bits."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference import hamming as plain_hamming
from kernels.reference.shingles import mix
from kernels.reference.simhash import simhash as plain_simhash
from kernels.reference.tokens import token_hash
from neardup.config import build_options
from neardup.errors import UsageError
from neardup.methods.simhash import Simhash, SimhashOptions
from neardup.model import Relation
from neardup.text.views import View
from page_batches import judge_one, page_batch, pair_set

WORDS = [f"word{number}" for number in range(400)]


def method(**values: object) -> Simhash:
    return Simhash(build_options(SimhashOptions, values, owner="simhash"), View.WHOLE)


def rows(fingerprints: list[int], tokens: int = 100) -> pa.RecordBatch:
    count = len(fingerprints)
    columns = [list(range(count)), [tokens] * count, fingerprints]
    return pa.record_batch(
        [
            pa.array(each, kind)
            for each, kind in zip(columns, Simhash().feature_schema.types, strict=True)
        ],
        schema=Simhash().feature_schema,
    )


@st.composite
def near_values(draw: st.DrawFn) -> list[int]:
    centre = draw(st.integers(0, 2**64 - 1))
    flips = draw(st.lists(st.sets(st.integers(0, 63), max_size=6), max_size=10))
    return [centre ^ sum(1 << bit for bit in flipped) for flipped in flips]


def test_every_bit_is_the_vote_of_the_words_by_their_counts() -> None:
    text = "tea tea milk"
    features = method(minimum_tokens=1).describe(page_batch([text]))
    votes = [mix(token_hash(word)) for word in text.split()]
    assert features["fingerprint"].to_pylist() == [plain_simhash(votes)]
    assert plain_simhash(votes) == votes[0]  # two votes of three: tea alone decides


def test_a_small_edit_moves_few_bits_and_another_text_half_of_them() -> None:
    edited = [*WORDS[:200], "changed", *WORDS[201:]]
    other = [word + "x" for word in WORDS]
    texts = [" ".join(words) for words in (WORDS, edited, other)]
    features = method().describe(page_batch(texts))
    near = judge_one(method(), features.slice(0, 1), features.slice(1, 1))
    far = judge_one(method(), features.slice(0, 1), features.slice(2, 1))
    assert near.relation is Relation.NEAR
    assert near.evidence["bits"] <= 3
    assert far.relation is Relation.DIFFERENT
    assert 20 <= far.evidence["bits"] <= 44


def test_verdicts_by_hand() -> None:
    features = rows([0b0000, 0b0111, 0b1111])
    at_three = judge_one(method(), features.slice(0, 1), features.slice(1, 1))
    at_four = judge_one(method(), features.slice(0, 1), features.slice(2, 1))
    assert (at_three.relation, at_three.similarity) == (Relation.NEAR, 1 - 3 / 64)
    assert (at_four.relation, at_four.similarity) == (Relation.DIFFERENT, 1 - 4 / 64)
    assert at_four.evidence["why"] == "4 of 64 bits differ, 3 may"


@given(near_values(), st.integers(0, 7))
def test_candidates_are_all_pairs_within_k(values: list[int], k: int) -> None:
    found = pair_set(method(k=k).search(pa.Table.from_batches([rows(values)])))
    assert found == set(plain_hamming.pairs_within(values, k))


@given(near_values(), st.integers(0, 7))
def test_pairs_within_k_share_a_key(values: list[int], k: int) -> None:
    batch = method(k=k).keys(rows(values))
    keys = [set[int]() for _ in values]
    for row, key in zip(batch["row"].to_pylist(), batch["key"].to_pylist(), strict=True):
        keys[row].add(key)
    assert all(keys[i] & keys[j] for i, j in plain_hamming.pairs_within(values, k))


def test_the_default_keys_are_the_twenty_tables_of_the_paper() -> None:
    assert method().keys(rows([1])).num_rows == 20


def test_undecided_pages_are_in_no_pair_though_their_fingerprints_are_equal() -> None:
    table = pa.Table.from_batches([rows([5, 5], tokens=3)])
    assert method().search(table).num_rows == 0
    assert method(minimum_tokens=1).search(table).num_rows == 1


@pytest.mark.parametrize("k", [-1, 8])
def test_k_out_of_reach_is_a_clear_error(k: int) -> None:
    with pytest.raises(UsageError, match="'k' of simhash"):
        method(k=k)


def test_a_hundred_thousand_values_with_planted_neighbours() -> None:
    random = np.random.default_rng(7)
    values = random.integers(0, 2**64, 100_000, np.uint64)
    planted = {(2 * i, 2 * i + 1) for i in range(1_000) if i % 5 <= 3}
    for i in range(1_000):
        bits = random.choice(64, i % 5, replace=False)
        values[2 * i + 1] = values[2 * i] ^ np.uint64(sum(1 << int(bit) for bit in bits))
    batch = rows([int(value) for value in values])
    assert pair_set(method().search(pa.Table.from_batches([batch]))) == planted
