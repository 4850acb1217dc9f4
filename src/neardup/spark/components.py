"""Connected components, without a jar and without the driver.

Large-star and small-star (Kiveris et al. 2014, Connected Components in MapReduce and Beyond): every
page is linked to the smallest page it knows, alternating between its larger and its smaller
neighbours, until nothing changes. The number of rounds grows with the logarithm of the longest
chain. Each round is kept in the work directory, so a lost machine costs at most one round. What
fits in one task is left to the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.kernels.grouping import connected_components
from neardup.spark.columns import renamed, spark_schema
from neardup.spark.session import Work

IN_ONE_TASK = 4_000_000  # pairs, of 16 bytes
EDGES = pa.schema([("left", pa.int64()), ("right", pa.int64())])


def component_labels(
    edges: DataFrame, work: Work, name: str, *, in_one_task: int = IN_ONE_TASK
) -> DataFrame:
    """number and label of every page in a pair: the label is the smallest page it is joined to.

    `edges` has left < right, and is read more than once.
    """
    stars = edges.select("left", "right")
    rounds = 0
    while stars.count() > in_one_task:
        if rounds and _are_stars(stars):
            return _labels(stars)
        moved = _small_star(_large_star(stars)) if rounds else stars
        stars = work.keep(_contracted(moved), f"{name}-{rounds}")
        rounds += 1
    return _labels(work.keep(_contracted(stars.coalesce(1)), f"{name}-all"))


def _contracted(edges: DataFrame) -> DataFrame:
    """The pairs of each partition as stars: every page with the smallest it is joined to there."""
    return edges.mapInArrow(_contract, spark_schema(EDGES))


def _contract(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        if count >= 2 * IN_ONE_TASK:  # bounds memory; later rounds join what this leaves apart
            yield _stars(held)
            held, count = [], 0
    if held:
        yield _stars(held)


def _stars(held: list[pa.RecordBatch]) -> pa.RecordBatch:
    table = pa.Table.from_batches(held)
    left, right = table["left"].to_numpy(), table["right"].to_numpy()
    pages, rows = np.unique(np.concatenate([left, right]), return_inverse=True)
    roots = connected_components(pages.size, rows[: left.size], rows[left.size :])
    leaves = np.flatnonzero(roots != np.arange(pages.size))
    return pa.record_batch([pages[roots[leaves]], pages[leaves]], schema=EDGES)


def _large_star(edges: DataFrame) -> DataFrame:
    """Every page's larger neighbours, with the smallest of all its neighbours and itself."""
    turned = renamed(edges, left="right", right="left")
    least = edges.unionByName(turned).groupBy("left").agg(f.min("right").alias("least"))
    smallest = f.least("least", "left").alias("left")
    return edges.join(least, "left").select(smallest, "right").distinct()


def _small_star(edges: DataFrame) -> DataFrame:
    """Every page and its smaller neighbours, with the smallest of these."""
    least = edges.groupBy("right").agg(f.min("left").alias("least"))
    others = renamed(edges.join(least, "right").where("left != least"), left="least", right="left")
    return renamed(least, left="least", right="right").unionByName(others).distinct()


def _are_stars(edges: DataFrame) -> bool:
    """Whether every page is a centre or has one."""
    centres = edges.select(f.col("left").alias("page"), f.lit(True).alias("centre")).distinct()
    leaves = edges.select(f.col("right").alias("page"), f.lit(False).alias("centre"))
    roles = centres.unionByName(leaves).groupBy("page").count()
    return bool(roles.where("count > 1").isEmpty())


def _labels(stars: DataFrame) -> DataFrame:
    leaves = renamed(stars, number="right", label="left")
    centres = renamed(stars, number="left", label="left")
    return leaves.unionByName(centres.distinct())
