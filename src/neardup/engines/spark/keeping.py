"""Which page of a cluster is kept: the policies of `clusters.keeping`, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from neardup.engines.spark.columns import spark_schema
from neardup.pages.url import canonicalise

NAMED = pa.schema([("number", pa.int64()), ("target", pa.string())])
LAST = float("inf")


def kept_pages(policy: str, pages: DataFrame) -> DataFrame:
    """number, label and kept of every page; `pages` has label and what policies look at.

    The first by the policy is kept; what it leaves open is decided by the number.
    """
    ordered = (
        _by_votes(pages) if policy == "canonical" else pages.withColumn("order", _ORDERS[policy]())
    )
    best = f.min_by("number", f.struct("order", "number")).alias("kept")
    kept = ordered.groupBy("label").agg(best)
    return pages.select("number", "label").join(kept, "label").select("number", "label", "kept")


def _microseconds() -> Column:
    return f.unix_micros("time").cast("double")


_ORDERS = {
    "longest": lambda: -f.col("length"),
    "first": lambda: f.lit(0),
    "newest": lambda: f.coalesce(-_microseconds(), f.lit(LAST)),
    "oldest": lambda: f.coalesce(_microseconds(), f.lit(LAST)),
}


def _by_votes(pages: DataFrame) -> DataFrame:
    """The page whose URL most members name as canonical, then the shortest URL."""
    votes = pages.where("canonical_url != ''").groupBy("label", "canonical_url").count()
    votes = votes.select("label", f.col("canonical_url").alias("target"), "count")
    targets = (
        pages.where("url != ''").select("number", "url").mapInArrow(_named, spark_schema(NAMED))
    )
    voted = pages.join(targets, "number", "left").join(votes, ["label", "target"], "left")
    wins = f.when(f.col("url") == "", -1).otherwise(f.coalesce("count", f.lit(0)))
    length = f.least(f.length("url"), f.lit(999_999))
    return voted.withColumn("order", -wins * 1e6 + length)


def _named(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        targets = pa.array([canonicalise(url) for url in batch["url"].to_pylist()], pa.string())
        yield pa.record_batch([batch["number"], targets], schema=NAMED)
