"""The survey, for a method that needs one, and the features of all pages.

There are many more counts than pages. So they travel packed: a row holds all keys of a bucket (keys
with the same first bits) and their counts as byte strings. Spark moves few large rows, and adding
up is the local engine's. Where the counts above 1 are few, every task gets them all; where they are
many, pages are taken in chunks, and each chunk is joined with the counts of the keys it asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from neardup.local.prior import survey_files
from neardup.methods.base import (
    NOTHING_SURVEYED,
    Method,
    SurveyResults,
    Surveys,
)
from neardup.schemas import COUNTS, PAGES
from neardup.spark.columns import carried_schema, from_spark, spark_schema, to_spark, whole_groups
from neardup.spark.identity import Identified
from neardup.spark.session import Work
from neardup.text.sites import Survey, add_counts

BUCKET_BITS = 12
COUNTS_AT_ONCE = 2_000_000  # that a task holds before it packs them
PACKED = pa.schema([("bucket", pa.int32()), ("keys", pa.binary()), ("counts", pa.binary())])
COUNTED = carried_schema(COUNTS)

Batches = Iterable[pa.RecordBatch]


def survey_pages(
    count: Callable[[pa.RecordBatch], pa.RecordBatch],
    pages: DataFrame,
    work: Work,
    earlier: DataFrame | None,
    folder: str,
) -> DataFrame:
    """`PACKED`: the counts of all pages, each bucket once; `earlier` are added to them."""

    def survey(batches: Batches) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        for batch in batches:
            held.append(count(pages_of(batch)))
            if sum(each.num_rows for each in held) > COUNTS_AT_ONCE:
                yield packed(add_counts(held))
                held = []
        yield packed(add_counts(held))

    counted = pages.mapInArrow(survey, spark_schema(PACKED))
    if earlier is not None:
        counted = counted.unionByName(earlier)
    by_bucket = counted.repartition("bucket").sortWithinPartitions("bucket")
    added = by_bucket.mapInArrow(_add_buckets, spark_schema(PACKED))
    return work.keep(added, f"result/remembered/{folder}")


def pages_of(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The pages of a batch that comes from Spark."""
    return from_spark(batch.select(PAGES.names), PAGES)


def _add_buckets(batches: Batches) -> Iterator[pa.RecordBatch]:
    for table in whole_groups(batches, ["bucket"], 1):
        yield packed(add_counts([unpacked(table)]))


