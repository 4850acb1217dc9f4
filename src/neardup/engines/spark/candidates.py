"""Candidates: pages that share a key, exactly those that `candidates.grouping` names.

Keys are shuffled so that a task has all pages of a key. A key that very many pages have (a theme, a
banner) would make one task carry the job, so beyond `RANGE` pages the rows of a key are cut by
ranges of page numbers. Within a hot key a page is paired with the next few only, so a range
answers for all its pages but the last few, and sends on its first and last ones; a second shuffle
of those pairs them over the edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from neardup.candidates.grouping import HOT, REACH, chance_order, pairs_sharing_keys
from neardup.engines.spark.columns import from_spark, spark_schema, unsigned_order
from neardup.engines.spark.groups import new_groups, whole_groups
from neardup.engines.spark.storage import Work
from neardup.methods.base import Method

RANGE = 1 << 20  # page numbers in a range
KEYED = pa.schema([("key", pa.int64()), ("range", pa.int64()), ("number", pa.int64())])
SHARING = pa.schema([("left", pa.int64()), ("right", pa.int64()), ("shared", pa.int64())])
# What a range knows: pairs, or pages for others to pair. `speaks`: its pairs are not told yet.
TOLD = pa.schema([*SHARING, *KEYED, ("speaks", pa.bool_()), ("hot", pa.bool_())])

Rows = NDArray[np.int64]
Batches = Iterable[pa.RecordBatch]


def pairs_by_keys(
    method: Method, features: DataFrame, count: int, work: Work, *, range_size: int = RANGE
) -> DataFrame:
    """left and right of every pair that is worth judging, each once."""
    keys = keys_of(method, features, range_size)
    if method.transitive:
        return _with_first(keys).distinct()
    if count <= range_size:
        sharing = _sorted(keys, ["key"]).mapInArrow(_pair_groups, spark_schema(SHARING))
    else:
        sharing = _over_ranges(keys, work)
    added = sharing.groupBy("left", "right").agg(f.sum("shared").alias("shared"))
    if method.chance_pairs is None:
        return added.select("left", "right")
    return without_most_chance_pairs(added, method.chance_pairs)


def keys_of(method: Method, features: DataFrame, range_size: int) -> DataFrame:
    """key, range and number of every key of every page."""

    def keys(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = method.keys(features_of(method, batch["features"]))
            numbers = batch["number"].to_numpy()[found["row"].to_numpy()]
            key = found["key"].to_numpy().view(np.int64)
            yield pa.record_batch([key, numbers // range_size, numbers], schema=KEYED)

    return features.select("number", "features").mapInArrow(keys, spark_schema(KEYED))


def features_of(method: Method, column: pa.StructArray) -> pa.RecordBatch:
    """The features in a column that comes from Spark."""
    return from_spark(pa.RecordBatch.from_struct_array(column), method.feature_schema)


def _sorted(rows: DataFrame, by: list[str]) -> DataFrame:
    """Each group in one task, in the order of page numbers."""
    return rows.repartition(*by).sortWithinPartitions(*by, "number")


def _pair_groups(batches: Batches) -> Iterator[pa.RecordBatch]:
    """The pairs of all groups."""
    for table in whole_groups(batches, ["key"]):
        numbers, keys = table["number"].to_numpy(), table["key"].to_numpy().view(np.uint64)
        yield _sharing(*pairs_sharing_keys(numbers, keys))


def _sharing(left: Rows, right: Rows, shared: Rows) -> pa.RecordBatch:
    return pa.record_batch([left, right, shared], schema=SHARING)


def _with_first(keys: DataFrame) -> DataFrame:
    """Each page with the first that has its key."""
    by_range = keys.groupBy("key", "range").agg(f.min("number").alias("left"))
    first = f.min("left").over(Window.partitionBy("key")).alias("left")
    pairs = keys.join(by_range.select("key", "range", first), ["key", "range"])
    return pairs.where("left != number").select("left", f.col("number").alias("right"))


def _over_ranges(keys: DataFrame, work: Work) -> DataFrame:
    """As `_pair_groups`, with the rows of a key cut by ranges of page numbers."""
    told = _sorted(keys, ["key", "range"]).mapInArrow(_within_ranges, spark_schema(TOLD))
    told = work.keep(told, "told")
    within = told.where("left is not null").select(*SHARING.names)
    members = told.where("left is null").select("key", "number", "speaks", "hot")
    across = _sorted(members, ["key"]).mapInArrow(_across_ranges, spark_schema(SHARING))
    return within.unionByName(across)


def _within_ranges(batches: Batches) -> Iterator[pa.RecordBatch]:
    """The pairs of large groups, all but those of their last pages; and the pages still to pair."""
    for table in whole_groups(batches, ["key", "range"]):
        key, number = table["key"].to_numpy(), table["number"].to_numpy()
        new = new_groups(table, ["key", "range"])
        starts = np.flatnonzero(new)
        sizes = np.diff(np.append(starts, new.size))
        group = np.cumsum(new) - 1
        place = np.arange(new.size) - starts[group]
        left_over = sizes[group] - place  # pages from here to the end of the group
        large = sizes[group] > HOT
        silent = large & (left_over > REACH)
        yield _told_pairs(*_next_few(group, number, silent))
        edge = ~silent | (place < REACH)
        yield _told_members(key[edge], number[edge], ~silent[edge], large[edge])


def _told_pairs(left: Rows, right: Rows, shared: Rows) -> pa.RecordBatch:
    none = [pa.nulls(left.size, field.type) for field in list(TOLD)[3:]]
    return pa.record_batch([left, right, shared, *none], schema=TOLD)


def _told_members(
    key: Rows, number: Rows, speaks: NDArray[np.bool_], hot: NDArray[np.bool_]
) -> pa.RecordBatch:
    none = [pa.nulls(key.size, pa.int64())] * 3
    return pa.record_batch([*none, key, none[0], number, speaks, hot], schema=TOLD)


def _across_ranges(batches: Batches) -> Iterator[pa.RecordBatch]:
    """The pairs that no range has told."""
    for table in whole_groups(batches, ["key"]):
        key, number = table["key"].to_numpy(), table["number"].to_numpy()
        new = new_groups(table, ["key"])
        starts, group = np.flatnonzero(new), np.cumsum(new) - 1
        sizes = np.diff(np.append(starts, new.size))
        known_hot = table["hot"].to_numpy()
        hot = (np.logical_or.reduceat(known_hot, starts) | (sizes > HOT))[group]
        speaks = hot & table["speaks"].to_numpy()
        yield _sharing(*_next_few(group, number, speaks))
        yield _sharing(*pairs_sharing_keys(number[~hot], key[~hot].view(np.uint64)))


def _next_few(group: Rows, number: Rows, speaks: NDArray[np.bool_]) -> tuple[Rows, Rows, Rows]:
    """Each page that speaks with the `REACH` pages after it in its group."""
    left, right = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for ahead in range(1, REACH + 1):
        paired = speaks[:-ahead] & (group[:-ahead] == group[ahead:])
        paired &= number[:-ahead] != number[ahead:]
        left.append(number[:-ahead][paired])
        right.append(number[ahead:][paired])
    every_left = np.concatenate(left)
    return every_left, np.concatenate(right), np.ones(every_left.size, np.int64)


def without_most_chance_pairs(pairs: DataFrame, most: int) -> DataFrame:
    """As `candidates.grouping.without_most_chance_pairs`."""
    ordered = pa.schema([*SHARING, ("turn", pa.int64())])

    def with_turn(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            turn = chance_order(batch["left"].to_numpy(), batch["right"].to_numpy())
            yield pa.record_batch([*batch.columns, unsigned_order(turn)], schema=ordered)

    single = f.col("shared") == 1
    turns = pairs.mapInArrow(with_turn, spark_schema(ordered))
    for side in ("left", "right"):
        rank = f.row_number().over(Window.partitionBy(side, single).orderBy("turn"))
        turns = turns.withColumn(f"{side}_rank", rank)
    chosen = ~single | ((f.col("left_rank") <= most) & (f.col("right_rank") <= most))
    return turns.where(chosen).select("left", "right")
