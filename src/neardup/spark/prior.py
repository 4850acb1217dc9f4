"""An earlier result of the Spark engine: its pages, features, clusters and verdicts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.errors import InputError
from neardup.local.prior import check_format, check_method, survey_files
from neardup.methods.base import Method
from neardup.spark.columns import renamed
from neardup.spark.identity import with_numbers
from neardup.spark.judging import JUDGED
from neardup.spark.session import Storage, Work


@dataclass(frozen=True)
class Earlier:
    """The data of an earlier run, by its own page numbers unless stated otherwise."""

    folder: str
    work: Work

    def read(self, name: str) -> DataFrame:
        return self.work.spark.read.parquet(f"{self.folder}/{name}")

    @property
    def pages(self) -> DataFrame:
        """number and record of every page."""
        pages = self.read("remembered/pages")
        if "observed" not in pages.columns:  # a result older than 0.2
            pages = pages.withColumn("observed", f.lit(None).cast("boolean"))
        return with_numbers(pages)[0]

    def counts(self, method: Method) -> dict[str, DataFrame]:
        """The counts behind its features, by the folder that they are in."""
        folders = [Path(file).stem for file in survey_files(method).values()]
        return {folder: self.read(f"remembered/{folder}") for folder in folders}

    def features(self, pages: DataFrame) -> DataFrame:
        """Its features by the numbers of this run; `pages` has all ids with their numbers."""
        numbers = renamed(self.pages, id="id", old="number").join(
            pages.select("id", "number"), "id"
        )
        features = self.read("remembered/features").withColumnRenamed("number", "old")
        features = features.withColumnRenamed("sister", "same_host_group")  # its name until 0.1
        return features.join(numbers.select("old", "number"), "old").drop("old")

    def clusters(self, pages: DataFrame) -> DataFrame:
        """number, label and kept of its pages, by the numbers of this run."""
        clusters = self.read("clusters.parquet").select(
            "id", "cluster", f.coalesce("duplicate_of", "id").alias("kept_id")
        )
        for name, column in (("id", "number"), ("cluster", "label"), ("kept_id", "kept")):
            clusters = clusters.join(renamed(pages, **{name: "id", column: "number"}), name)
        return clusters.select("number", "label", "kept")

    def verdicts(self, pages: DataFrame) -> DataFrame:
        """`JUDGED`: every pair it has judged, by the numbers of this run."""
        rows = self.read("pairs.parquet").unionByName(self.read("rejected.parquet"))
        for name, column in (("a", "left"), ("b", "right")):
            rows = rows.join(renamed(pages, **{name: "id", column: "number"}), name)
        return rows.select(*JUDGED.names)


def check_earlier(storage: Storage, folder: str, method: Method) -> None:
    """Check that this method can use an earlier result."""
    if not storage.exists(f"{folder}/summary.json"):
        raise InputError(f"{folder} holds no result of an earlier run")
    if not storage.exists(f"{folder}/remembered/features"):
        raise InputError(f"{folder} holds no result of the Spark engine; run it there first")
    summary = json.loads(storage.read_text(f"{folder}/summary.json"))
    check_format(folder, summary)
    check_method(folder, summary, method)


def with_known(pairs: DataFrame, earlier: DataFrame, known: DataFrame) -> DataFrame:
    """The candidates that involve a new page and are not known."""
    old = earlier.select("number")
    both = pairs.join(old.withColumnRenamed("number", "left"), "left", "left_semi").join(
        old.withColumnRenamed("number", "right"), "right", "left_semi"
    )
    new = pairs.join(both, ["left", "right"], "left_anti")
    return new.join(known.select("left", "right"), ["left", "right"], "left_anti")