def counted_more_than_once(counts: DataFrame) -> DataFrame:
    """`PACKED` without the counts of 1, which nobody asks for."""

    def several(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            counted = unpacked(pa.Table.from_batches([batch]))
            yield packed(add_counts([counted.filter(pa.array(counted["count"].to_numpy() > 1))]))

    return counts.mapInArrow(several, spark_schema(PACKED))


def number_of_counts(counts: DataFrame) -> int:
    told = counts.agg(f.sum(f.octet_length("keys")).alias("bytes")).first()
    return int((told["bytes"] if told else None) or 0) // 8


def whole_survey(counts: DataFrame, pages: int) -> Survey:
    """All counts in one place: for few of them."""
    return Survey.from_counts(pages, [add_counts([unpacked(counts.toArrow())])])


def as_rows(counts: DataFrame) -> DataFrame:
    """key and count, a row each."""

    def rows(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield to_spark(unpacked(pa.Table.from_batches([batch])))

    return counts.mapInArrow(rows, spark_schema(COUNTED))


def packed(counts: pa.RecordBatch) -> pa.RecordBatch:
    """Counts in the order of their keys, bucket by bucket."""
    keys, count = counts["key"].to_numpy(), counts["count"].to_numpy()
    bucket = (keys >> np.uint64(64 - BUCKET_BITS)).astype(np.int32)
    starts = np.flatnonzero(np.diff(bucket, prepend=-1))
    places = np.append(starts, keys.size)
    return pa.record_batch(
        [bucket[starts], _bytes(keys, places), _bytes(count, places)], schema=PACKED
    )


def _bytes(
    numbers: NDArray[np.uint64] | NDArray[np.int64], places: NDArray[np.int64]
) -> pa.BinaryArray:
    offsets = pa.py_buffer((places * 8).astype(np.int32))
    data = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(pa.binary(), places.size - 1, [None, offsets, data])


def unpacked(table: pa.Table) -> pa.RecordBatch:
    """Counts of several rows; a key may come more than once."""
    keys, counts = (b"".join(table[name].to_pylist()) for name in ("keys", "counts"))
    columns = [np.frombuffer(keys, np.uint64), np.frombuffer(counts, np.int64)]
    return pa.record_batch(columns, schema=COUNTS)


BROADCAST_COUNTS = 8_000_000  # counts above 1, of 16 bytes, that every task may hold
CHUNK_BITS = 11  # of a place: 2048 pages make a chunk
LOOKUPS = pa.schema([("chunk", pa.int64()), ("key", pa.int64())])


def features_schema(method: Method) -> pa.Schema:
    """A page's place, its features, and what is asked of them time and again."""
    features = pa.struct(list(carried_schema(method.feature_schema)))
    return pa.schema(
        [
            ("place", pa.int64()),
            ("features", features),
            ("decidable", pa.bool_()),
            ("same_host_group", pa.int64()),
        ]
    )


@dataclass(frozen=True)
class Counting:
    """Something to count over all pages before a step can be taken."""

    folder: str  # of the result, where the counts are remembered
    count: Callable[[pa.RecordBatch], pa.RecordBatch]
    lookups: Callable[[pa.RecordBatch], NDArray[np.uint64]]


def describe(
    method: Method,
    records: DataFrame,
    found: Identified,
    work: Work,
    earlier_counts: Mapping[str, DataFrame],
    earlier_features: DataFrame | None = None,
    *,
    broadcast_counts: int = BROADCAST_COUNTS,
) -> DataFrame:
    """number, features, decidable and same_host_group of every page, in the work folder."""
    pages = records.where("reason is null").join(found.dropped, "place", "left_anti")
    pages = pages.select("place", *PAGES.names)
    described = _described(method, pages, found.count, work, earlier_counts, broadcast_counts)
    with work.stages("features") as stage:
        numbers = found.pages.where("place is not null").select("place", "number")
        numbered = described.join(numbers, "place").drop("place")
        if earlier_features is not None:
            numbered = numbered.unionByName(earlier_features)
        kept = work.keep(numbered, "result/remembered/features")
        stage.advance(found.count)
    return kept


def _described(
    method: Method,
    pages: DataFrame,
    total: int,
    work: Work,
    earlier: Mapping[str, DataFrame],
    broadcast_counts: int,
) -> DataFrame:
    """The features of pages, after what has to be counted first: what sites repeat, and what the
    method counts over the text that its view leaves."""
    features = spark_schema(features_schema(method))
    files = {name: Path(file).stem for name, file in survey_files(method).items()}

    def step(batch: pa.RecordBatch, surveyed: SurveyResults) -> pa.RecordBatch:
        return _feature_rows(method, batch, method.describe(pages_of(batch), surveyed))

    def surveyed_pages(counting: Counting, read: DataFrame) -> DataFrame:
        with work.stages("survey") as stage:
            known = earlier.get(counting.folder)
            counts = survey_pages(counting.count, read, work, known, counting.folder)
            stage.advance(total)
        return counts

    sites, surveys = method.site_counts, method.surveys
    if sites is None and surveys is None:
        return pages.mapInArrow(_each(lambda batch: step(batch, NOTHING_SURVEYED)), features)
    if sites is not None:
        counting = Counting(files["sites"], sites.count, sites.lookups)
        counts = surveyed_pages(counting, pages)
        if surveys is None:
            known = _with_counts(counting, pages, counts, total, work, broadcast_counts)
            return known(lambda batch, survey: step(batch, SurveyResults(sites=survey)), features)
        known = _with_counts(counting, pages, counts, total, work, broadcast_counts)
        pages = work.keep(
            known(lambda batch, survey: _viewed(method, batch, survey), pages.schema), "viewed"
        )
    assert surveys is not None
    count = surveys.survey if sites is not None else _survey_of_view(method, surveys)
    counting = Counting(files["corpus"], count, lambda batch: count(batch)["key"].to_numpy())
    known = _with_counts(
        counting, pages, surveyed_pages(counting, pages), total, work, broadcast_counts
    )
    if sites is None:
        return known(lambda batch, survey: step(batch, SurveyResults(corpus=survey)), features)
    return known(
        lambda batch, survey: _feature_rows(
            method, batch, method.features(pages_of(batch), SurveyResults(corpus=survey))
        ),
        features,
    )


def _survey_of_view(method: Method, surveys: Surveys) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    return lambda pages: surveys.survey(method.viewed(pages, NOTHING_SURVEYED))


def _viewed(method: Method, batch: pa.RecordBatch, survey: Survey) -> pa.RecordBatch:
    """The same pages with only the lines of the view."""
    viewed = to_spark(method.viewed(pages_of(batch), SurveyResults(sites=survey)))
    return pa.record_batch([batch["place"], *viewed.columns], names=["place", *PAGES.names])


def _feature_rows(
    method: Method, batch: pa.RecordBatch, features: pa.RecordBatch
) -> pa.RecordBatch:
    groups = np.ascontiguousarray(method.same_host_group(features)).view(np.int64)
    columns = [
        batch["place"],
        to_spark(features).to_struct_array(),
        method.decidable(features),
        groups,
    ]
    return pa.record_batch(columns, schema=features_schema(method))


def _each(
    step: Callable[[pa.RecordBatch], pa.RecordBatch],
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def steps(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield step(batch)

    return steps


SurveyStep = Callable[[pa.RecordBatch, Survey], pa.RecordBatch]


def _with_counts(
    counting: Counting,
    pages: DataFrame,
    counts: DataFrame,
    total: int,
    work: Work,
    broadcast_counts: int,
) -> Callable[[SurveyStep, StructType], DataFrame]:
    """How to take a step that needs a survey: with all counts above 1 in every task where they are
    few, otherwise chunk by chunk of pages, each with the counts of the keys it looks up."""
    several = counted_more_than_once(counts)
    if number_of_counts(several) <= broadcast_counts:
        survey = work.spark.sparkContext.broadcast(whole_survey(several, total))
        return lambda step, schema: pages.mapInArrow(
            _each(lambda batch: step(batch, survey.value)), schema
        )
    return lambda step, schema: _by_chunks(counting, pages, as_rows(several), total, step, schema)


def _by_chunks(
    counting: Counting,
    pages: DataFrame,
    several: DataFrame,
    total: int,
    step: SurveyStep,
    schema: StructType,
) -> DataFrame:
    def lookups(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            chunks = batch["place"].to_numpy() >> CHUNK_BITS
            for chunk in np.unique(chunks):
                here = batch.filter(pa.array(chunks == chunk))
                keys = counting.lookups(pages_of(here)).view(np.int64)
                yield pa.record_batch([np.full(keys.size, chunk), keys], schema=LOOKUPS)

    def take_step(key: tuple[Any, ...], chunk: pa.Table, counts: pa.Table) -> pa.Table:
        sums = add_counts(
            from_spark(each, COUNTS) for each in counts.select(COUNTS.names).to_batches()
        )
        survey = Survey.from_counts(total, [sums])
        batches = chunk.combine_chunks().to_batches()
        return pa.Table.from_batches([step(batch, survey) for batch in batches])

    answers = pages.mapInArrow(lookups, spark_schema(LOOKUPS)).distinct().join(several, "key")
    chunk = f.shiftright(f.col("place"), CHUNK_BITS).alias("chunk")
    chunks = pages.select(chunk, "place", *PAGES.names).groupBy("chunk")
    return chunks.cogroup(answers.groupBy("chunk")).applyInArrow(take_step, schema)
