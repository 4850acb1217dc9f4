"""supershingle: 84 samples in 6 super shingles, 15 megashingles, 2 in common."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference import minhash as plain
from kernels.reference.shingles import shingle_hashes
from kernels.reference.tokens import token_hash
from neardup.config import build_options
from neardup.errors import UsageError
from neardup.methods.supershingle import Supershingle, SupershingleOptions, megashingles
from neardup.model import Relation, Verdict
from page_batches import judge_one, page_batch

WORDS = [f"word{number}" for number in range(200)]
six = st.lists(st.integers(0, 3), min_size=6, max_size=6)


def method(**values: object) -> Supershingle:
    return Supershingle(build_options(SupershingleOptions, values, owner="supershingle"))


def rows(supershingles: list[list[int]]) -> pa.RecordBatch:
    count = len(supershingles)
    return pa.record_batch(
        [
            pa.array(range(count), pa.uint64()),
            pa.array([100] * count, pa.int64()),
            pa.array(supershingles, pa.list_(pa.uint64(), 6)),
        ],
        schema=method().feature_schema,
    )


def verdict(one: list[int], two: list[int]) -> Verdict:
    features = rows([one, two])
    return judge_one(method(), features.slice(0, 1), features.slice(1, 1))


def test_a_super_shingle_is_a_hash_of_fourteen_samples() -> None:
    features = method().describe(page_batch([" ".join(WORDS)]))
    shingles = shingle_hashes([token_hash(word) for word in WORDS], 5)
    samples = plain.permutations(shingles, 84)
    assert features["supershingles"].to_pylist() == [plain.group_hashes(samples, 14)]


def test_two_in_common_of_six_are_near_and_one_is_not() -> None:
    two = verdict([1, 2, 3, 4, 5, 6], [1, 2, 9, 9, 9, 9])
    one = verdict([1, 2, 3, 4, 5, 6], [1, 9, 9, 9, 9, 9])
    assert (two.relation, two.similarity) == (Relation.NEAR, 2 / 6)
    assert (one.relation, one.similarity) == (Relation.DIFFERENT, 1 / 6)
    assert one.evidence["why"] == "1 of 6 super shingles are equal"


def test_super_shingles_at_other_places_do_not_count() -> None:
    assert verdict([1, 2, 3, 4, 5, 6], [2, 1, 9, 9, 9, 9]).similarity == 0


@given(six, six)
def test_sharing_a_megashingle_is_the_verdict(one: list[int], two: list[int]) -> None:
    placed = [[value * 10 + place for place, value in enumerate(row)] for row in (one, two)]
    keys = megashingles(np.array(placed, np.uint64), 2)
    assert keys.shape == (2, 15)
    share = bool(set(keys[0].tolist()) & set(keys[1].tolist()))
    assert share == (sum(a == b for a, b in zip(one, two, strict=True)) >= 2)


def test_an_edit_of_one_word_in_a_long_page_is_near() -> None:
    long = [f"word{number}" for number in range(2_000)]
    edited = [*long[:1_000], "changed", *long[1_001:]]
    features = method().describe(page_batch([" ".join(long), " ".join(edited)]))
    assert judge_one(method(), features.slice(0, 1), features.slice(1, 1)).relation is Relation.NEAR


def test_more_in_common_than_there_are_is_an_error() -> None:
    with pytest.raises(UsageError, match="7 in common of 6"):
        method(common=7)
