"""Connected components on Spark against the kernel of the local engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from neardup.kernels.grouping import connected_components
from neardup.spark.components import component_labels
from neardup.spark.work import Work
from spark_runs import GROUP, Rows, pairs_frame, spark, work

__all__ = ["spark", "work"]
pytestmark = GROUP


def labels(spark: SparkSession, work: Work, left: Rows, right: Rows, most: int) -> dict[int, int]:
    edges = pairs_frame(spark, np.minimum(left, right), np.maximum(left, right))
    found = component_labels(edges, work, "test", in_one_task=most).collect()
    assert len({row["number"] for row in found}) == len(found)  # each page once
    return {row["number"]: row["label"] for row in found}


def expected(left: Rows, right: Rows) -> dict[int, int]:
    both = np.unique(np.concatenate([left, right]))
    label = connected_components(int(both.max()) + 1, left, right)
    return {int(page): int(label[page]) for page in both}


@pytest.mark.parametrize("most", [0, 10**6])
def test_random_pairs(spark: SparkSession, work: Work, most: int) -> None:
    chance = np.random.default_rng(7)
    left = chance.integers(0, 900, 600)
    right = (left + chance.integers(1, 900, 600)) % 1800
    assert labels(spark, work, left, right, most) == expected(left, right)


def test_a_long_chain_takes_few_rounds(spark: SparkSession, work: Work) -> None:
    order = np.random.default_rng(3).permutation(3000)
    found = labels(spark, work, order[:-1], order[1:], 0)
    assert set(found.values()) == {0}
    assert len(found) == 3000
    rounds = list(Path(work.folder).glob("test-*"))  # each is kept in the work folder
    assert 2 <= len(rounds) <= 13  # the chain is 2,999 long


def test_no_pairs(spark: SparkSession, work: Work) -> None:
    nothing = np.empty(0, np.int64)
    edges = pairs_frame(spark, nothing, nothing)
    assert component_labels(edges, work, "test").collect() == []
