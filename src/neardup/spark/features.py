"""The survey: what a method counts over all pages, added up.

There are many more counts than pages. So they travel packed: a row holds all keys of a bucket (keys
with the same first bits) and their counts as byte strings. Spark moves few large rows, and adding
up is the local engine's.

The second step: the survey, for a method that needs one, and the features of all pages.

Counts are added up by key. Where those above 1 are few, every task gets them all; where they are
many, pages are taken in chunks, and each chunk is joined with the counts of the keys it asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.local.survey import add_up, survey_from
from neardup.methods.base import AsksSurvey, ClustersAroundCentres, Method, Survey, Surveys
from neardup.schemas import COUNTS, PAGES
from neardup.spark.columns import carried_schema, from_spark, spark_schema, to_spark, whole_groups
from neardup.spark.identity import Identified
from neardup.spark.session import Work

BUCKET_BITS = 12
COUNTS_AT_ONCE = 2_000_000  # that a task holds before it packs them
PACKED = pa.schema([("bucket", pa.int32()), ("keys", pa.binary()), ("counts", pa.binary())])
COUNTED = carried_schema(COUNTS)

Batches = Iterable[pa.RecordBatch]


def survey_pages(
    method: Surveys, pages: DataFrame, work: Work, earlier: DataFrame | None
) -> DataFrame:
    """`PACKED`: the counts of all pages, each bucket once; `earlier` are added to them."""

    def survey(batches: Batches) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        for batch in batches:
            held.append(method.survey(pages_of(batch)))
            if sum(each.num_rows for each in held) > COUNTS_AT_ONCE:
                yield packed(add_up(held))
                held = []
        yield packed(add_up(held))

    counted = pages.mapInArrow(survey, spark_schema(PACKED))
    if earlier is not None:
        counted = counted.unionByName(earlier)
    by_bucket = counted.repartition("bucket").sortWithinPartitions("bucket")
    added = by_bucket.mapInArrow(_add_buckets, spark_schema(PACKED))
    return work.keep(added, "result/remembered/survey")


def pages_of(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The pages of a batch that comes from Spark."""
    return from_spark(batch.select(PAGES.names), PAGES)


def _add_buckets(batches: Batches) -> Iterator[pa.RecordBatch]:
    for table in whole_groups(batches, ["bucket"], 1):
        yield packed(add_up([unpacked(table)]))


