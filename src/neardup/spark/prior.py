"""An earlier result of either engine: its pages, features, clusters and verdicts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.errors import InputError
from neardup.local import result
from neardup.local.corpus import CARRIED, SPILLED
from neardup.local.exchange import carried_schema, to_spark
from neardup.local.prior import (
    check_format,
    check_method,
    read_features,
    read_summary,
    survey_files,
)
from neardup.methods.base import Method, evidence_json
from neardup.spark.columns import (
    FEATURES,
    PACKED,
    bounded,
    feature_rows,
    looked_up,
    packed_counts,
    renamed,
    spark_schema,
)
from neardup.spark.identity import part_sizes, with_numbers
from neardup.spark.judging import JUDGED
from neardup.spark.session import damaged
from neardup.spark.work import Storage, Work

PAGES = pa.schema([("number", pa.int64()), *(SPILLED.field(name) for name in ("id", *CARRIED))])
ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class Earlier:
    """The data of an earlier run, by its own page numbers unless stated otherwise."""

    folder: str
    method: Method
    work: Work
    is_local: bool  # it is a result of the local engine

    @classmethod
    def of(cls, folder: str, method: Method, work: Work) -> Earlier | None:
        """The earlier run in a folder that `check_earlier` has accepted; None without a folder."""
        if not folder:
            return None
        assert work.storage is not None
        return cls(folder, method, work, not work.storage.exists(f"{folder}/remembered/features"))

    def read(self, name: str) -> DataFrame:
        if self.is_local:
            return self._read_local(name)
        return self.work.spark.read.parquet(f"{self.folder}/{name}")

    def _read_local(self, name: str) -> DataFrame:
        """A table of a result of the local engine as the Spark engine has it; one task reads it."""
        folder, method = Path(self.folder), self.method
        table = Path(name).stem
        tables: dict[str, tuple[pa.Schema, Callable[[], Iterator[pa.RecordBatch]]]] = {
            "pages": (PAGES, lambda: _local_pages(folder)),
            "features": (FEATURES, lambda: _local_features(folder, method)),
            "clusters": (result.CLUSTERS, lambda: _local_rows(folder, table, result.CLUSTERS)),
            "pairs": (result.PAIRS, lambda: _local_rows(folder, table, result.PAIRS)),
            "rejected": (result.PAIRS, lambda: _local_rows(folder, table, result.PAIRS)),
        }
        schema, batches = tables.get(table, (PACKED, lambda: _local_counts(folder, table)))

        def read(_: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            try:
                for batch in batches():
                    yield from bounded(to_spark(batch))
            except (pa.ArrowException, OSError, ValueError, KeyError, EOFError):
                raise InputError(damaged(str(folder))) from None

        one_row = self.work.spark.createDataFrame([(0,)], "row long").coalesce(1)
        rows = one_row.mapInArrow(read, spark_schema(carried_schema(schema)))
        return self.work.keep(rows, f"earlier-{table}")

    @property
    def pages(self) -> DataFrame:
        """number and record of every page."""
        pages = self.read("remembered/pages")
        if "number" in pages.columns:
            return pages
        return with_numbers(pages, part_sizes(pages))[0]

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
        return features.join(numbers.select("old", "number"), "old").drop("old")

    def clusters(self, pages: DataFrame) -> DataFrame:
        """number, label and kept of its pages, by the numbers of this run."""
        clusters = self.read("clusters.parquet").select(
            "id", "cluster", f.coalesce("duplicate_of", "id").alias("kept_id")
        )
        columns = {"id": "number", "cluster": "label", "kept_id": "kept"}
        return looked_up(clusters, pages, "id", "number", **columns).select(*columns.values())

    def verdicts(self, pages: DataFrame) -> DataFrame:
        """`JUDGED`: every pair it has judged, by the numbers of this run."""
        rows = self.read("pairs.parquet").unionByName(self.read("rejected.parquet"))
        return looked_up(rows, pages, "id", "number", a="left", b="right").select(*JUDGED.names)


def check_earlier(storage: Storage, folder: str, method: Method) -> None:
    """Check that this method can use an earlier result."""
    if not storage.exists(f"{folder}/summary.json"):
        raise InputError(f"{folder} holds no result of an earlier run")
    try:
        summary = json.loads(storage.read_text(f"{folder}/summary.json"))
    except (ValueError, Py4JError):
        raise InputError(f"{folder} is damaged: its summary.json cannot be read") from None
    if not storage.exists(f"{folder}/remembered/features"):
        read_summary(Path(folder))  # of the local engine, which must be on a path of all machines
    check_format(folder, summary)
    check_method(folder, summary, method)


# Tables of a result of the local engine


def _local_pages(folder: Path) -> Iterator[pa.RecordBatch]:
    names, file = PAGES.names[1:], pq.ParquetFile(folder / result.PAGES_FILE)
    first = 0
    for batch in file.iter_batches(ROWS_AT_ONCE, columns=names):
        numbers = np.arange(first, first + batch.num_rows)
        yield pa.record_batch([numbers, *batch.select(names).columns], schema=PAGES)
        first += batch.num_rows


def _local_features(folder: Path, method: Method) -> Iterator[pa.RecordBatch]:
    for numbers, batch in read_features(folder, method.row_schema):
        yield feature_rows(method, pa.array(numbers), batch)


def _local_counts(folder: Path, name: str) -> Iterator[pa.RecordBatch]:
    for batch in pq.ParquetFile(folder / f"{name}.parquet").iter_batches(ROWS_AT_ONCE):
        yield packed_counts(batch, 12)


def _local_rows(folder: Path, name: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    rows = result.read_rows(folder, name)
    while some := list(islice(rows, ROWS_AT_ONCE)):
        if "evidence" in schema.names:
            some = [{**row, "evidence": evidence_json(row["evidence"])} for row in some]
        yield pa.RecordBatch.from_pylist(some, schema)


def with_known(pairs: DataFrame, earlier: DataFrame, known: DataFrame) -> DataFrame:
    """The candidates that involve a new page and are not known."""
    both = pairs
    for side in ("left", "right"):
        both = both.join(renamed(earlier, **{side: "number"}), side, "left_semi")
    new = pairs.join(both, ["left", "right"], "left_anti")
    return new.join(known.select("left", "right"), ["left", "right"], "left_anti")
