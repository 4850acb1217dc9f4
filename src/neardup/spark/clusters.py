"""Clusters from verified pairs, the page to keep of each, and the relation of members to it.

This is `rules.clusters.centred_clusters` on many machines. The clusters of a component of verified
pairs depend on that component alone. So each component goes to one task, many small ones together,
with the features of its pages if further pairs may have to be judged. A component too large for one
task is first reduced in rounds, until the rest of it is small. A round removes one cluster: its
centre is the page with the most verified neighbours; a member is close to the centre, close to the
nearest page of its host in the cluster, and has no closer neighbour outside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from neardup.arrays import FeatureRows, Floats, booleans
from neardup.methods.base import Joining, Method
from neardup.pages.urls import canonicalise
from neardup.rules.candidates import REACH
from neardup.rules.clusters import APART, Closeness, centred_clusters, mixed_numbers
from neardup.rules.keeping import AS_IF_CONTAINED, SIMILARITY_UNITS
from neardup.spark.candidates import features_of
from neardup.spark.columns import map_batches, map_groups, renamed, unsigned_order
from neardup.spark.components import component_labels
from neardup.spark.judging import BRIEF, PairJudge
from neardup.spark.session import Work

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


MIXED = pa.schema([("number", pa.int64()), ("mixed", pa.int64())])
CloseRows = Callable[[DataFrame], DataFrame]  # of pairs: those that are close, and how
OF_CENTRE = float("inf")  # how near a centre is to itself


def take_one_cluster(judge: PairJudge, edges: DataFrame, work: Work, name: str) -> DataFrame:
    """number and label of the pages of one cluster of each component.

    `edges` has left, right, similarity and the component's label.
    """
    ends = _both_ways(edges)
    members = ends.select("label", "number").distinct()
    centres = _centres(ends)
    members = work.keep(members.join(centres, "label"), f"{name}-members")

    def closeness(pairs: DataFrame) -> DataFrame:
        known = edges.withColumn("relation", f.lit(judge.relations[0])).select(*BRIEF)
        verdicts = judge.judge_or_recall(pairs, known)
        return judge.joining(verdicts).select("left", "right", "similarity")

    near = work.keep(_near_centre(members, closeness), f"{name}-near")
    rivals = _rivals(near, judge.features, closeness)
    stays = work.keep(near.join(rivals, "number", "left_anti"), f"{name}-stays")
    taken = work.keep(_without_closer_outside(stays, ends), f"{name}-taken")
    smallest = taken.groupBy("centre").agg(f.min("number").alias("label"))
    return work.keep(taken.join(smallest, "centre").select("number", "label"), f"{name}-cluster")


def _both_ways(edges: DataFrame) -> DataFrame:
    """Every pair seen from either page."""
    there = renamed(edges, label="label", number="left", other="right", similarity="similarity")
    back = renamed(edges, label="label", number="right", other="left", similarity="similarity")
    return there.unionByName(back)


def _centres(ends: DataFrame) -> DataFrame:
    """label and centre of each component: most neighbours, then the smallest mixed number."""
    degrees = ends.groupBy("label", "number").agg(f.count("*").alias("degree"))
    mixed = map_batches(degrees.select("number"), _mixed, MIXED)
    order = f.struct(-f.col("degree"), f.col("mixed"))
    best = f.min_by("number", order).alias("centre")
    return degrees.join(mixed, "number").groupBy("label").agg(best)


def _mixed(batch: pa.RecordBatch) -> pa.RecordBatch:
    mixed = unsigned_order(mixed_numbers(batch["number"].to_numpy()))
    return pa.record_batch([batch["number"], mixed], schema=MIXED)


def _near_centre(members: DataFrame, closeness: CloseRows) -> DataFrame:
    """number, centre and near of the members that are close to their centre."""
    pairs = renamed(members.where("number != centre"), left="number", right="centre")
    close = renamed(closeness(pairs), number="left", centre="right", near="similarity")
    centres = members.where("number = centre").select("number", "centre")
    return close.unionByName(centres.withColumn("near", f.lit(OF_CENTRE)))


def _rivals(near: DataFrame, features: DataFrame, closeness: CloseRows) -> DataFrame:
    """The members that are not close to the nearest page of their host in the cluster."""
    alike = near.join(features.select("number", "same_host_group"), "number").where(
        "same_host_group != 0"
    )
    order, by_host = f.struct(-f.col("near"), f.col("number")), ["centre", "same_host_group"]
    nearest = alike.groupBy(*by_host).agg(f.min_by("number", order).alias("right"))
    pairs = alike.join(nearest, by_host).where("number != right")
    pairs = renamed(pairs, left="number", right="right")
    return renamed(pairs.join(closeness(pairs), ["left", "right"], "left_anti"), number="left")


def _without_closer_outside(stays: DataFrame, ends: DataFrame) -> DataFrame:
    """The members that have no neighbour outside the cluster closer than its centre."""
    inside = renamed(stays, other="number")
    outside = ends.join(stays.select("number", "near"), "number").join(inside, "other", "left_anti")
    drawn = outside.where(f.col("similarity") > f.col("near")).select("number").distinct()
    return stays.join(drawn, "number", "left_anti")


FOR_ONE_TASK = 20_000  # pages of a component
BYTES_FOR_ONE_TASK = 256_000_000  # of their features
FEW = 2_000  # pages of a component whose features fit in a task anyhow
ROWS_AT_ONCE = 20_000
LABELLED = pa.schema([("number", pa.int64()), ("label", pa.int64())])
Rows = NDArray[np.int64]


def centred_labels(
    judge: PairJudge,
    edges: DataFrame,
    work: Work,
    *,
    for_one_task: int = FOR_ONE_TASK,
    bytes_for_one_task: int = BYTES_FOR_ONE_TASK,
) -> DataFrame:
    """number and label of the pages in `edges` (left, right, similarity) that are in a cluster."""
    edges = work.keep(edges.select("left", "right", "similarity"), "edges")
    taken: list[DataFrame] = []
    while True:
        name = f"split-{len(taken)}"
        components = work.keep(component_labels(edges, work, name), f"{name}-labels")
        sizes = components.groupBy("label").agg(f.count("*").alias("pages"))
        labelled = edges.join(components.withColumnRenamed("number", "left"), "left")
        some = sizes.where(f.col("pages") > min(FEW, for_one_task, bytes_for_one_task))
        if some.isEmpty():
            break
        weights = components.join(some, "label").join(judge.feature_bytes, "number")
        weights = weights.groupBy("label", "pages").agg(f.sum("bytes").alias("bytes"))
        too_many, too_large = f.col("pages") > for_one_task, f.col("bytes") > bytes_for_one_task
        # A cluster of two pages is all that a component of two can be.
        large = work.keep(
            weights.where((too_many | too_large) & (f.col("pages") > 2)), f"{name}-large"
        )
        if large.isEmpty():
            break
        few = labelled.join(large, "label", "left_anti")
        many = labelled.join(large, "label", "left_semi")
        cluster = take_one_cluster(judge, many, work, name)
        taken.append(cluster)
        left_over = many
        for side in ("left", "right"):
            left_over = left_over.join(renamed(cluster, **{side: "number"}), side, "left_anti")
        rest = few.unionByName(left_over).select("left", "right", "similarity")
        edges = work.keep(rest, f"{name}-rest")
    labels = _in_tasks(judge, labelled, components, sizes)
    for cluster in taken:
        labels = labels.unionByName(cluster.select("number", "label"))
    return labels


def _in_tasks(
    judge: PairJudge, edges: DataFrame, components: DataFrame, sizes: DataFrame
) -> DataFrame:
    """The clusters of components that are small enough for a task each."""
    pairs = edges.groupBy("label").agg(f.count("*").alias("pairs"))
    every_pair = f.col("pages") * (f.col("pages") - 1) / 2
    open_ones = sizes.join(pairs, "label").withColumn("open", f.col("pairs") < every_pair)
    members = components.join(open_ones.select("label", "open"), "label")
    columns = judge.features.select("number", "features", "same_host_group")
    described = members.join(columns, "number")
    # Only where a pair is not verified yet may features be needed.
    needed = f.when(f.col("open"), f.col("features"))
    pages = described.select("label", "number", "same_host_group", needed.alias("features"))
    rows = pages.unionByName(edges, allowMissingColumns=True)
    method, relations = judge.method, judge.relations
    return map_groups(
        rows,
        ["label"],
        lambda table: [_split(method, relations, table)],
        LABELLED,
        order=["number"],
        rows_at_once=ROWS_AT_ONCE,
    )


def _split(method: Method, relations: Sequence[str], table: pa.Table) -> pa.RecordBatch:
    """The clusters of some whole components."""
    pages = table.filter(pc.is_valid(table["number"])).sort_by("number")
    edges = table.filter(pc.is_null(table["number"]))
    numbers = pages["number"].to_numpy()
    left, right = (np.searchsorted(numbers, edges[name].to_numpy()) for name in ("left", "right"))
    similarity = edges["similarity"].to_numpy()
    known = _Known(numbers.size, left, right, similarity)
    closeness = known.or_else(_judged(method, relations, pages))
    groups = pages["same_host_group"].to_numpy().view(np.uint64)
    labels = centred_clusters(groups, left, right, similarity, closeness, numbers)
    return pa.record_batch([numbers, numbers[labels]], schema=LABELLED)


class _Known:
    """Pairs that are verified, by their rows."""

    def __init__(self, count: int, left: Rows, right: Rows, similarity: Floats):
        pairs = left * count + right
        order = np.argsort(pairs)
        self._count = count
        self._pairs, self._similarity = pairs[order], similarity[order]

    def or_else(self, judge: Closeness) -> Closeness:
        """The similarity of a verified pair; of any other what `judge` says."""

        def closeness(one: Rows, other: Rows) -> Floats:
            pairs = np.minimum(one, other) * self._count + np.maximum(one, other)
            place = np.minimum(np.searchsorted(self._pairs, pairs), self._pairs.size - 1)
            near = self._similarity[place]
            open_ = self._pairs[place] != pairs
            if open_.any():
                near[open_] = judge(one[open_], other[open_])
            return near

        return closeness


def _judged(method: Method, relations: Sequence[str], pages: pa.Table) -> Closeness:
    """The method's judgement on pairs of rows."""
    column = pages["features"].combine_chunks()
    features = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column

    def closeness(one: Rows, other: Rows) -> Floats:
        taken = [features_of(method, features.take(pa.array(rows))) for rows in (one, other)]
        left = np.arange(one.size)
        rows = FeatureRows.of(*taken)
        verdicts = method.relate(rows, left, left + one.size, evidence=False)
        joins = booleans(pc.is_in(verdicts["relation"], pa.array(relations)))
        return np.where(joins, verdicts["similarity"].to_numpy(zero_copy_only=False), APART)

    return closeness


