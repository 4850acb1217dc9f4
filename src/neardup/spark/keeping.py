"""The page to keep of each cluster, as `rules.keeping` chooses it, by tables."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from neardup.pages.urls import canonicalise
from neardup.rules.candidates import REACH
from neardup.rules.keeping import AS_IF_CONTAINED, SIMILARITY_UNITS
from neardup.spark.columns import map_batches, renamed

NAMED = pa.schema([("number", pa.int64()), ("target", pa.string())])
LAST = float("inf")


def kept_pages(policy: str, pages: DataFrame, verdicts: DataFrame) -> DataFrame:
    """number, label and kept of every page; `pages` has label and what policies look at.

    The first by the policy is kept; what it leaves open is decided by the number.
    """
    if policy == "original":
        ordered = _originals_first(pages, verdicts)
    elif policy == "canonical":
        ordered = _by_votes(pages)
    else:
        ordered = pages.withColumn("order", _ORDERS[policy]())
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


def _originals_first(pages: DataFrame, verdicts: DataFrame) -> DataFrame:
    """The rule of `keeping._original`, with the same arithmetic."""
    sides = verdicts.select("left", "right", f.coalesce("similarity", f.lit(0.0)).alias("near"))
    for side in ("left", "right"):
        names = {side: "number", f"{side}_label": "label", f"{side}_length": "length"}
        sides = sides.join(renamed(pages, **names), side)
    sides = sides.where("left_label = right_label")
    there, back = (
        renamed(sides, number=one, length=f"{one}_length", other=f"{other}_length", near="near")
        for one, other in (("left", "right"), ("right", "left"))
    )
    adds_little = (
        (f.col("length") > f.col("other"))
        & (10 * f.col("length") <= 11 * f.col("other"))
        & (f.col("near") * f.col("length") >= AS_IF_CONTAINED * f.col("other"))
    )
    units = f.rint(f.col("near") * SIMILARITY_UNITS).cast("long")
    of_page = there.unionByName(back).groupBy("number")
    compared = of_page.agg(
        f.sum(units).alias("total"),
        f.count("*").alias("judged"),
        f.min(f.when(adds_little, f.col("other"))).alias("within"),
    )
    sizes = pages.groupBy("label").agg((f.count("*") - 1).alias("others"))
    ranked = pages.join(_named_by_others(pages), "number", "left")
    ranked = ranked.join(compared, "number", "left").join(sizes, "label")
    divisor = f.greatest(f.coalesce("judged", f.lit(0)), f.least("others", f.lit(REACH)), f.lit(1))
    thousandths = f.floor(
        f.floor(f.coalesce("total", f.lit(0)) / divisor) / (SIMILARITY_UNITS // 1000)
    )
    observed = f.when(f.col("observed"), _microseconds())
    order = f.struct(
        -f.coalesce("votes", f.lit(0)),
        f.coalesce(observed, f.lit(LAST)),
        -thousandths,
        -f.coalesce("within", "length"),
        f.col("length"),
    )
    return ranked.withColumn("order", order)


def _named_by_others(pages: DataFrame) -> DataFrame:
    """number and votes of the pages that others of their cluster name as canonical."""
    linked = pages.where("canonical_url != ''").select("number", "label", "url", "canonical_url")
    by_target = ["label", "canonical_url"]
    shared = linked.groupBy(*by_target).count().where("count > 1").drop("count")
    members = linked.join(shared, by_target)
    own = map_batches(members.select("number", "url"), _named, NAMED)
    members = members.join(own, "number").withColumn("own", f.expr("target = canonical_url"))
    voters = members.where("not own").groupBy(*by_target).agg(f.count("*").alias("votes"))
    return members.where("own").join(voters, by_target).select("number", "votes")


def _by_votes(pages: DataFrame) -> DataFrame:
    """The page whose URL most members name as canonical, then the shortest URL."""
    votes = pages.where("canonical_url != ''").groupBy("label", "canonical_url").count()
    votes = renamed(votes, label="label", target="canonical_url", count="count")
    targets = map_batches(pages.where("url != ''").select("number", "url"), _named, NAMED)
    voted = pages.join(targets, "number", "left").join(votes, ["label", "target"], "left")
    wins = f.when(f.col("url") == "", -1).otherwise(f.coalesce("count", f.lit(0)))
    length = f.least(f.length("url"), f.lit(999_999))
    return voted.withColumn("order", -wins * 1e6 + length)


def _named(batch: pa.RecordBatch) -> pa.RecordBatch:
    targets = pa.array([canonicalise(url) for url in batch["url"].to_pylist()], pa.string())
    return pa.record_batch([batch["number"], targets], schema=NAMED)
