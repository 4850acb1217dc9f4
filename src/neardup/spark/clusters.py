"""Clusters from verified pairs, the page to keep of each, and the relation of members to it.

The clusters of a component of verified pairs depend on that component alone. So each component goes
to one task, many small ones together, with the features of its pages if further pairs may have to
be judged; the task applies the rules of the local engine (`_decided`). A component too large for
one task is first reduced in rounds, until the rest of it is small. A round removes one cluster, as
`rules.clusters.centred_clusters` does: its centre is the page with the most verified neighbours; a
member is close to the centre, close to the nearest page of its host in the cluster, and has no
closer neighbour outside. What is kept of such a cluster, and of those of an earlier run, is decided
by tables (`keeping.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.arrays import FeatureRows, Floats, Numbers, booleans, found_in, one_batch
from neardup.methods.base import Joining, Method
from neardup.model import Relation
from neardup.rules.clusters import APART, centred_clusters, mixed_numbers
from neardup.rules.keeping import JudgedPairs, choose_kept
from neardup.spark.columns import features_of, map_batches, map_groups, renamed, unsigned_order
from neardup.spark.components import component_labels
from neardup.spark.judging import BRIEF, PairJudge
from neardup.spark.keeping import kept_pages
from neardup.spark.work import Work

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
FEW = 2_000  # pages of a component whose features fit in a task in any case
ROWS_AT_ONCE = 20_000
PAGE = ["number", "length", "time", "observed", "url", "canonical_url"]
MEMBERS = pa.schema(
    [
        ("number", pa.int64()),
        ("label", pa.int64()),
        ("kept", pa.int64()),
        ("members", pa.int64()),
        ("relation", pa.string()),
        ("similarity", pa.float64()),
    ]
)
Codes = NDArray[np.int8]  # relations by their places in `RELATIONS`
RELATIONS = [*Relation]
NAMES = pa.array([str(each) for each in RELATIONS])
REVERSED = np.array([RELATIONS.index(each.reverse) for each in RELATIONS], np.int8)


def cluster_pages(
    judge: PairJudge,
    pages: DataFrame,
    verdicts: DataFrame,
    keep: str,
    work: Work,
    earlier: DataFrame | None = None,
    *,
    for_one_task: int = FOR_ONE_TASK,
) -> DataFrame:
    """`MEMBERS`: of every page in a cluster of several its cluster (`label`), how many members that
    has, the page kept, and its relation to that page unless it is the page itself.

    `earlier` has number, label and kept of pages that already have a cluster.
    """
    edges = judge.joining(verdicts).select("left", "right", "similarity")
    by_tables: list[DataFrame] = []  # number and label of pages that no task gathers
    if earlier is not None:
        by_tables.append(join_earlier(judge, edges, verdicts, earlier, work))
        edges = work.keep(_without(edges, by_tables[0]), "edges")
    while True:
        name = f"components-{len(by_tables)}"
        components = component_labels(edges, work, name)
        large = _too_large(judge, components, for_one_task)
        if large is None:
            break
        many = components.join(work.keep(large, f"{name}-large"), "label", "left_semi")
        if judge.method.joining is Joining.COMPONENTS:
            by_tables.append(many.select("number", "label"))
            components = components.join(many, "number", "left_anti")
            break
        labelled = edges.join(renamed(many, left="number", label="label"), "left")
        by_tables.append(take_one_cluster(judge, labelled, work, name))
        edges = work.keep(_without(edges, by_tables[-1]), f"{name}-rest")
    members = _in_tasks(judge, components, pages, verdicts, keep)
    if by_tables:
        labels = reduce(DataFrame.unionByName, by_tables)
        members = members.unionByName(_by_tables(judge, labels, pages, verdicts, keep, work))
    return work.keep(members, "members")


def _without(edges: DataFrame, pages: DataFrame) -> DataFrame:
    """The pairs of which neither page is among these."""
    for side in ("left", "right"):
        edges = edges.join(renamed(pages, **{side: "number"}), side, "left_anti")
    return edges


def _too_large(judge: PairJudge, components: DataFrame, for_one_task: int) -> DataFrame | None:
    """The labels of the components that do not fit in a task; None if there are none."""
    some = components.where(f.col("pages") > min(FEW, for_one_task))
    if some.isEmpty():
        return None
    weights = some.join(judge.features.select("number", "features"), "number")
    size = f.sum(f.octet_length("features")).alias("bytes")
    weights = weights.groupBy("label", "pages").agg(size)
    too_many, too_large = f.col("pages") > for_one_task, f.col("bytes") > BYTES_FOR_ONE_TASK
    # A cluster of two pages is all that a component of two can be.
    large = weights.where((too_many | too_large) & (f.col("pages") > 2)).select("label")
    return None if large.isEmpty() else large


def _in_tasks(
    judge: PairJudge, components: DataFrame, pages: DataFrame, verdicts: DataFrame, keep: str
) -> DataFrame:
    """`MEMBERS` of components that fit in a task each, with all that decides about them."""
    # Only where a pair is not verified yet may features be needed.
    is_open = f.col("pairs") < f.col("pages") * (f.col("pages") - 1) / 2
    placed = components.select("number", f.col("label").alias("component"), is_open.alias("open"))
    about = pages.select(*PAGE).join(placed.drop("open"), "number")
    features = f.when(f.col("open"), f.col("features")).alias("features")
    described = judge.features.join(placed, "number")
    described = described.select("component", "number", "same_host_group", features)
    of_left = renamed(placed, left="number", component="component")
    judged = verdicts.select(*BRIEF).join(of_left, "left")
    rows = described.unionByName(about, allowMissingColumns=True)
    rows = rows.unionByName(judged, allowMissingColumns=True)
    method, relations = judge.method, judge.relations
    return map_groups(
        rows,
        ["component"],
        lambda table: [_decided(method, relations, keep, table)],
        MEMBERS,
        rows_at_once=ROWS_AT_ONCE,
    )


def _decided(
    method: Method, relations: Sequence[str], keep: str, table: pa.Table
) -> pa.RecordBatch:
    """`MEMBERS` of some whole components, by the rules of the local engine.

    A row of `table` has the features of a page, or what policies look at, or a verdict.
    """
    described = table.filter(pc.is_valid(table["same_host_group"])).sort_by("number")
    pages = table.filter(pc.is_valid(table["length"])).sort_by("number")
    judged = table.filter(pc.is_valid(table["left"]))
    numbers = pages["number"].to_numpy()
    # A pair may lead to a page of another component.
    judged = judged.filter(pc.is_in(judged["right"], pages["number"].combine_chunks()))
    left, right = (np.searchsorted(numbers, judged[name].to_numpy()) for name in ("left", "right"))
    verdicts = _Verdicts(method, described, left, right, judged)
    joining = np.array([str(each) in relations for each in RELATIONS])

    def closeness(one: Numbers, other: Numbers) -> Floats:
        codes, similarities = verdicts.on(one, other)
        return np.where(joining[codes], similarities, APART)

    if method.joining is Joining.COMPONENTS:
        labels = np.searchsorted(numbers, pages["component"].to_numpy())
    else:
        groups = described["same_host_group"].to_numpy().view(np.uint64)
        joins = joining[verdicts.codes]
        verified = left[joins], right[joins], verdicts.similarities[joins]
        labels = centred_clusters(groups, *verified, closeness, numbers)
    kept = choose_kept(keep, pages, labels, JudgedPairs(left, right, verdicts.similarities))
    members = np.bincount(labels, minlength=labels.size)[labels]
    dropped = np.flatnonzero(kept != np.arange(kept.size))
    codes, similarities = verdicts.on(dropped, kept[dropped])
    row_of = np.full(kept.size, -1)
    row_of[dropped] = np.arange(dropped.size)
    related = pa.array(row_of, mask=row_of < 0)
    columns = [
        numbers,
        numbers[labels],
        numbers[kept],
        members,
        NAMES.take(pa.array(codes)).take(related),
        pa.array(similarities, from_pandas=True).take(related),
    ]
    rows = pa.record_batch(columns, schema=MEMBERS)
    return rows.filter(pa.array(members > 1))


class _Verdicts:
    """Verdicts on pairs of rows: those that are known, and the method's on any others."""

    def __init__(
        self, method: Method, pages: pa.Table, left: Numbers, right: Numbers, known: pa.Table
    ) -> None:
        self.codes: Codes = pc.index_in(known["relation"], NAMES).to_numpy().astype(np.int8)
        self.similarities: Floats = known["similarity"].to_numpy()
        self._method = method
        self._count = pages.num_rows
        self._features = pages["features"]
        pairs = left * self._count + right
        self._order = np.argsort(pairs)
        self._pairs = pairs[self._order]

    @cached_property
    def _rows(self) -> FeatureRows:
        """The features of the pages that have them here."""
        there = np.flatnonzero(booleans(self._features.is_valid()))
        packed = pa.table({"features": self._features}).take(pa.array(there))
        features = features_of(self._method, one_batch(packed)["features"])
        return FeatureRows(features.schema, [features], [there])

    def on(self, one: Numbers, other: Numbers) -> tuple[Codes, Floats]:
        """What each `one` is to its `other`: the relation by its code, and the similarity."""
        pairs = np.minimum(one, other) * self._count + np.maximum(one, other)
        is_known, places = found_in(self._pairs, pairs)
        codes, similarities = np.empty(one.size, np.int8), np.empty(one.size)
        verdict = self._order[places]
        turned = (one > other)[is_known]
        known = self.codes[verdict]
        codes[is_known] = np.where(turned, REVERSED[known], known)
        similarities[is_known] = self.similarities[verdict]
        if not is_known.all():
            rest = ~is_known
            judged = self._method.relate(self._rows, one[rest], other[rest], evidence=False)
            codes[rest] = pc.index_in(judged["relation"], NAMES).to_numpy()
            similarities[rest] = judged["similarity"].to_numpy(zero_copy_only=False)
        return codes, similarities


def _by_tables(
    judge: PairJudge,
    labels: DataFrame,
    pages: DataFrame,
    verdicts: DataFrame,
    keep: str,
    work: Work,
) -> DataFrame:
    """`MEMBERS` of clusters that may be too large for a task; `labels` has number and label."""
    labelled = work.keep(pages.select(*PAGE).join(labels, "number"), "labelled")
    kept = work.keep(kept_pages(keep, labelled, verdicts), "kept")
    sizes = kept.groupBy("label").agg(f.count("*").alias("members"))
    dropped = renamed(kept.where("number != kept"), left="number", right="kept")
    to_kept = judge.judge_or_recall(dropped, verdicts)
    to_kept = renamed(to_kept, number="left", relation="relation", similarity="similarity")
    return kept.join(sizes, "label").join(to_kept, "number", "left").select(*MEMBERS.names)


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
