"""Clusters that do not stretch: `clusters.splitting.centred_clusters` on many machines.

What a component of verified pairs falls into depends on that component alone. So each goes to one
task, with the features of its pages where further pairs may have to be judged, and many small ones
go together. A component too large for a task is first taken apart here, in rounds that do what a
round of `centred_clusters` does, until what is left of it is small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.clusters.splitting import APART, Closeness, centred_clusters
from neardup.engines.spark.candidates import features_of
from neardup.engines.spark.columns import spark_schema
from neardup.engines.spark.components import component_labels
from neardup.engines.spark.groups import whole_groups
from neardup.engines.spark.rounds import take_one_cluster
from neardup.engines.spark.storage import Work
from neardup.methods.base import Method

FOR_ONE_TASK = 20_000  # pages of a component
ROWS_AT_ONCE = 20_000
LABELLED = pa.schema([("number", pa.int64()), ("label", pa.int64())])
Rows = NDArray[np.int64]


def centred_labels(
    method: Method,
    relations: Sequence[str],
    features: DataFrame,
    edges: DataFrame,
    work: Work,
    *,
    for_one_task: int = FOR_ONE_TASK,
) -> DataFrame:
    """number and label of the pages in `edges` (left, right, similarity) that are in a cluster."""
    edges = work.keep(edges.select("left", "right", "similarity"), "edges")
    taken: list[DataFrame] = []
    while True:
        name = f"split-{len(taken)}"
        components = component_labels(edges, work, name)
        sizes = components.groupBy("label").agg(f.count("*").alias("pages"))
        large = sizes.where(f.col("pages") > for_one_task)
        labelled = edges.join(components.withColumnRenamed("number", "left"), "left")
        if large.isEmpty():
            break
        few = labelled.join(large, "label", "left_anti")
        many = labelled.join(large, "label", "left_semi")
        cluster = take_one_cluster(method, relations, features, many, work, name)
        taken.append(cluster)
        left_over = many
        for side in ("left", "right"):
            gone = cluster.select(f.col("number").alias(side))
            left_over = left_over.join(gone, side, "left_anti")
        rest = few.unionByName(left_over).select("left", "right", "similarity")
        edges = work.keep(rest, f"{name}-rest")
    found = _in_tasks(method, relations, features, labelled, components, sizes)
    for cluster in taken:
        found = found.unionByName(cluster.select("number", "label"))
    return found


def _in_tasks(
    method: Method,
    relations: Sequence[str],
    features: DataFrame,
    edges: DataFrame,
    components: DataFrame,
    sizes: DataFrame,
) -> DataFrame:
    """The clusters of components that are small enough for a task each."""
    pairs = edges.groupBy("label").agg(f.count("*").alias("pairs"))
    every_pair = f.col("pages") * (f.col("pages") - 1) / 2
    open_ones = sizes.join(pairs, "label").withColumn("open", f.col("pairs") < every_pair)
    members = components.join(open_ones.select("label", "open"), "label")
    described = members.join(features.select("number", "features", "sister"), "number")
    # Only where a pair is not verified yet may features be needed.
    needed = f.when(f.col("open"), f.col("features"))
    pages = described.select("label", "number", "sister", needed.alias("features"))
    rows = pages.unionByName(edges, allowMissingColumns=True)
    by_component = rows.repartition("label").sortWithinPartitions("label", "number")

    def split(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in whole_groups(batches, ["label"], ROWS_AT_ONCE):
            yield _split(method, relations, table)

    return by_component.mapInArrow(split, spark_schema(LABELLED))


def _split(method: Method, relations: Sequence[str], table: pa.Table) -> pa.RecordBatch:
    """The clusters of some whole components."""
    pages = table.filter(pc.is_valid(table["number"])).sort_by("number")
    edges = table.filter(pc.is_null(table["number"]))
    numbers = pages["number"].to_numpy()
    left, right = (np.searchsorted(numbers, edges[name].to_numpy()) for name in ("left", "right"))
    similarity = edges["similarity"].to_numpy()
    known = _Known(numbers.size, left, right, similarity)
    closeness = known.or_else(_judged(method, relations, pages))
    sisters = pages["sister"].to_numpy().view(np.uint64)
    labels = centred_clusters(sisters, left, right, similarity, closeness, numbers)
    return pa.record_batch([numbers, numbers[labels]], schema=LABELLED)


class _Known:
    """Pairs that are verified, by their rows."""

    def __init__(self, count: int, left: Rows, right: Rows, similarity: NDArray[np.float64]):
        pairs = left * count + right
        order = np.argsort(pairs)
        self._count = count
        self._pairs, self._similarity = pairs[order], similarity[order]

    def or_else(self, judge: Closeness) -> Closeness:
        """The similarity of a verified pair; of any other what `judge` says."""

        def closeness(one: Rows, other: Rows) -> NDArray[np.float64]:
            pairs = np.minimum(one, other) * self._count + np.maximum(one, other)
            place = np.minimum(np.searchsorted(self._pairs, pairs), self._pairs.size - 1)
            near = self._similarity[place]
            open_ = self._pairs[place] != pairs
            if open_.any():
                near[open_] = judge(one[open_], other[open_])
            return near

        return closeness


def _judged(method: Method, relations: Sequence[str], pages: pa.Table) -> Closeness:
    """What the method says of pairs of rows."""
    column = pages["features"].combine_chunks()
    features = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column

    def closeness(one: Rows, other: Rows) -> NDArray[np.float64]:
        taken = [features_of(method, features.take(pa.array(rows))) for rows in (one, other)]
        verdicts = method.judge(*taken)
        near = pc.is_in(verdicts["relation"], pa.array(relations))
        return np.where(
            near.to_numpy(zero_copy_only=False),
            verdicts["similarity"].to_numpy(zero_copy_only=False),
            APART,
        )

    return closeness
