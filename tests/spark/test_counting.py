"""What Spark counts over all pages: every page is given the count of each of its keys."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from neardup.kernels.shingles import mix_all
from neardup.schemas import COUNTS
from neardup.spark.features import MOST_COUNTS, Counting, Surveyor
from neardup.spark.records import CHUNK
from neardup.spark.work import Work
from neardup.text.sites import Keys, Survey
from spark_runs import GROUP, spark, work

__all__ = ["spark", "work"]
pytestmark = GROUP


@pytest.mark.parametrize("broadcast_counts", [MOST_COUNTS, 0], ids=["to all", "by chunks"])
def test_every_page_is_given_the_counts_over_all(
    spark: SparkSession, work: Work, broadcast_counts: int
) -> None:
    """Pages come in many partitions, and those of a chunk have keys in common."""
    schema = pa.schema([("place", pa.int64()), ("count", pa.int64())])

    def keys_of(pages: pa.Array) -> Keys:
        return mix_all(np.array([int(page) for page in pages.to_pylist()], np.uint64))

    def count(pages: pa.Array) -> pa.RecordBatch:
        return pa.record_batch([*np.unique(keys_of(pages), return_counts=True)], schema=COUNTS)

    def lookups(pages: pa.Array) -> Keys:
        keys: Keys = np.unique(keys_of(pages))
        return keys

    def with_count(batch: pa.RecordBatch, survey: Survey) -> pa.RecordBatch:
        return pa.record_batch(
            [batch["place"], survey.count(keys_of(batch["page"]))], schema=schema
        )

    values = np.random.default_rng(0).zipf(1.5, 3 * CHUNK // 2) % 300
    rows = [(place, str(value)) for place, value in enumerate(values)]
    pages = spark.createDataFrame(rows, "place long, page string").repartition(8)
    surveyor = Surveyor(len(rows), work, {}, broadcast_counts)
    counted = surveyor.map(Counting("counts", count, lookups), pages, with_count, schema)
    expected = Counter(values.tolist())
    assert {row.place: row["count"] for row in counted.collect()} == {
        place: expected[value] for place, value in enumerate(values.tolist())
    }
