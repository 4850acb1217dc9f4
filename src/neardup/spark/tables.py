"""The tables and the summary of a result, in the schema of the local engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation, Window
from pyspark.sql import functions as f

from neardup.local import result
from neardup.local.outcome import LIBRARIES, REJECTED, SHELL_HOSTS, build_summary
from neardup.methods.base import Method
from neardup.model import Relation, SkipReason
from neardup.pages.urls import host
from neardup.spark.columns import features_of, looked_up, map_batches
from neardup.spark.work import Work

if TYPE_CHECKING:
    from neardup.spark.pipeline import Decided

NEVER = {pa.string(): "", pa.bool_(): False, pa.int64(): 0}
HOSTS = pa.schema([("host", pa.string())])
NUMBERS = pa.schema([("number", pa.int64())])
Counts = dict[str, int]


def write_tables(decided: Decided, work: Work) -> dict[str, Counts]:
    """Write clusters, pairs, rejected and skipped as directories of sorted Parquet files.

    What the summary says of each table is counted while it is written.
    """
    pages = decided.identified.pages
    failed = f.col("relation").isin(*REJECTED)
    named = looked_up(decided.verdicts, pages, "number", "id", left="a", right="b")
    clusters = cluster_rows(pages, decided.features, decided.members)
    relations, reasons = _tally("relation", Relation), _tally("reason", SkipReason)
    tables = {
        "clusters": (result.CLUSTERS, clusters, ["id"], _page_counts()),
        "pairs": (result.PAIRS, named.where(~failed), ["a", "b"], relations),
        "rejected": (result.PAIRS, named.where(failed), ["a", "b"], relations),
        "skipped": (result.SKIPPED, decided.identified.skipped, result.SKIPPED.names, reasons),
    }
    counts: dict[str, Counts] = {}
    for name, (schema, rows, order, counted) in tables.items():
        seen = Observation()
        ordered = rows.sortWithinPartitions(*order).observe(seen, *counted)
        columns = [_column(field) for field in schema]
        work.write(ordered.select(columns), f"{work.result}/{name}.parquet")
        counts[name] = {what: count or 0 for what, count in seen.get.items()}
    work.write(pages, f"{work.result}/remembered/pages")
    return counts


def _page_counts() -> list[Column]:
    """Clusters and what dropping the duplicates would save, of the rows of `cluster_rows`."""
    kept, alone = f.col("kept"), f.col("members") == 1
    counts = {
        "pages": f.count("*"),
        "clusters": f.count(f.when(kept, 1)),
        "clusters_with_duplicates": f.count(f.when(kept & ~alone, 1)),
        "largest_cluster": f.max("members"),
        "kept": f.count(f.when(kept, 1)),
        "duplicates": f.count(f.when(~kept, 1)),
        "bytes": f.sum("size"),
        "duplicate_bytes": f.sum(f.when(~kept, f.col("size"))),
        "undecided": f.count(f.when(alone & ~f.col("decidable"), 1)),
    }
    return [count.alias(name) for name, count in counts.items()]


def _tally(column: str, kinds: Iterable[str]) -> list[Column]:
    """How many rows there are of each kind."""
    return [f.count(f.when(f.col(column) == str(kind), 1)).alias(str(kind)) for kind in kinds]


def _column(field: pa.Field) -> Column:
    """A column of the local engine's schema. A substitute that is never used makes Spark treat the
    column as never null."""
    column = f.col(field.name)
    if field.nullable:
        return column
    return f.coalesce(column, f.lit(NEVER[field.type])).alias(field.name)


def cluster_rows(pages: DataFrame, features: DataFrame, members: DataFrame) -> DataFrame:
    """One row per page: its cluster, and its relation to the kept page; besides the columns of
    `result.CLUSTERS` what is counted. `members` are the pages in clusters of several."""
    members = looked_up(members, pages, "number", "id", label="cluster", kept="kept_id")
    rows = pages.select("number", "id", "url", "size").join(members, "number", "left")
    rows = rows.join(features.select("number", "decidable"), "number")
    rows = rows.withColumn("members", f.coalesce("members", f.lit(1)))
    is_kept = f.coalesce(f.col("kept") == f.col("number"), f.lit(True))
    alone = f.when(~f.col("decidable") & (f.col("members") == 1), str(Relation.UNDECIDED))
    return rows.select(
        "id",
        "url",
        f.coalesce("cluster", "id").alias("cluster"),
        is_kept.alias("kept"),
        f.when(~is_kept, f.col("kept_id")).alias("duplicate_of"),
        "similarity",
        f.coalesce("relation", alone).alias("relation"),
        "members",
        "size",
        "decidable",
    )


def kept_places(decided: Decided) -> DataFrame:
    """source, record and id of the kept pages of this run."""
    dropped = decided.members.where("number != kept").select("number")
    pages = decided.identified.pages.where("place is not null").join(dropped, "number", "left_anti")
    return pages.select("source", "record", "id")


def summarise(
    inputs: Sequence[str],
    settings: Mapping[str, object],
    decided: Decided,
    counts: Mapping[str, Counts],
    work: Work,
) -> dict[str, Any]:
    """The summary, as the local engine writes it; `counts` are those of `write_tables`."""
    pairs, rejected = counts["pairs"], counts["rejected"]
    relations = {name: pairs[name] + rejected[name] for name in pairs}
    skips = counts["skipped"]
    skipped, pages = sum(skips.values()), counts["clusters"]
    page_counts = {"records": pages["pages"] + skipped, "pages": 0, "skipped": skipped, **pages}
    run = {
        "engine": "spark",
        "master": work.spark.sparkContext.master,
        "seconds": {stage.name: round(stage.seconds, 3) for stage in work.stages.done},
    }
    libraries = [*LIBRARIES, "pyspark"]
    summary = build_summary(
        inputs, settings, page_counts, _some(relations), _some(skips), None, run, libraries
    )
    return summary | {"shells": _count_shells(decided)}


def _some(counts: Counts) -> Counts:
    return {name: count for name, count in counts.items() if count}


def _count_shells(decided: Decided) -> dict[str, Any]:
    """How many pages are shells, and the hosts with most of them."""
    several = decided.members.where("members > 1").select("number")
    shells = _shells(decided.method, decided.features).join(several, "number", "left_anti")
    urls = decided.identified.pages.join(shells, "number").select("url")

    def hosts(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.record_batch([[host(url) for url in batch["url"].to_pylist()]], schema=HOSTS)

    seen = Observation()
    by_host = map_batches(urls, hosts, HOSTS).groupBy("host").count()
    by_host = by_host.observe(seen, f.sum("count").alias("pages"))
    most = by_host.orderBy(f.desc("count"), "host").limit(SHELL_HOSTS).collect()
    return {
        "pages": seen.get["pages"] or 0,
        "hosts": {each["host"]: each["count"] for each in most},
    }


def _shells(method: Method, features: DataFrame) -> DataFrame:
    """The numbers of the pages that the method takes for shells, or that `identical.shells` would:
    another page of the host has the same text, and they have different titles or too little text.
    """

    def of_method(batch: pa.RecordBatch) -> pa.RecordBatch:
        are_shells = method.shells(features_of(method, batch["features"]))
        return batch.select(["number"]).filter(pa.array(are_shells))

    # A page whose own text did not arrive has too little for a verdict.
    short = features.where("not decidable").select("number", "features")
    by_text = ["text_high", "text_low", "shell_key"]
    keys = features.select("number", *by_text, "bytes_key", "content_key")
    may_be = keys.where("shell_key != 0 and (text_high | text_low) != 0")
    pages = f.count("*").over(Window.partitionBy(*by_text))
    with_title = f.count("*").over(Window.partitionBy(*by_text, "content_key"))
    counted = may_be.withColumns({"pages": pages, "with_title": with_title})
    shells = counted.where("if(bytes_key = content_key, pages > 1, pages > with_title)")
    of_rule = shells.select("number")
    return of_rule.unionByName(map_batches(short, of_method, NUMBERS)).distinct()
