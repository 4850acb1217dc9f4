"""The survey, for a method that needs one, and the features of all pages.

There are many more counts than pages. So they are packed: a row holds all keys of a bucket (keys
with the same first bits) and their counts as byte strings. Spark moves few large rows, and the
local engine's code adds them up. If there are few counts above 1, every task gets all of them;
otherwise pages are processed in chunks, each joined with the counts of the keys that it looks up.
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

from neardup.arrays import Numbers
from neardup.local.prior import survey_files
from neardup.methods.base import NOTHING_SURVEYED, Method, SurveyResults
from neardup.methods.identical import COLUMNS, identity_columns
from neardup.schemas import COUNTS, PAGES
from neardup.spark.columns import (
    carried_schema,
    from_spark,
    map_batches,
    map_groups,
    spark_schema,
    to_spark,
)
from neardup.spark.identity import Identified
from neardup.spark.session import Work
from neardup.text.sites import Survey, add_counts

BUCKET_BITS = 12
COUNTS_AT_ONCE = 2_000_000  # counts that a task collects before it packs them
PACKED = pa.schema([("bucket", pa.int32()), ("keys", pa.binary()), ("counts", pa.binary())])
COUNTED = carried_schema(COUNTS)


def survey_pages(
    count: Callable[[pa.RecordBatch], pa.RecordBatch],
    pages: DataFrame,
    work: Work,
    earlier: DataFrame | None,
    folder: str,
) -> DataFrame:
    """`PACKED`: the counts of all pages and of `earlier`, one row per bucket."""

    def survey(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
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

    def add_buckets(table: pa.Table) -> Iterator[pa.RecordBatch]:
        yield packed(add_counts([unpacked(table)]))

    added = map_groups(counted, ["bucket"], add_buckets, PACKED, rows_at_once=1)
    return work.keep(added, f"result/remembered/{folder}")


def pages_of(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The pages of a batch that comes from Spark."""
    return from_spark(batch.select(PAGES.names), PAGES)


def counted_more_than_once(counts: DataFrame) -> DataFrame:
    """`PACKED` without the counts of 1, which no step needs."""

    def several(batch: pa.RecordBatch) -> pa.RecordBatch:
        counted = unpacked(batch)
        return packed(add_counts([counted.filter(pa.array(counted["count"].to_numpy() > 1))]))

    return map_batches(counts, several, PACKED)


def number_of_counts(counts: DataFrame) -> int:
    """How many keys are counted, of 8 bytes each."""
    total = counts.agg(f.sum(f.octet_length("keys")).alias("bytes")).first()
    return int((total["bytes"] if total else None) or 0) // 8


def whole_survey(counts: DataFrame, pages: int) -> Survey:
    """All counts in memory, if there are few."""
    return Survey.from_counts(pages, [add_counts([unpacked(counts.toArrow())])])


def as_rows(counts: DataFrame) -> DataFrame:
    """One row per key, with its count."""
    return map_batches(counts, lambda batch: to_spark(unpacked(batch)), COUNTED)


def packed(counts: pa.RecordBatch) -> pa.RecordBatch:
    """Counts in the order of their keys, bucket by bucket."""
    keys, count = counts["key"].to_numpy(), counts["count"].to_numpy()
    bucket = (keys >> np.uint64(64 - BUCKET_BITS)).astype(np.int32)
    starts = np.flatnonzero(np.diff(bucket, prepend=-1))
    places = np.append(starts, keys.size)
    return pa.record_batch(
        [bucket[starts], _bytes(keys, places), _bytes(count, places)], schema=PACKED
    )


def _bytes(numbers: NDArray[np.uint64] | Numbers, places: Numbers) -> pa.BinaryArray:
    offsets = pa.py_buffer((places * 8).astype(np.int32))
    data = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(pa.binary(), places.size - 1, [None, offsets, data])


def unpacked(table: pa.Table | pa.RecordBatch) -> pa.RecordBatch:
    """Counts of several rows; a key may come more than once."""
    keys, counts = (b"".join(table[name].to_pylist()) for name in ("keys", "counts"))
    columns = [np.frombuffer(keys, np.uint64), np.frombuffer(counts, np.int64)]
    return pa.record_batch(columns, schema=COUNTS)


BROADCAST_COUNTS = 8_000_000  # counts above 1, of 16 bytes, that every task may hold
CHUNK_BITS = 11  # low bits of a place: 2048 pages make a chunk
VIEWED = pa.schema([*PAGES, *COLUMNS])
PLACED = pa.schema([("place", pa.int64()), *carried_schema(VIEWED)])
LOOKUPS = pa.schema([("chunk", pa.int64()), ("key", pa.int64())])


def features_schema(method: Method) -> pa.Schema:
    """A page's place, its features, and what is often needed of them."""
    features = pa.struct(list(carried_schema(method.row_schema)))
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
    """Something to count over all pages before a step."""

    folder: str  # of the result, where the counts are stored
    count: Callable[[pa.RecordBatch], pa.RecordBatch]
    lookups: Callable[[pa.RecordBatch], NDArray[np.uint64]]


