"""Duplicates in a Spark data frame, inside a job of the user's own, also on Spark Connect.

The rows go through the steps of a run as the pages of files do. Intermediate tables are written to
a folder that all machines reach, and the answer is read from there.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import BinaryType

from neardup.errors import UsageError
from neardup.local.run import Progress, Silent, Stages
from neardup.methods.registry import DEFAULT_METHOD, MethodLike, make_method
from neardup.model import Relation
from neardup.pages.tables import chosen_columns
from neardup.schemas import RAW
from neardup.spark.columns import bounded, spark_schema
from neardup.spark.pipeline import Rules, decide
from neardup.spark.records import RECORDS, page_records, placed
from neardup.spark.session import is_connect, running
from neardup.spark.tables import cluster_rows
from neardup.spark.work import Work

ROW = "neardup_row"
ANSWER = ["cluster", "keep", "duplicate_of", "relation", "similarity"]


def find_duplicates(
    frame: DataFrame,
    *,
    text: str | None = None,
    html: str | None = None,
    id: str | None = None,  # noqa: A002 - what the column holds
    url: str | None = None,
    title: str | None = None,
    time: str | None = None,
    keep: str | None = None,
    threshold: float | None = None,
    method: MethodLike = DEFAULT_METHOD,
    options: Mapping[str, object] | None = None,
    preset: str = "default",
    view: str | None = None,
    contained: bool = False,
    work: str | None = None,
    progress: Progress | None = None,
) -> DataFrame:
    """The data frame with the decision about each row, as `neardup.find_duplicates` makes it.

    It gets the columns `neardup_cluster`, `neardup_keep`, `neardup_duplicate_of`,
    `neardup_relation` and `neardup_similarity`; `neardup_row` names the rows where no `id` does.
    `text`, `html`, `url`, `title` and `time` name columns; those with these very names are used
    without being named. Ties go to the smaller id; without `id` to any row, since the rows of a
    data frame have no order. A row without text is kept.

    `work` is a folder that all machines reach, for intermediate tables; it must not exist yet, and
    the answer is read from there, so delete it when you have no more use for the answer. On one
    machine a temporary folder is made that lasts as long as this process.

        marked = neardup.spark.find_duplicates(frame, text="content", id="url")
        marked.where("not neardup_keep").show()
    """
    rules = Rules.of(
        make_method(method, options, preset=preset, view=view, threshold=threshold), keep, contained
    )
    named = {"text": text, "html": html, "id": id, "url": url, "title": title, "time": time}
    columns = chosen_columns(named, frame.columns)
    if ROW in frame.columns:
        raise UsageError(f"the column {ROW} is for the answer; rename it")
    folder = work or _temporary(frame)
    with running(frame.sparkSession) as spark:
        kept = Work(spark, folder, Stages(progress or Silent()))
        position = f.lpad(f.monotonically_increasing_id().cast("string"), 19, "0")
        name = f.col(columns["id"]).cast("string") if "id" in columns else position
        # Written once: the positions of rows may differ when a frame is computed again.
        rows = kept.keep(frame.withColumn(ROW, name), "rows")
        records = kept.keep(_records(rows, columns), "records")
        if records.isEmpty():
            return _undecided(rows)
        decided = decide(records, rules, kept)
        if decided.identified.dropped is not None:
            raise UsageError("several rows have one id; leave `id` out")
        about = cluster_rows(decided.identified.pages, decided.features, decided.members)
        answer = about.withColumnRenamed("id", ROW).withColumnRenamed("kept", "keep")
        answer = kept.keep(answer.select(ROW, *ANSWER), "answer")
    return _with_answer(rows, answer)


def drop_duplicates(frame: DataFrame, **settings: object) -> DataFrame:
    """The data frame with one row of each cluster of duplicates; settings as `find_duplicates`.

    unique = neardup.spark.drop_duplicates(frame, text="content")
    """
    marked = find_duplicates(frame, **settings)  # type: ignore[arg-type]
    return marked.where("neardup_keep").select(*frame.columns)


def _temporary(frame: DataFrame) -> str:
    spark = frame.sparkSession
    if is_connect(spark) or not str(spark.sparkContext.master).startswith("local"):
        raise UsageError("name a folder for intermediate tables that all machines reach: work=...")
    folder = tempfile.mkdtemp(prefix="neardup-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _records(rows: DataFrame, columns: Mapping[str, str]) -> DataFrame:
    """`RECORDS` of the rows that have content."""

    def text(what: str) -> Column:
        if what not in columns:
            return f.lit("")
        return f.coalesce(f.col(columns[what]).cast("string"), f.lit(""))

    def content(what: str) -> tuple[Column, Column]:
        """The bytes of a row, and their charset."""
        if what not in columns:
            return f.lit(None).cast("binary"), f.lit("")
        is_bytes = isinstance(rows.schema[columns[what]].dataType, BinaryType)
        return f.col(columns[what]).cast("binary"), f.lit("" if is_bytes else "utf-8")

    (html, html_charset), (plain, plain_charset) = content("html"), content("text")
    is_html = f.coalesce(f.octet_length(html) > 0, f.lit(False))
    time = f.col(columns["time"]) if "time" in columns else f.lit(None)
    raw = rows.select(
        f.col(ROW).alias("id"),
        f.lit("").alias("again"),
        text("url").alias("url"),
        text("title").alias("title"),
        time.cast("timestamp").alias("time"),
        f.when(is_html, html).otherwise(plain).alias("body"),
        is_html.alias("is_html"),
        f.when(is_html, html_charset).otherwise(plain_charset).alias("charset"),
        f.lit("memory").alias("source"),
        f.lit(0).cast("long").alias("record"),
    )
    return raw.where("octet_length(body) > 0").mapInArrow(_parsed, spark_schema(RECORDS))


def _parsed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    raw = (
        pa.record_batch([batch[field.name].cast(field.type) for field in RAW], schema=RAW)
        for batch in batches
    )
    return placed(each for batch in raw for each in bounded(page_records(batch)))


def _with_answer(rows: DataFrame, answer: DataFrame) -> DataFrame:
    """The rows with the decision about each; rows without content are undecided and kept."""
    marks = answer.select(ROW, *(f.col(name).alias(f"neardup_{name}") for name in ANSWER))
    joined = rows.join(marks, ROW, "left")
    relation = f.when(f.col("neardup_cluster").isNotNull(), f.col("neardup_relation"))
    columns = {
        "neardup_cluster": f.coalesce("neardup_cluster", ROW),
        "neardup_keep": f.coalesce("neardup_keep", f.lit(True)),
        "neardup_relation": relation.otherwise(str(Relation.UNDECIDED)),
    }
    joined = joined.withColumns(columns)
    return joined.select(*rows.columns, *(f"neardup_{name}" for name in ANSWER))


def _undecided(rows: DataFrame) -> DataFrame:
    answer = rows.sparkSession.createDataFrame(
        [],
        f"{ROW} string, cluster string, keep boolean, duplicate_of string, relation string, "
        "similarity double",
    )
    return _with_answer(rows, answer)