@dataclass(frozen=True)
class Clustered:
    """For each page its cluster (`label`), the page kept for it, and its relation to that page."""

    pages: DataFrame  # number, label, kept
    to_kept: DataFrame  # number, relation and similarity of every page that is not kept


def cluster_pages(
    judge: PairJudge,
    pages: DataFrame,
    verdicts: DataFrame,
    keep: str,
    work: Work,
    earlier: DataFrame | None = None,
) -> Clustered:
    """Join verified pairs, choose what to keep, and judge each member against it.

    `earlier` has number, label and kept of pages that already have a cluster.
    """
    edges = judge.joining(verdicts).select("left", "right", "similarity")
    known = None
    if earlier is not None:
        known = join_earlier(judge, edges, verdicts, earlier, work)
        for side in ("left", "right"):
            edges = edges.join(renamed(known, **{side: "number"}), side, "left_anti")
    if judge.method.joining is Joining.COMPONENTS:
        labels = component_labels(work.keep(edges, "edges"), work, "components")
    else:
        labels = centred_labels(judge, edges, work)
    if known is not None:
        labels = labels.select("number", "label").unionByName(known)
    alone = f.coalesce("label", "number").alias("label")
    labelled = pages.join(labels, "number", "left").select(
        "number", alone, "length", "time", "observed", "url", "canonical_url"
    )
    kept = work.keep(kept_pages(keep, work.keep(labelled, "labelled"), verdicts), "kept")
    members = renamed(kept.where("number != kept"), left="number", right="kept")
    to_kept = judge.judge_or_recall(members, verdicts)
    to_kept = renamed(to_kept, number="left", relation="relation", similarity="similarity")
    return Clustered(kept, work.keep(to_kept, "to-kept"))