SurveyStep = Callable[[pa.RecordBatch, Survey], pa.RecordBatch]
WithCounts = Callable[[SurveyStep, pa.Schema], DataFrame]  # takes a step that needs a survey


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
    """number, features, decidable and same_host_group of every page, in the work directory."""
    pages = records.where("reason is null").join(found.dropped, "place", "left_anti")
    pages = pages.select("place", *PAGES.names)
    surveyor = Surveyor(found.count, work, earlier_counts, broadcast_counts)
    described = _described(method, pages, surveyor)
    with work.stages("features") as stage:
        numbers = found.pages.where("place is not null").select("place", "number")
        numbered = described.join(numbers, "place").drop("place")
        if earlier_features is not None:
            numbered = numbered.unionByName(earlier_features)
        kept = work.keep(numbered, "result/remembered/features")
        stage.advance(found.count)
    return kept


def _described(method: Method, pages: DataFrame, surveyor: Surveyor) -> DataFrame:
    """The features of pages, after counting what they depend on: what sites repeat, and what the
    method counts over the text of its view."""
    schema = features_schema(method)
    files = {name: Path(file).stem for name, file in survey_files(method).items()}
    sites, surveys = method.site_counts, method.surveys

    def step(batch: pa.RecordBatch, surveyed: SurveyResults) -> pa.RecordBatch:
        return _feature_rows(method, batch, method.describe(pages_of(batch), surveyed))

    if sites is None and surveys is None:
        return map_batches(pages, lambda batch: step(batch, NOTHING_SURVEYED), schema)
    if sites is not None:
        known = surveyor.count(Counting(files["sites"], sites.count, sites.lookups), pages)
        if surveys is None:
            return known(lambda batch, survey: step(batch, SurveyResults(sites=survey)), schema)
        viewed = known(lambda batch, survey: _viewed(method, batch, survey), PLACED)
        pages = surveyor.work.keep(viewed, "viewed")
    assert surveys is not None

    def count(batch: pa.RecordBatch) -> pa.RecordBatch:
        return surveys.survey(batch if sites else method.viewed(batch, NOTHING_SURVEYED))

    def features(batch: pa.RecordBatch, survey: Survey) -> pa.RecordBatch:
        if sites is None:
            return step(batch, SurveyResults(corpus=survey))
        return _feature_rows(method, batch, _of_viewed(method, batch, survey))

    counting = Counting(files["corpus"], count, lambda batch: count(batch)["key"].to_numpy())
    return surveyor.count(counting, pages)(features, schema)


def _viewed(method: Method, batch: pa.RecordBatch, survey: Survey) -> pa.RecordBatch:
    """The same pages with only the lines of the view, and what tells identical pages."""
    pages = pages_of(batch)
    viewed = method.viewed(pages, SurveyResults(sites=survey))
    columns = [*viewed.columns, *identity_columns(pages)]
    carried = to_spark(pa.record_batch(columns, schema=VIEWED))
    return pa.record_batch([batch["place"], *carried.columns], schema=PLACED)


def _of_viewed(method: Method, batch: pa.RecordBatch, survey: Survey) -> pa.RecordBatch:
    """What is remembered of pages that have only the lines of the view."""
    viewed = from_spark(batch.select(VIEWED.names), VIEWED)
    features = method.features(viewed.select(PAGES.names), SurveyResults(corpus=survey))
    return method.with_identity(features, [viewed[field.name] for field in COLUMNS])


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


@dataclass(frozen=True)
class Surveyor:
    """Counts over all pages, and passes the counts to the steps that need them."""

    pages: int
    work: Work
    earlier: Mapping[str, DataFrame]  # counts of an earlier run, by folder
    broadcast_counts: int

    def count(self, counting: Counting, pages: DataFrame) -> WithCounts:
        """Count over all pages; returns a function that takes a step with the counts: with all of
        those above 1 in every task if they are few, else with those that a chunk looks up."""
        with self.work.stages("survey") as stage:
            known = self.earlier.get(counting.folder)
            counts = survey_pages(counting.count, pages, self.work, known, counting.folder)
            stage.advance(self.pages)
        several, total = counted_more_than_once(counts), self.pages
        if number_of_counts(several) > self.broadcast_counts:
            rows = as_rows(several)
            return lambda step, schema: _by_chunks(counting, pages, rows, total, step, schema)
        survey = self.work.spark.sparkContext.broadcast(whole_survey(several, total))
        return lambda step, schema: map_batches(
            pages, lambda batch: step(batch, survey.value), schema
        )


def _by_chunks(
    counting: Counting,
    pages: DataFrame,
    several: DataFrame,
    total: int,
    step: SurveyStep,
    schema: pa.Schema,
) -> DataFrame:
    def lookups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
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
    chunks = pages.select(chunk, *pages.columns).groupBy("chunk")
    return chunks.cogroup(answers.groupBy("chunk")).applyInArrow(take_step, spark_schema(schema))
