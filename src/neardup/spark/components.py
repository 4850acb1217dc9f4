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

from neardup.arrays import Numbers
from neardup.kernels.grouping import connected_components
from neardup.spark.columns import bounded, heaps, renamed, spark_schema
from neardup.spark.work import Work

IN_ONE_TASK = 4_000_000  # pairs, of 16 bytes
EDGES = pa.schema([("left", pa.int64()), ("right", pa.int64())])
LABELS = pa.schema([(name, pa.int64()) for name in ("number", "label", "pages", "pairs")])


def component_labels(
    edges: DataFrame, work: Work, name: str, *, in_one_task: int = IN_ONE_TASK
) -> DataFrame:
    """`LABELS`, in the work directory: number and label of every page in a pair, and how many pages
    and pairs its component has. The label is the smallest page it is joined to.

    `edges` has left < right, each pair once, and is read more than once.
    """
    stars = edges = edges.select("left", "right")
    if stars.count() <= in_one_task:
        labels = edges.coalesce(1).mapInArrow(_labelled, spark_schema(LABELS))
        return work.keep(labels, f"{name}-labels")
    stars = work.keep(_contracted(stars), f"{name}-0")
    rounds = 1
    while not _are_stars(stars):
        moved = _small_star(_large_star(stars))
        moved = moved.coalesce(1) if stars.count() <= in_one_task else moved
        stars = work.keep(_contracted(moved), f"{name}-{rounds}")
        rounds += 1
    return work.keep(_labels(stars, edges), f"{name}-labels")


def _contracted(edges: DataFrame) -> DataFrame:
    """The pairs of each partition as stars: every page with the smallest it is joined to there."""
    return edges.mapInArrow(_contract, spark_schema(EDGES))


def _contract(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    # Heaps bound memory; later rounds join what they leave apart.
    for held in heaps(batches, lambda batch: batch.num_rows, 2 * IN_ONE_TASK):
        yield _stars(held)


def _labelled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    pages, rows, _, roots = _joined([*batches])
    size = np.bincount(roots, minlength=pages.size)[roots]
    pairs = np.bincount(roots[rows[: rows.size // 2]], minlength=pages.size)[roots]
    yield from bounded(pa.record_batch([pages, pages[roots], size, pairs], schema=LABELS))


def _stars(held: list[pa.RecordBatch]) -> pa.RecordBatch:
    pages, _, leaves, roots = _joined(held)
    return pa.record_batch([pages[roots[leaves]], pages[leaves]], schema=EDGES)


def _joined(held: list[pa.RecordBatch]) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """The pages of some pairs, the rows of all left and then all right pages among them, the rows
    of all but the smallest of each component, and the row of the smallest for each."""
    table = pa.Table.from_batches(held, EDGES)
    left, right = table["left"].to_numpy(), table["right"].to_numpy()
    pages, rows = np.unique(np.concatenate([left, right]), return_inverse=True)
    roots = connected_components(pages.size, rows[: left.size], rows[left.size :])
    return pages, rows, np.flatnonzero(roots != np.arange(pages.size)), roots


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


def _labels(stars: DataFrame, edges: DataFrame) -> DataFrame:
    """`LABELS`: each page with the centre of its star, and what the component has."""
    leaves = renamed(stars, number="right", label="left")
    centres = renamed(stars, number="left", label="left")
    labels = leaves.unionByName(centres.distinct())
    pages = labels.groupBy("label").agg(f.count("*").alias("pages"))
    of_left = edges.join(renamed(labels, left="number", label="label"), "left")
    pairs = of_left.groupBy("label").agg(f.count("*").alias("pairs"))
    return labels.join(pages, "label").join(pairs, "label").select(*LABELS.names)
