"""One round of `clusters.splitting.centred_clusters` over components too large for a task.

Takes one cluster out of every component: the centre is the page with the most verified neighbours;
a member is close to it, close to the nearest of its sisters in the cluster, and has no neighbour
outside that is closer than the centre.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.clusters.splitting import mixed_numbers
from neardup.engines.spark.columns import spark_schema, unsigned_order
from neardup.engines.spark.judging import BRIEF, joined, judge_or_recall
from neardup.engines.spark.storage import Work
from neardup.methods.base import Method

MIXED = pa.schema([("number", pa.int64()), ("mixed", pa.int64())])
Closeness = Callable[[DataFrame], DataFrame]  # of pairs: those that are close, and how
OF_CENTRE = float("inf")  # how near a centre is to itself


def take_one_cluster(
    method: Method,
    relations: Sequence[str],
    features: DataFrame,
    edges: DataFrame,
    work: Work,
    name: str,
) -> DataFrame:
    """number and label of the pages of one cluster of each component.

    `edges` has left, right, similarity and the component's label.
    """
    ends = _both_ways(edges)
    members = ends.select("label", "number").distinct()
    centres = _centres(ends)
    members = work.keep(members.join(centres, "label"), f"{name}-members")

    def closeness(pairs: DataFrame) -> DataFrame:
        known = edges.withColumn("relation", f.lit(relations[0])).select(*BRIEF)
        verdicts = judge_or_recall(method, features, pairs, known)
        return joined(verdicts, relations).select("left", "right", "similarity")

    near = work.keep(_near_centre(members, closeness), f"{name}-near")
    rivals = _rivals(near, features, closeness)
    stays = work.keep(near.join(rivals, "number", "left_anti"), f"{name}-stays")
    taken = work.keep(_without_closer_outside(stays, ends), f"{name}-taken")
    smallest = taken.groupBy("centre").agg(f.min("number").alias("label"))
    return work.keep(taken.join(smallest, "centre").select("number", "label"), f"{name}-cluster")


def _both_ways(edges: DataFrame) -> DataFrame:
    """Every pair seen from either page."""
    there = edges.select(
        "label", f.col("left").alias("number"), f.col("right").alias("other"), "similarity"
    )
    back = edges.select(
        "label", f.col("right").alias("number"), f.col("left").alias("other"), "similarity"
    )
    return there.unionByName(back)


def _centres(ends: DataFrame) -> DataFrame:
    """label and centre of each component: most neighbours, then the smallest mixed number."""
    degrees = ends.groupBy("label", "number").agg(f.count("*").alias("degree"))
    mixed = degrees.select("number").mapInArrow(_mixed, spark_schema(MIXED))
    order = f.struct(-f.col("degree"), f.col("mixed"))
    best = f.min_by("number", order).alias("centre")
    return degrees.join(mixed, "number").groupBy("label").agg(best)


def _mixed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        mixed = unsigned_order(mixed_numbers(batch["number"].to_numpy()))
        yield pa.record_batch([batch["number"], mixed], schema=MIXED)


def _near_centre(members: DataFrame, closeness: Closeness) -> DataFrame:
    """number, centre and near of the members that are close to their centre."""
    others = members.where("number != centre")
    asked = others.select(f.col("number").alias("left"), f.col("centre").alias("right"))
    close = closeness(asked).select(
        f.col("left").alias("number"),
        f.col("right").alias("centre"),
        f.col("similarity").alias("near"),
    )
    centres = members.where("number = centre").select("number", "centre")
    return close.unionByName(centres.withColumn("near", f.lit(OF_CENTRE)))


def _rivals(near: DataFrame, features: DataFrame, closeness: Closeness) -> DataFrame:
    """The members that are not close to the nearest of their sisters in the cluster."""
    sisters = near.join(features.select("number", "sister"), "number").where("sister != 0")
    order = f.struct(-f.col("near"), f.col("number"))
    nearest = sisters.groupBy("centre", "sister").agg(f.min_by("number", order).alias("right"))
    pairs = sisters.join(nearest, ["centre", "sister"]).where("number != right")
    pairs = pairs.select(f.col("number").alias("left"), "right")
    apart = pairs.join(closeness(pairs), ["left", "right"], "left_anti")
    return apart.select(f.col("left").alias("number"))


def _without_closer_outside(stays: DataFrame, ends: DataFrame) -> DataFrame:
    """The members that have no neighbour outside the cluster closer than its centre."""
    inside = stays.select(f.col("number").alias("other"))
    outside = ends.join(stays.select("number", "near"), "number").join(inside, "other", "left_anti")
    drawn = outside.where(f.col("similarity") > f.col("near")).select("number").distinct()
    return stays.join(drawn, "number", "left_anti")
