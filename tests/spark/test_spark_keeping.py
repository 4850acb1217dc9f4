"""The page to keep on Spark against `clusters.keeping`."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from neardup.rules.keeping import POLICIES, choose_kept
from neardup.spark.clusters import kept_pages
from spark_runs import GROUP, spark

__all__ = ["spark"]
pytestmark = GROUP


@pytest.mark.parametrize("policy", POLICIES)
def test_the_same_page_is_kept(spark: SparkSession, policy: str) -> None:
    chance = np.random.default_rng(5)
    labels = np.array([0, 0, 0, 3, 3, 5, 5, 5, 5, 9, 9, 9], np.int64)
    urls = [f"http://h{n % 4}.example/{'long/' * int(chance.integers(0, 3))}" for n in range(12)]
    urls[4] = ""
    times = [None if n % 5 == 2 else datetime(2024, 1, 1 + n % 3, tzinfo=UTC) for n in range(12)]
    pages = pa.table(
        {
            "length": pa.array(chance.integers(10, 14, 12)),
            "time": pa.array(times, pa.timestamp("us", "UTC")),
            "url": urls,
            "canonical_url": [urls[n - n % 2] if n % 3 else "" for n in range(12)],
        }
    )
    expected = choose_kept(policy, pages, labels)
    rows = [
        (number, int(labels[number]), *row.values()) for number, row in enumerate(pages.to_pylist())
    ]
    names = "number long, label long, length long, time timestamp, url string, canonical_url string"
    found = kept_pages(policy, spark.createDataFrame(rows, names).repartition(3)).collect()
    assert {row["number"]: row["kept"] for row in found} == dict(enumerate(expected.tolist()))
