"""One id, one page, and a number for each page in the order of ids.

The rule is that of `rules.identity`: of the records under one id the first, by (time, content,
place), keeps it; a later one takes its alternative id, if no other record has it or claims it
first; the others are skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as f

from neardup.local.corpus import CARRIED
from neardup.model import SkipReason
from neardup.spark.work import Work

PAGE = ["id", *CARRIED]
SKIP = ["source", "record", "id", "reason", "detail"]
ROW_MASK = (1 << 33) - 1  # the part of Spark's row numbers that is the row within its partition


@dataclass(frozen=True)
class Identified:
    """`pages` has number, place (null for a page of an earlier run) and `PAGE`."""

    pages: DataFrame
    skipped: DataFrame  # SKIP
    dropped: DataFrame | None = None  # the places of records that did not become pages, if any
    count: int = 0  # of pages, once they are numbered


def identify(records: DataFrame, earlier: DataFrame | None, work: Work) -> Identified:
    """Every page with its id and number; those of an earlier run (`earlier`) among them.

    Records are sorted by id, so that those of one id are side by side. Where no id comes twice,
    which is the rule, they are the pages, numbered as they stand.
    """
    ranked = work.keep(_ranked(records), "ranked")
    sizes = part_sizes(ranked, f.max("nth").alias("nth"))
    skipped = records.where("reason is not null").select(*SKIP)
    if not sizes:
        return Identified(ranked.select("place", *PAGE), skipped)
    if earlier is None and max(each["nth"] for each in sizes) == 1:
        pages, count = with_numbers(ranked, sizes)
        return Identified(pages, skipped, count=count)
    identified = _settle(ranked, skipped, work)
    if earlier is not None:
        identified = _without_earlier(identified, earlier)
    in_order = work.keep(in_parts(identified.pages.orderBy("id"), "place", *PAGE), "numbered")
    pages, count = with_numbers(in_order, part_sizes(in_order))
    return replace(identified, pages=pages, count=count)


def _ranked(records: DataFrame) -> DataFrame:
    """The records of pages in the order of their ids; `nth` counts those of one id."""
    under_id = Window.partitionBy("id").orderBy(*_order())
    columns = ["place", "again", "digest", *PAGE]
    by_id = records.where("reason is null").select(*columns).repartitionByRange("id")
    ranked = by_id.withColumn("nth", f.row_number().over(under_id))
    ranked = ranked.withColumn("first_again", f.first("again").over(under_id))
    return in_parts(ranked, *columns, "nth", "first_again")


def in_parts(ordered: DataFrame, *columns: str) -> DataFrame:
    """Ordered rows with their partition (`part`) and their row in it."""
    row = f.monotonically_increasing_id().bitwiseAND(ROW_MASK)
    return ordered.select(f.spark_partition_id().alias("part"), row.alias("row"), *columns)


def _settle(ranked: DataFrame, skipped: DataFrame, work: Work) -> Identified:
    """The pages among the records, with their final ids, not numbered yet."""
    firsts, repeats = ranked.where("nth = 1"), ranked.where("nth > 1")
    renamed = work.keep(_renamed(ranked, repeats), "renamed")
    dropped = repeats.join(renamed, "place", "left_anti")
    again = repeats.join(renamed, "place").withColumn("id", f.col("name"))
    pages = firsts.select("place", *PAGE).unionByName(again.select("place", *PAGE))
    repeated = _duplicates(dropped, "another record has this id")
    return Identified(pages, skipped.unionByName(repeated), dropped.select("place"))


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


def _without_earlier(identified: Identified, earlier: DataFrame) -> Identified:
    """The pages of an earlier run, and those whose ids it does not have."""
    assert identified.dropped is not None
    ids = earlier.select("id")
    seen = identified.pages.join(ids, "id", "left_semi")
    old = earlier.select(f.lit(None).cast("long").alias("place"), *PAGE)
    return Identified(
        identified.pages.join(ids, "id", "left_anti").select("place", *PAGE).unionByName(old),
        identified.skipped.unionByName(_duplicates(seen, "the earlier result has this id")),
        identified.dropped.unionByName(seen.select("place")),
    )


def part_sizes(in_order: DataFrame, *more: Column) -> list[Row]:
    """The size of each sorted partition: all that comes to the driver to number the pages."""
    return in_order.groupBy("part").agg(f.count("*").alias("count"), *more).collect()


def with_numbers(in_order: DataFrame, sizes: Sequence[Row]) -> tuple[DataFrame, int]:
    """The pages, numbered from 0 in the order of their ids, and how many there are."""
    of_part = {each["part"]: each["count"] for each in sizes}
    in_turn = (of_part.get(part, 0) for part in range(max(of_part)))
    starts = list(accumulate(in_turn, initial=0))
    first = f.element_at(f.lit(starts).cast("array<bigint>"), f.col("part") + 1)
    number = (first + f.col("row")).alias("number")
    return in_order.select(number, "place", *PAGE), sum(of_part.values())
