"""The tables and the summary of a result, in the schema of the local engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from neardup.local import result
from neardup.model import Relation
from neardup.rules.summary import LIBRARIES, REJECTED, build_summary
from neardup.spark.clusters import Clustered
from neardup.spark.columns import renamed
from neardup.spark.session import Work

if TYPE_CHECKING:
    from neardup.spark.pipeline import Decided

NEVER = {pa.string(): "", pa.bool_(): False, pa.int64(): 0}


def write_tables(decided: Decided, work: Work) -> None:
    """Write clusters, pairs, rejected and skipped as directories of sorted Parquet files."""
    found = decided.found
    failed = f.col("relation").isin(*REJECTED)
    named = _with_ids(decided.verdicts, found.pages)
    clusters = cluster_rows(found.pages, decided.features, decided.clustered)
    tables = {
        "clusters": (result.CLUSTERS, clusters, ["id"]),
        "pairs": (result.PAIRS, named.where(~failed), ["a", "b"]),
        "rejected": (result.PAIRS, named.where(failed), ["a", "b"]),
        "skipped": (result.SKIPPED, found.skipped, result.SKIPPED.names),
    }
    for name, (schema, rows, order) in tables.items():
        columns = [_column(field) for field in schema]
        ordered = rows.select(columns).sortWithinPartitions(*order)
        work.write(ordered, f"{work.result}/{name}.parquet")
    work.write(found.pages, f"{work.result}/remembered/pages")


def _column(field: pa.Field) -> Column:
    """A column of the local engine's schema. A substitute that is never used makes Spark treat the
    column as never null."""
    column = f.col(field.name)
    if field.nullable:
        return column
    return f.coalesce(column, f.lit(NEVER[field.type])).alias(field.name)


def cluster_rows(pages: DataFrame, features: DataFrame, clustered: Clustered) -> DataFrame:
    """One row per page: its cluster, and its relation to the kept page."""
    rows = pages.select("number", "id", "url").join(clustered.pages, "number")
    for number, name in (("label", "cluster"), ("kept", "kept_id")):
        rows = rows.join(renamed(pages, **{number: "number", name: "id"}), number)
    rows = rows.join(clustered.to_kept, "number", "left")
    rows = rows.join(features.select("number", "decidable"), "number")
    is_kept = f.col("kept") == f.col("number")
    size = f.count("*").over(Window.partitionBy("label"))
    alone = f.when(~f.col("decidable") & (size == 1), str(Relation.UNDECIDED))
    return rows.select(
        "id",
        "url",
        "cluster",
        is_kept.alias("kept"),
        f.when(~is_kept, f.col("kept_id")).alias("duplicate_of"),
        "similarity",
        f.coalesce("relation", alone).alias("relation"),
    )


def kept_places(decided: Decided) -> DataFrame:
    """source, record and id of the kept pages of this run."""
    kept = decided.clustered.pages.where("number = kept").select("number")
    pages = decided.found.pages.where("place is not null").join(kept, "number")
    return pages.select("source", "record", "id")


def _with_ids(verdicts: DataFrame, pages: DataFrame) -> DataFrame:
    for number, name in (("left", "a"), ("right", "b")):
        verdicts = verdicts.join(renamed(pages, **{number: "number", name: "id"}), number)
    return verdicts


def summarise(
    inputs: Sequence[str],
    settings: Mapping[str, object],
    decided: Decided,
    work: Work,
) -> dict[str, Any]:
    """The summary, as the local engine writes it."""
    found, clustered = decided.found, decided.clustered
    verdicts, features = decided.verdicts, decided.features
    relations, skips = _tally(verdicts, "relation"), _tally(found.skipped, "reason")
    counts = _page_counts(found.pages, clustered, sum(skips.values()))
    counts["undecided"] = _undecided(features, clustered)
    run = {
        "engine": "spark",
        "master": work.spark.sparkContext.master,
        "seconds": {stage.name: round(stage.seconds, 3) for stage in work.stages.done},
    }
    libraries = [*LIBRARIES, "pyspark"]
    return build_summary(inputs, settings, counts, relations, skips, None, run, libraries)


def _page_counts(pages: DataFrame, clustered: Clustered, skipped: int) -> dict[str, int]:
    """Records, pages, clusters and what dropping the duplicates would save."""
    dropped = f.when(f.col("kept") != f.col("number"), f.col("size")).otherwise(0)
    rows = pages.select("number", "size").join(clustered.pages, "number")
    clusters = rows.groupBy("label").agg(
        f.count("*").alias("pages"), f.sum("size").alias("size"), f.sum(dropped).alias("dropped")
    )
    found = clusters.agg(
        f.sum("pages").alias("pages"),
        f.count("*").alias("clusters"),
        f.count(f.when(f.col("pages") > 1, 1)).alias("several"),
        f.max("pages").alias("largest"),
        f.sum("size").alias("size"),
        f.sum("dropped").alias("dropped"),
    ).first()
    assert found is not None
    return {
        "records": found["pages"] + skipped,
        "pages": found["pages"],
        "skipped": skipped,
        "clusters": found["clusters"],
        "clusters_with_duplicates": found["several"],
        "largest_cluster": found["largest"],
        "kept": found["clusters"],
        "duplicates": found["pages"] - found["clusters"],
        "bytes": found["size"],
        "duplicate_bytes": found["dropped"],
    }


def _undecided(features: DataFrame, clustered: Clustered) -> int:
    """How many pages have too little text for a verdict and are identical with none."""
    alone = clustered.pages.groupBy("label").agg(f.count("*").alias("pages")).where("pages = 1")
    short = features.where("not decidable").select(f.col("number").alias("label"))
    return short.join(alone, "label").count()


def _tally(rows: DataFrame, name: str) -> dict[str, int]:
    return {row[name]: row["count"] for row in rows.groupBy(name).count().collect()}