def join_earlier(
    judge: PairJudge, edges: DataFrame, verdicts: DataFrame, earlier: DataFrame, work: Work
) -> DataFrame:
    """number and label of the earlier pages and of each new page that belongs to one of theirs.

    As `rules.clusters.join_earlier`: the most similar earlier page names the cluster, and the new
    page must be close to what that cluster keeps.
    """
    old = earlier.select("number", f.lit(True).alias("old"))
    sides = edges
    for side in ("left", "right"):
        sides = sides.join(renamed(old, **{side: "number", f"old_{side}": "old"}), side, "left")
    is_old = {side: f.col(f"old_{side}").isNotNull() for side in ("left", "right")}
    mixed = sides.where(is_old["left"] != is_old["right"]).select(
        f.when(is_old["left"], f.col("right")).otherwise(f.col("left")).alias("page"),
        f.when(is_old["left"], f.col("left")).otherwise(f.col("right")).alias("number"),
        "similarity",
    )
    order = f.struct(-f.col("similarity"), f.col("number"))
    best = mixed.groupBy("page").agg(f.min_by("number", order).alias("number"))
    drawn = work.keep(best.join(earlier, "number").select("page", "label", "kept"), "drawn")
    pairs = renamed(drawn, left="page", right="kept")
    close = judge.joining(judge.judge_or_recall(pairs, verdicts))
    fits = renamed(close.where("similarity >= 0"), page="left")
    new = renamed(drawn.join(fits, "page", "left_semi"), number="page", label="label")
    return work.keep(earlier.select("number", "label").unionByName(new), "known")
