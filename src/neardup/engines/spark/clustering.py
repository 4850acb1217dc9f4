"""Clusters from verified pairs, the page to keep of each, and what each page is to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.engines.clustering import JoinRule
from neardup.engines.spark.centres import centred_labels
from neardup.engines.spark.components import component_labels
from neardup.engines.spark.judging import joined, judge_or_recall
from neardup.engines.spark.keeping import kept_pages
from neardup.engines.spark.storage import Work
from neardup.methods.base import Method


@dataclass(frozen=True)
class Clustered:
    """For each page its cluster (`label`), the page kept for it, and what it is to that page."""

    pages: DataFrame  # number, label, kept
    to_kept: DataFrame  # number, relation and similarity of every page that is not kept


def cluster_pages(
    method: Method,
    rule: JoinRule,
    pages: DataFrame,
    features: DataFrame,
    verdicts: DataFrame,
    keep: str,
    work: Work,
    earlier: DataFrame | None = None,
) -> Clustered:
    """Join verified pairs, choose what to keep, and judge each member against it.

    `earlier` has number, label and kept of pages that stand in a cluster already.
    """
    relations = list(rule.relations)
    edges = joined(verdicts, relations).select("left", "right", "similarity")
    known = None
    if earlier is not None:
        known = join_earlier(method, relations, features, edges, verdicts, earlier, work)
        for side in ("left", "right"):
            edges = edges.join(known.select(f.col("number").alias(side)), side, "left_anti")
    if rule.sisters is None:
        labels = component_labels(work.keep(edges, "edges"), work, "components")
    else:
        labels = centred_labels(method, relations, features, edges, work)
    if known is not None:
        labels = labels.select("number", "label").unionByName(known)
    alone = f.coalesce("label", "number").alias("label")
    labelled = pages.join(labels, "number", "left").select(
        "number", alone, "length", "time", "url", "canonical_url"
    )
    kept = work.keep(kept_pages(keep, work.keep(labelled, "labelled")), "kept")
    members = kept.where("number != kept")
    asked = members.select(f.col("number").alias("left"), f.col("kept").alias("right"))
    to_kept = judge_or_recall(method, features, asked, verdicts)
    told = to_kept.select(f.col("left").alias("number"), "relation", "similarity")
    return Clustered(kept, work.keep(told, "to-kept"))


def join_earlier(
    method: Method,
    relations: Sequence[str],
    features: DataFrame,
    edges: DataFrame,
    verdicts: DataFrame,
    earlier: DataFrame,
    work: Work,
) -> DataFrame:
    """number and label of the earlier pages and of each new page that belongs to one of theirs.

    As `clusters.growing.join_earlier`: the most similar earlier page names the cluster, and the new
    page must be close to what that cluster keeps.
    """
    old = earlier.select("number", f.lit(True).alias("old"))
    sides = edges
    for side in ("left", "right"):
        named = old.select(f.col("number").alias(side), f.col("old").alias(f"old_{side}"))
        sides = sides.join(named, side, "left")
    is_old = {side: f.col(f"old_{side}").isNotNull() for side in ("left", "right")}
    mixed = sides.where(is_old["left"] != is_old["right"]).select(
        f.when(is_old["left"], f.col("right")).otherwise(f.col("left")).alias("page"),
        f.when(is_old["left"], f.col("left")).otherwise(f.col("right")).alias("number"),
        "similarity",
    )
    order = f.struct(-f.col("similarity"), f.col("number"))
    best = mixed.groupBy("page").agg(f.min_by("number", order).alias("number"))
    drawn = work.keep(best.join(earlier, "number").select("page", "label", "kept"), "drawn")
    asked = drawn.select(f.col("page").alias("left"), f.col("kept").alias("right"))
    close = joined(judge_or_recall(method, features, asked, verdicts), relations)
    fits = close.where("similarity >= 0").select(f.col("left").alias("page"))
    new = drawn.join(fits, "page", "left_semi").select(f.col("page").alias("number"), "label")
    return work.keep(earlier.select("number", "label").unionByName(new), "known")
