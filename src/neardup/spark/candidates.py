"""Candidates: pages that share a key, exactly those that `rules.candidates` names.

Keys are shuffled so that a task has all pages of a key. They are packed, many of a bucket in a row:
a page has dozens, and Spark is slow with many rows. A bucket is too large for a task if it has a
key of very many pages (a theme, a banner). Its keys are cut by ranges of page numbers. Within a hot
key a page is paired with the next few only, so a range pairs all its pages but the last few, and
passes on its first and last ones; a second shuffle pairs those across ranges.

A method with its own search gets the pages of each key, since every pair that it finds shares one.
A key with very many pages is cut into blocks, and every two blocks are searched together, so no
task holds more than two. Keys with few pages are searched many at a time; pairs found across keys
are valid results of the search too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from neardup.arrays import Hashes, Mask, Numbers, booleans, one_batch, places_in_runs
from neardup.methods.base import Method, Searches, SharedKeys, check_page_count
from neardup.methods.identical import identity_pairs
from neardup.rules.candidates import HOT, REACH, chance_order, pairs_sharing_keys
from neardup.schemas import PAIRS
from neardup.spark.columns import (
    bounded,
    features_of,
    heaps,
    map_batches,
    map_groups,
    new_groups,
    packed_numbers,
    row_starts,
    spark_schema,
    unsigned_order,
)
from neardup.spark.work import Work

RANGE = 1 << 20  # page numbers in a range, and pages of which no bucket is too large
KEYS_AT_ONCE = 1_000_000  # keys that a task collects before it packs them
KEYS_OF_A_BUCKET = 4_000_000  # at most, in a task
ROWS_OF_KEYS = 1024  # packed rows that a step gets at once, or those of one bucket
KEYED = pa.schema([("key", pa.int64()), ("range", pa.int64()), ("number", pa.int64())])
PACKED_KEYS = pa.schema([("bucket", pa.int32()), ("keys", pa.binary()), ("numbers", pa.binary())])
SHARING = pa.schema([("left", pa.int64()), ("right", pa.int64()), ("shared", pa.int64())])
# The output of a range: pairs, or pages for other ranges; `unpaired` are those without their pairs.
RANGED = pa.schema([*SHARING, *KEYED, ("unpaired", pa.bool_()), ("hot", pa.bool_())])


def pairs_by_keys(method: Method, features: DataFrame, count: int, work: Work) -> DataFrame:
    """left and right of every pair that is worth judging, each once."""
    source = method.candidate_source
    assert isinstance(source, SharedKeys)
    if source.decisive:
        return _with_first(keys_of(method, features, RANGE)).distinct()
    keys = packed_keys_of(method, features, max(8, (count >> 14).bit_length()))
    sharing = _pair_buckets(keys) if count <= RANGE else sharing_keys(keys, work)
    added = sharing.groupBy("left", "right").agg(f.sum("shared").alias("shared"))
    if source.max_single_key_pairs is None:
        return added.select("left", "right")
    return without_most_single_key_pairs(added, source.max_single_key_pairs)


def sharing_keys(
    keys: DataFrame,
    work: Work,
    *,
    keys_of_a_bucket: int = KEYS_OF_A_BUCKET,
    range_size: int = RANGE,
) -> DataFrame:
    """`SHARING` of `PACKED_KEYS`, of which some buckets may be too large for a task."""
    keys = work.keep(keys, "keys")
    sizes = keys.groupBy("bucket").agg(f.sum(f.octet_length("keys")).alias("bytes"))
    large = work.keep(sizes.where(f.col("bytes") > 8 * keys_of_a_bucket), "large-buckets")
    if large.isEmpty():
        return _pair_buckets(keys)
    in_ranges = map_batches(
        keys.join(large, "bucket", "left_semi"),
        lambda packed: _keyed(*unpacked_keys(packed), range_size),
        KEYED,
    )
    rest = keys.join(large, "bucket", "left_anti")
    return _pair_buckets(rest).unionByName(_over_ranges(in_ranges, work))


def _pair_buckets(keys: DataFrame) -> DataFrame:
    return map_groups(keys, ["bucket"], _pair_groups, SHARING, rows_at_once=ROWS_OF_KEYS)


def keys_of(method: Method, features: DataFrame, range_size: int) -> DataFrame:
    """key, range and number of every key of every page."""

    def keys(batch: pa.RecordBatch) -> pa.RecordBatch:
        return _keyed(*_row_keys(method, batch), range_size)

    return map_batches(features.select("number", "features"), keys, KEYED)


def _row_keys(method: Method, batch: pa.RecordBatch) -> tuple[Hashes, Numbers]:
    """The keys of some pages, and the number of the page that each is of."""
    rows, keys = method.row_keys(features_of(method, batch["features"]))
    return keys, batch["number"].to_numpy()[rows]


def _keyed(keys: Hashes, numbers: Numbers, range_size: int) -> pa.RecordBatch:
    return pa.record_batch([keys.view(np.int64), numbers // range_size, numbers], schema=KEYED)


def packed_keys_of(method: Method, features: DataFrame, bits: int) -> DataFrame:
    """`PACKED_KEYS`: the keys of every page, many of one bucket (the first `bits`) in a row."""

    def keys(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        row_keys = (_row_keys(method, batch) for batch in batches)
        for held in heaps(row_keys, lambda each: each[0].size, KEYS_AT_ONCE):
            yield from bounded(packed_keys(held, bits))

    return features.select("number", "features").mapInArrow(keys, spark_schema(PACKED_KEYS))


def packed_keys(held: Sequence[tuple[Hashes, Numbers]], bits: int) -> pa.RecordBatch:
    """`PACKED_KEYS` of keys and the numbers of their pages."""
    keys, numbers = (np.concatenate(each) for each in zip(*held, strict=True))
    buckets = (keys >> np.uint64(64 - bits)).astype(np.int32)
    order = np.argsort(buckets, kind="stable")
    buckets = buckets[order]
    starts = row_starts(buckets)
    packed = (packed_numbers(each[order], starts) for each in (keys, numbers))
    return pa.record_batch([buckets[starts], *packed], schema=PACKED_KEYS)


def unpacked_keys(packed: pa.Table | pa.RecordBatch) -> tuple[Hashes, Numbers]:
    """The keys of `PACKED_KEYS`, and the numbers of their pages."""
    keys, numbers = (b"".join(packed[name].to_pylist()) for name in ("keys", "numbers"))
    return np.frombuffer(keys, np.uint64), np.frombuffer(numbers, np.int64)


def _pair_groups(packed: pa.Table) -> Iterator[pa.RecordBatch]:
    keys, numbers = unpacked_keys(packed)
    yield _sharing(*pairs_sharing_keys(numbers, keys))


def _sharing(left: Numbers, right: Numbers, shared: Numbers) -> pa.RecordBatch:
    return pa.record_batch([left, right, shared], schema=SHARING)


def _with_first(keys: DataFrame) -> DataFrame:
    """Each page with the first that has its key."""
    by_range = keys.groupBy("key", "range").agg(f.min("number").alias("left"))
    first = f.min("left").over(Window.partitionBy("key")).alias("left")
    pairs = keys.join(by_range.select("key", "range", first), ["key", "range"])
    return pairs.where("left != number").select("left", f.col("number").alias("right"))


def _over_ranges(keys: DataFrame, work: Work) -> DataFrame:
    """`SHARING` of `KEYED`, of each key in one range of page numbers after the other."""
    ranged = map_groups(keys, ["key", "range"], _within_ranges, RANGED, order=["number"])
    ranged = work.keep(ranged, "ranged")
    within = ranged.where("left is not null").select(*SHARING.names)
    members = ranged.where("left is null").select("key", "number", "unpaired", "hot")
    across = map_groups(members, ["key"], _across_ranges, SHARING, order=["number"])
    return within.unionByName(across)


def _within_ranges(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """The pairs of large groups, all but those of their last pages; and the pages still to pair."""
    key, number = table["key"].to_numpy(), table["number"].to_numpy()
    group = np.cumsum(new_groups(table, ["key", "range"]), dtype=np.int64)
    place, size = places_in_runs(group), np.bincount(group)[group]
    large = size > HOT
    paired = large & (size - place > REACH)  # enough others follow in the group
    yield _ranged_pairs(*_next_few(group, number, paired))
    edge = ~paired | (place < REACH)
    yield _ranged_members(key[edge], number[edge], ~paired[edge], large[edge])


def _ranged_pairs(left: Numbers, right: Numbers, shared: Numbers) -> pa.RecordBatch:
    none = [pa.nulls(left.size, field.type) for field in list(RANGED)[3:]]
    return pa.record_batch([left, right, shared, *none], schema=RANGED)


def _ranged_members(key: Numbers, number: Numbers, unpaired: Mask, hot: Mask) -> pa.RecordBatch:
    none = [pa.nulls(key.size, pa.int64())] * 3
    return pa.record_batch([*none, key, none[0], number, unpaired, hot], schema=RANGED)


def _across_ranges(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """The pairs that no range has produced."""
    key, number = table["key"].to_numpy(), table["number"].to_numpy()
    group = np.cumsum(new_groups(table, ["key"]), dtype=np.int64)
    known_hot = np.bincount(group, booleans(table["hot"])) > 0
    hot = (known_hot | (np.bincount(group) > HOT))[group]
    unpaired = hot & booleans(table["unpaired"])
    yield _sharing(*_next_few(group, number, unpaired))
    yield _sharing(*pairs_sharing_keys(number[~hot], key[~hot].view(np.uint64)))


def _next_few(group: Numbers, number: Numbers, some: Mask) -> tuple[Numbers, Numbers, Numbers]:
    """Each of some pages with the `REACH` pages after it in its group."""
    left, right = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for ahead in range(1, REACH + 1):
        paired = some[:-ahead] & (group[:-ahead] == group[ahead:])
        paired &= number[:-ahead] != number[ahead:]
        left.append(number[:-ahead][paired])
        right.append(number[ahead:][paired])
    every_left = np.concatenate(left)
    return every_left, np.concatenate(right), np.ones(every_left.size, np.int64)


def without_most_single_key_pairs(pairs: DataFrame, most: int) -> DataFrame:
    """The pairs of `rules.candidates.worth_judging`."""
    ordered = pa.schema([*SHARING, ("turn", pa.int64())])

    def with_turn(batch: pa.RecordBatch) -> pa.RecordBatch:
        turn = chance_order(batch["left"].to_numpy(), batch["right"].to_numpy())
        return pa.record_batch([*batch.columns, unsigned_order(turn)], schema=ordered)

    single = f.col("shared") == 1
    turns = map_batches(pairs, with_turn, ordered)
    for side in ("left", "right"):
        rank = f.row_number().over(Window.partitionBy(side, single).orderBy("turn"))
        turns = turns.withColumn(f"{side}_rank", rank)
    chosen = ~single | ((f.col("left_rank") <= most) & (f.col("right_rank") <= most))
    return turns.where(chosen).select("left", "right")


BLOCK = 8192  # pages
CELL = ["key", "one", "other"]  # the pages of a key, or those of two of its blocks


def searched_pairs(method: Method, searches: Searches, features: DataFrame) -> DataFrame:
    """left and right of every pair that the search finds, each once."""
    _check_size(method, features)
    cells = _cells(keys_of(method, features, range_size=1))
    pages = cells.join(features.select("number", "features"), "number")
    return map_groups(
        pages,
        CELL,
        lambda table: [_found_pairs(method, searches, table)],
        PAIRS,
        rows_at_once=BLOCK,
    ).distinct()


def _check_size(method: Method, features: DataFrame) -> None:
    """A method that looks at all pairs refuses too many pages, as it does on one machine."""
    most = getattr(method.options, "maximum_pages", None)
    if most is not None:
        check_page_count(method.name, features.where("decidable").count(), most)


def _cells(keys: DataFrame) -> DataFrame:
    """Every page with the cells in which it is searched."""
    sizes = keys.groupBy("key").count().where("count > 1")
    blocks = f.ceil(f.col("count") / BLOCK)
    spread = keys.join(sizes, "key").withColumn("blocks", blocks)
    mine = f.col("number") % f.col("blocks")
    spread = spread.withColumn("mine", mine)
    spread = spread.withColumn("its", f.explode(f.sequence(f.lit(0), f.col("blocks") - 1)))
    one, other = f.least("mine", "its"), f.greatest("mine", "its")
    return spread.select("key", one.alias("one"), other.alias("other"), "number").distinct()


def _found_pairs(method: Method, searches: Searches, table: pa.Table) -> pa.RecordBatch:
    numbers, first = np.unique(table["number"].to_numpy(), return_index=True)
    chosen = table.select(["features"]).take(pa.array(first))
    features = features_of(method, one_batch(chosen)["features"])
    pairs = pa.concat_batches(
        [searches.search(pa.Table.from_batches([features])), identity_pairs(features)]
    )
    left, right = (numbers[pairs[name].to_numpy()] for name in PAIRS.names)
    return pa.record_batch([left, right], schema=PAIRS)