def counted_more_than_once(counts: DataFrame) -> DataFrame:
    """`PACKED` without the counts of 1, which nobody asks for."""

    def several(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            counted = unpacked(pa.Table.from_batches([batch]))
            yield packed(add_up([counted.filter(pa.array(counted["count"].to_numpy() > 1))]))

    return counts.mapInArrow(several, spark_schema(PACKED))


def number_of_counts(counts: DataFrame) -> int:
    """How many keys there are."""
    told = counts.agg(f.sum(f.octet_length("keys")).alias("bytes")).first()
    return int((told["bytes"] if told else None) or 0) // 8


def whole_survey(counts: DataFrame, pages: int) -> Survey:
    """All counts in one place: for few of them."""
    return survey_from(pages, [add_up([unpacked(counts.toArrow())])])


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
ASKED = pa.schema([("chunk", pa.int64()), ("key", pa.int64())])

Pages = Iterable[pa.RecordBatch]
AddFeatures = Callable[[Pages], Iterator[pa.RecordBatch]]


def features_schema(method: Method) -> pa.Schema:
    """A page's place, its features, and what is asked of them time and again."""
    features = pa.struct(list(carried_schema(method.feature_schema)))
    return pa.schema(
        [
            ("place", pa.int64()),
            ("features", features),
            ("decidable", pa.bool_()),
            ("sister", pa.int64()),
        ]
    )


def compute_features(
    method: Method,
    records: DataFrame,
    found: Identified,
    work: Work,
    earlier_counts: DataFrame | None = None,
    earlier_features: DataFrame | None = None,
    *,
    broadcast_counts: int = BROADCAST_COUNTS,
) -> DataFrame:
    """number, features, decidable and sister of every page, in the work folder."""
    pages = records.where("reason is null").join(found.dropped, "place", "left_anti")
    pages = pages.select("place", *PAGES.names)
    if isinstance(method, Surveys):
        with work.stages("survey") as stage:
            counts = survey_pages(method, pages, work, earlier_counts)
            stage.advance(found.count)
        made = _with_survey(method, pages, counts, found.count, work, broadcast_counts)
    else:
        made = pages.mapInArrow(_feature_step(method, lambda _: None), _spark(method))
    with work.stages("features") as stage:
        numbers = found.pages.where("place is not null").select("place", "number")
        numbered = made.join(numbers, "place").drop("place")
        if earlier_features is not None:
            numbered = numbered.unionByName(earlier_features)
        kept = work.keep(numbered, "result/remembered/features")
        stage.advance(found.count)
    return kept


def _spark(method: Method) -> Any:
    return spark_schema(features_schema(method))


def _with_survey(
    method: Method,
    pages: DataFrame,
    counts: DataFrame,
    total: int,
    work: Work,
    broadcast_counts: int,
) -> DataFrame:
    several = counted_more_than_once(counts)
    if number_of_counts(several) <= broadcast_counts:
        survey = work.spark.sparkContext.broadcast(whole_survey(several, total))
        step = _feature_step(method, lambda _: survey.value)
        return pages.mapInArrow(step, _spark(method))
    return _with_asked_counts(method, pages, as_rows(several), total)


def _feature_step(method: Method, survey_for: Callable[[pa.RecordBatch], Any]) -> AddFeatures:
    schema = features_schema(method)

    def step(batches: Pages) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            features = method.features(pages_of(batch), survey_for(batch))
            yield pa.record_batch(
                [
                    batch["place"],
                    to_spark(features).to_struct_array(),
                    method.decidable(features),
                    _sisters(method, features),
                ],
                schema=schema,
            )

    return step


def _sisters(method: Method, features: pa.RecordBatch) -> NDArray[np.int64]:
    if not isinstance(method, ClustersAroundCentres):
        return np.zeros(features.num_rows, np.int64)
    return np.ascontiguousarray(method.sisters(features)).view(np.int64)


def _with_asked_counts(
    method: Method, pages: DataFrame, several: DataFrame, total: int
) -> DataFrame:
    """Features where no task can hold all counts: each chunk of pages gets those it asks for."""

    def asked(batches: Pages) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            chunks = batch["place"].to_numpy() >> CHUNK_BITS
            for chunk in np.unique(chunks):
                here = batch.filter(pa.array(chunks == chunk))
                keys = _asked_keys(method, pages_of(here)).view(np.int64)
                yield pa.record_batch([np.full(keys.size, chunk), keys], schema=ASKED)

    def answer(key: tuple[Any, ...], pages_of_chunk: pa.Table, counts: pa.Table) -> pa.Table:
        added = add_up(
            from_spark(each, COUNTS) for each in counts.select(COUNTS.names).to_batches()
        )
        survey = survey_from(total, [added])
        step = _feature_step(method, lambda _: survey)
        batches = pages_of_chunk.combine_chunks().to_batches()
        return pa.Table.from_batches(list(step(batches)), features_schema(method))

    answers = pages.mapInArrow(asked, spark_schema(ASKED)).distinct().join(several, "key")
    chunk = f.shiftright(f.col("place"), CHUNK_BITS).alias("chunk")
    chunks = pages.select(chunk, "place", *PAGES.names).groupBy("chunk")
    return chunks.cogroup(answers.groupBy("chunk")).applyInArrow(answer, _spark(method))


def _asked_keys(method: Method, pages: pa.RecordBatch) -> NDArray[np.uint64]:
    if isinstance(method, AsksSurvey):
        return method.asked(pages)
    assert isinstance(method, Surveys)
    keys: NDArray[np.uint64] = method.survey(pages)["key"].to_numpy()
    return keys
