"""Candidates of a method that finds them itself: its own exact filter, block by block.

A pair that the method would name shares a key, so it is enough to ask the method about the pages of
each key. A key with very many pages is cut into blocks, and every two blocks are asked about
together: no task holds more than two blocks. Keys with few pages are asked about many at a time;
pairs that turn up beside those that share a key are pairs the method names all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.engines.spark.candidates import features_of, keys_of
from neardup.engines.spark.columns import spark_schema
from neardup.engines.spark.groups import whole_groups
from neardup.methods.all_pairs import check_page_count
from neardup.methods.base import Method, ProposesCandidates
from neardup.schemas import PAIRS

BLOCK = 8192  # pages
CELL = ["key", "one", "other"]  # the pages of a key, or those of two of its blocks


def proposed_pairs(method: Method, features: DataFrame, *, block: int = BLOCK) -> DataFrame:
    """left and right of every pair that the method names, each once."""
    _check_size(method, features)
    cells = _cells(keys_of(method, features, range_size=1), block)
    pages = cells.join(features.select("number", "features"), "number")
    by_cell = pages.repartition(*CELL).sortWithinPartitions(*CELL)

    def propose(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in whole_groups(batches, CELL, block):
            yield _named_pairs(method, table)

    return by_cell.mapInArrow(propose, spark_schema(PAIRS)).distinct()


def _check_size(method: Method, features: DataFrame) -> None:
    """A method that looks at all pairs refuses too many pages, as it does on one machine."""
    most = getattr(method.options, "maximum_pages", None)
    if most is not None:
        check_page_count(method.name, features.where("decidable").count(), most)


def _cells(keys: DataFrame, block: int) -> DataFrame:
    """Every page with the cells it is asked about in."""
    sizes = keys.groupBy("key").count().where("count > 1")
    blocks = f.ceil(f.col("count") / block)
    spread = keys.join(sizes, "key").withColumn("blocks", blocks)
    mine = f.col("number") % f.col("blocks")
    spread = spread.withColumn("mine", mine)
    spread = spread.withColumn("its", f.explode(f.sequence(f.lit(0), f.col("blocks") - 1)))
    one, other = f.least("mine", "its"), f.greatest("mine", "its")
    return spread.select("key", one.alias("one"), other.alias("other"), "number").distinct()


def _named_pairs(method: Method, table: pa.Table) -> pa.RecordBatch:
    assert isinstance(method, ProposesCandidates)
    numbers, first = np.unique(table["number"].to_numpy(), return_index=True)
    chosen = table["features"].combine_chunks().take(pa.array(first))
    column = chosen.chunk(0) if isinstance(chosen, pa.ChunkedArray) else chosen
    found = method.candidates(pa.Table.from_batches([features_of(method, column)]))
    left, right = (numbers[found[name].to_numpy()] for name in PAIRS.names)
    return pa.record_batch([left, right], schema=PAIRS)
