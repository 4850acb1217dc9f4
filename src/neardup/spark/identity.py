"""One id, one page, and a number for each page in the order of ids.

The rule is that of `rules.identity`: of the records under one id the first, by (time, content,
place), keeps it; a later one takes its alternative id, if no other record has it or claims it
first; the others are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from neardup.local.corpus import CARRIED
from neardup.model import SkipReason
from neardup.spark.session import Work

PAGE = ["id", *CARRIED]
SKIP = ["source", "record", "id", "reason", "detail"]
ROW_MASK = (1 << 33) - 1  # the part of Spark's row numbers that is the row within its partition


@dataclass(frozen=True)
class Identified:
    """`pages` has number, place (null for a page of an earlier run) and `PAGE`."""

    pages: DataFrame
    dropped: DataFrame  # the places of records that did not become pages
    skipped: DataFrame  # SKIP
    count: int = 0  # of pages, once they are numbered


def settle_identities(records: DataFrame, work: Work) -> Identified:
    """The pages among the records, with their final ids, not numbered yet."""
    under_id = Window.partitionBy("id").orderBy(*_order())
    columns = ["place", "again", "digest", *PAGE]
    ranked = records.where("reason is null").select(*columns)
    ranked = ranked.withColumn("nth", f.row_number().over(under_id))
    ranked = ranked.withColumn("first_again", f.first("again").over(under_id))
    ranked = work.keep(ranked, "ranked")
    skipped = records.where("reason is not null").select(*SKIP)
    firsts, repeats = ranked.where("nth = 1"), ranked.where("nth > 1")
    if repeats.isEmpty():
        nothing = repeats.select("place")
        return Identified(firsts.select("place", *PAGE), nothing, skipped)
    renamed = work.keep(_renamed(ranked, repeats), "renamed")
    dropped = repeats.join(renamed, "place", "left_anti")
    again = repeats.join(renamed, "place").withColumn("id", f.col("name"))
    pages = firsts.select("place", *PAGE).unionByName(again.select("place", *PAGE))
    repeated = _duplicates(dropped, "another record has this id")
    return Identified(pages, dropped.select("place"), skipped.unionByName(repeated))


def _order() -> list[Column]:
    unsigned = f.col("digest").bitwiseXOR(f.lit(-(1 << 63)))
    return [f.asc_nulls_last("time"), unsigned.asc(), f.asc("source"), f.asc("record")]


def _renamed(ranked: DataFrame, repeats: DataFrame) -> DataFrame:
    """`place` and `name` of the repeats whose alternative id is free; the first to claim it."""
    taken = ranked.select("id").union(repeats.select("first_again")).distinct()
    wanting = repeats.where("again != ''").withColumnRenamed("again", "name")
    free = wanting.join(taken.withColumnRenamed("id", "name"), "name", "left_anti")
    by_turn = Window.partitionBy("name").orderBy(f.asc("id"), *_order())
    return (
        free.withColumn("turn", f.row_number().over(by_turn))
        .where("turn = 1")
        .select("place", "name")
    )


def _duplicates(pages: DataFrame, why: str) -> DataFrame:
    reason = f.lit(str(SkipReason.DUPLICATE_ID)).alias("reason")
    return pages.select("source", "record", "id", reason, f.lit(why).alias("detail"))


def without_earlier(found: Identified, earlier: DataFrame) -> Identified:
    """The pages of an earlier run, and those whose ids it does not have."""
    ids = earlier.select("id")
    seen = found.pages.join(ids, "id", "left_semi")
    old = earlier.select(f.lit(None).cast("long").alias("place"), *PAGE)
    return Identified(
        found.pages.join(ids, "id", "left_anti").select("place", *PAGE).unionByName(old),
        found.dropped.unionByName(seen.select("place")),
        found.skipped.unionByName(_duplicates(seen, "the earlier result has this id")),
    )


def number_pages(found: Identified, work: Work) -> Identified:
    """The pages, numbered from 0 in the order of their ids."""
    row = f.monotonically_increasing_id().bitwiseAND(ROW_MASK)
    in_order = found.pages.orderBy("id").select(
        f.spark_partition_id().alias("part"), row.alias("row"), "place", *PAGE
    )
    pages, count = with_numbers(work.keep(in_order, "result/remembered/pages"))
    return Identified(pages, found.dropped, found.skipped, count)


def with_numbers(in_order: DataFrame) -> tuple[DataFrame, int]:
    """The pages with their numbers, and how many there are.

    Only the sizes of the sorted partitions come to the driver.
    """
    sizes = {each["part"]: each["count"] for each in in_order.groupBy("part").count().collect()}
    in_turn = (sizes.get(part, 0) for part in range(max(sizes)))
    starts = list(accumulate(in_turn, initial=0))
    first = f.element_at(f.lit(starts).cast("array<bigint>"), f.col("part") + 1)
    number = (first + f.col("row")).alias("number")
    return in_order.select(number, "place", *PAGE), sum(sizes.values())
