"""Candidate pairs on Spark against `rules.candidates`, hot keys and all."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from neardup.rules import candidates as rule
from neardup.spark import candidates
from neardup.spark.columns import spark_schema
from neardup.spark.work import Work
from spark_runs import GROUP, Rows, spark, work

__all__ = ["spark", "work"]
pytestmark = GROUP

PAGES = 3000


def keys_with_a_hot_one() -> tuple[Rows, NDArray[np.uint64]]:
    """Every page has a few keys; a tenth of them share one, half another, some have one twice."""
    chance = np.random.default_rng(11)
    rows = np.concatenate(
        [
            chance.integers(0, PAGES, 4000),
            np.arange(0, PAGES, 10),
            np.arange(PAGES // 2),
            np.arange(0, PAGES // 2, 3),
            np.arange(100, 356),  # as many as may be before a key is hot
            np.arange(700, 957),  # one more than that
        ]
    )
    keys = np.concatenate(
        [
            chance.integers(10, 1500, 4000),
            np.full(PAGES // 10, 1),
            np.full(PAGES // 2, 2**63 + 5),
            np.full(PAGES // 6, 2**63 + 5),
            np.full(256, 3),
            np.full(257, 4),
        ]
    ).astype(np.uint64)
    return rows, keys


def frame(spark: SparkSession, rows: Rows, keys: NDArray[np.uint64], size: int) -> DataFrame:
    table = pa.table([keys.view(np.int64), rows // size, rows], schema=candidates.KEYED)
    return spark.createDataFrame(table.to_pandas(), spark_schema(candidates.KEYED)).repartition(3)


def packed(spark: SparkSession, rows: Rows, keys: NDArray[np.uint64]) -> DataFrame:
    """The keys as a run packs them, in three parts and few buckets."""
    parts = [candidates.packed_keys([(keys[n::3], rows[n::3])], 2) for n in range(3)]
    table = pa.Table.from_batches(parts).to_pandas()
    return spark.createDataFrame(table, spark_schema(candidates.PACKED_KEYS)).repartition(3)


def shared_by_pair(pairs: DataFrame) -> dict[tuple[int, int], int]:
    counted: dict[tuple[int, int], int] = {}
    for row in pairs.collect():
        pair = row["left"], row["right"]
        counted[pair] = counted.get(pair, 0) + row["shared"]
    return counted


def expected(rows: Rows, keys: NDArray[np.uint64]) -> dict[tuple[int, int], int]:
    left, right, shared = rule.pairs_sharing_keys(rows, keys)
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    return dict(zip(pairs, shared.tolist(), strict=True))


def test_pairs_of_whole_buckets(spark: SparkSession, work: Work) -> None:
    rows, keys = keys_with_a_hot_one()
    pairs = candidates.sharing_keys(packed(spark, rows, keys), work)
    assert shared_by_pair(pairs) == expected(rows, keys)


@pytest.mark.parametrize("size", [300, 1000])
@pytest.mark.parametrize("most", [0, 3000], ids=["all large", "some large"])
def test_pairs_of_large_buckets(spark: SparkSession, work: Work, size: int, most: int) -> None:
    rows, keys = keys_with_a_hot_one()
    pairs = candidates.sharing_keys(
        packed(spark, rows, keys), work, keys_of_a_bucket=most, range_size=size
    )
    assert shared_by_pair(pairs) == expected(rows, keys)


def test_no_task_gets_more_of_a_key_than_a_range(spark: SparkSession, work: Work) -> None:
    """A key of all pages: what it sends over the edges is bounded, too."""
    rows, keys = np.arange(PAGES), np.full(PAGES, 9, np.uint64)
    candidates._over_ranges(frame(spark, rows, keys, 500), work)
    sent = spark.read.parquet(f"{work.folder}/ranged").where("left is null").count()
    assert sent == 2 * rule.REACH * PAGES // 500


def test_pairs_with_the_first(spark: SparkSession) -> None:
    rows, keys = keys_with_a_hot_one()
    left, right = rule.pairs_with_first(rows, keys)
    found = candidates._with_first(frame(spark, rows, keys, 300)).distinct().collect()
    pairs = {(row["left"], row["right"]) for row in found}
    assert pairs == set(zip(left.tolist(), right.tolist(), strict=True))


def test_chance_pairs(spark: SparkSession) -> None:
    rows, keys = keys_with_a_hot_one()
    left, right, shared = rule.pairs_sharing_keys(rows, keys)
    few = rule.worth_judging([(rule.packed(left, right), shared)], PAGES, 2)
    few_left, few_right = rule.unpacked(few)
    table = pa.table([left, right, shared], schema=candidates.SHARING)
    pairs = spark.createDataFrame(table.to_pandas(), spark_schema(candidates.SHARING))
    found = candidates.without_most_single_key_pairs(pairs.repartition(3), 2).collect()
    assert {(row["left"], row["right"]) for row in found} == set(
        zip(few_left.tolist(), few_right.tolist(), strict=True)
    )
