"""The page to keep on Spark against `clusters.keeping`."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from neardup.pages.urls import canonicalise
from neardup.rules.keeping import POLICIES, JudgedPairs, choose_kept
from neardup.spark.keeping import kept_pages
from spark_runs import GROUP, spark

__all__ = ["spark"]
pytestmark = GROUP


@pytest.mark.parametrize(
    ("policy", "timed", "linked", "seed"),
    [
        *((policy, True, True, 5) for policy in POLICIES),
        *(("original", timed, linked, 6) for timed, linked in product([True, False], repeat=2)),
        *(("original", False, False, seed) for seed in range(7, 10)),
    ],
)
def test_the_same_page_is_kept(
    spark: SparkSession, policy: str, timed: bool, linked: bool, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    labels = np.array([0, 0, 0, 3, 3, 5, 5, 5, 5, 9, 9, 9], np.int64)
    urls = [f"http://h{n % 4}.example/{'long/' * int(chance.integers(0, 3))}" for n in range(12)]
    urls[4] = ""
    times = [None if n % 5 == 2 else datetime(2024, 1, 1 + n % 3, tzinfo=UTC) for n in range(12)]
    pages = pa.table(
        {
            "length": pa.array(chance.integers(10, 14, 12)),
            "time": pa.array(times, pa.timestamp("us", "UTC")),
            "observed": pa.array([n % 3 > 0 if n % 7 else None for n in range(12)]),
            "url": urls,
            "canonical_url": [canonicalise(urls[n - n % 2]) if n % 3 else "" for n in range(12)],
        }
    )
    if not timed:
        pages = pages.set_column(1, "time", pa.nulls(12, pages["time"].type))
    if not linked:
        pages = pages.set_column(4, "canonical_url", pa.array([""] * 12))
    left, right = np.triu_indices(12, 1)
    similarities = chance.choice([np.nan, 0.8, 0.9, 0.95, 1.0], left.size)
    judged = JudgedPairs(left, right, similarities)
    expected = choose_kept(policy, pages, labels, judged)
    rows = [
        (number, int(labels[number]), *row.values()) for number, row in enumerate(pages.to_pylist())
    ]
    names = (
        "number long, label long, length long, time timestamp, observed boolean, url string, "
        "canonical_url string"
    )
    table = spark.createDataFrame(rows, names).repartition(3)
    similar = [None if np.isnan(each) else float(each) for each in similarities]
    pairs = list(zip(left.tolist(), right.tolist(), similar, strict=True))
    verdicts = spark.createDataFrame(pairs, "left long, right long, similarity double")
    found = kept_pages(policy, table, verdicts).collect()
    assert {row["number"]: row["kept"] for row in found} == dict(enumerate(expected.tolist()))
