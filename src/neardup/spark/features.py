"""The survey, for a method that needs one, and the features of all pages.

There are many more counts than pages. So they are packed: a row holds some keys of a bucket (keys
with the same first bits) and their counts as byte strings. Spark moves few rows of bounded size,
and the local engine's code adds them up. If there are few counts above 1, every task gets all of
them; otherwise pages are processed in chunks, each with the counts of the keys that it looks up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from neardup.arrays import Hashes
from neardup.kernels.key_order import in_order_of_keys
from neardup.local.exchange import packed_rows, unpacked_counts, unpacked_rows
from neardup.local.prior import survey_files
from neardup.methods.base import NOTHING_SURVEYED, Method, SurveyResults
from neardup.methods.identical import COLUMNS, identity_columns
from neardup.schemas import PAGES
from neardup.spark.columns import (
    FEATURES,
    PACKED,
    bounded,
    feature_rows,
    heaps,
    map_batches,
    map_groups,
    packed_counts,
    packed_numbers,
    packed_without_counts,
    spark_schema,
    total_bytes,
)
from neardup.spark.identity import Identified
from neardup.spark.prior import Earlier
from neardup.spark.records import CHUNK_BITS, PARSED
from neardup.spark.session import GIGABYTE
from neardup.spark.work import Work
from neardup.text.sites import NO_COUNTS, NO_KEYS, Survey, add_counts

COUNTS_AT_ONCE = 2_000_000  # counts that a task collects before it packs them


def bucket_bits(pages: int) -> int:
    """How many bits of a key are its bucket: enough that a bucket fits in a task and tasks are
    even, few enough that packed rows are long."""
    return max(10, (pages >> 14).bit_length())


def survey_pages(
    count: Callable[[pa.Array], pa.RecordBatch],
    pages: DataFrame,
    bits: int,
    earlier: DataFrame | None,
) -> DataFrame:
    """`PACKED`: the counts of all pages and of `earlier`; rows without counts have keys that are
    counted once."""

    def survey(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counted = (count(batch["page"]) for batch in batches)
        for held in heaps(counted, lambda each: each.num_rows, COUNTS_AT_ONCE):
            yield from bounded(packed_counts(add_counts(held), bits))

    def add_buckets(table: pa.Table) -> Iterator[pa.RecordBatch]:
        sums = add_counts([unpacked_counts(table)])
        several = sums["count"].to_numpy() > 1
        yield packed_counts(sums.filter(pa.array(several)), bits)
        yield packed_without_counts(sums["key"].to_numpy()[~several], bits)

    counted = pages.mapInArrow(survey, spark_schema(PACKED))
    if earlier is not None:
        same_buckets = map_batches(
            earlier, lambda batch: packed_counts(unpacked_counts(batch), bits), PACKED
        )
        counted = counted.unionByName(same_buckets)
    return map_groups(counted, ["bucket"], add_buckets, PACKED, rows_at_once=1)


def whole_survey(several: DataFrame, pages: int) -> Survey:
    """All counts in memory, if there are few; Java passes some at a time."""
    rows = several.select("keys", "counts").toLocalIterator()
    parts = [
        (np.frombuffer(row["keys"], np.uint64), np.frombuffer(row["counts"], np.int64))
        for row in rows
    ]
    parts.sort(key=lambda part: part[0][0])  # each has the keys of a range of its own, in order
    keys, counts = zip((NO_KEYS, NO_COUNTS), *parts, strict=True)
    return Survey(pages, np.concatenate(keys), np.concatenate(counts))


# Counts above 1, of 16 bytes, that every task may hold. The driver's Java holds them once while it
# sends them.
COUNTS_A_GIGABYTE, MOST_COUNTS = 8_000_000, 32_000_000
# Numbers of pages, of about 60 bytes, that Java may hold in every machine
HEAP_A_NUMBER, MOST_NUMBERS = 1500, 2_000_000
VIEWED = pa.schema([*PAGES, *COLUMNS])
PLACED = pa.schema([("place", pa.int64()), ("page", pa.binary())])
LOOKUPS = pa.schema([("chunk", pa.int64()), *PACKED])


@dataclass(frozen=True)
class Counting:
    """Something to count over all pages before a step."""

    folder: str  # of the result, where the counts are stored
    count: Callable[[pa.Array], pa.RecordBatch]  # of packed pages
    lookups: Callable[[pa.Array], Hashes]


SurveyStep = Callable[[pa.RecordBatch, Survey], pa.RecordBatch]  # of place and page


def describe(
    method: Method,
    records: DataFrame,
    identified: Identified,
    work: Work,
    earlier: Earlier | None = None,
    *,
    broadcast_counts: int | None = None,
) -> DataFrame:
    """number, features, decidable and same_host_group of every page, in the work directory."""
    pages = records.where("reason is null")
    if identified.dropped is not None:
        pages = pages.join(identified.dropped, "place", "left_anti")
    pages = pages.select("place", "page")
    counts = earlier.counts(method) if earlier else {}
    if broadcast_counts is None:
        broadcast_counts = min(work.heap * COUNTS_A_GIGABYTE // GIGABYTE, MOST_COUNTS)
    surveyor = Surveyor(identified.count, work, counts, broadcast_counts)
    described = _described(method, pages, surveyor)
    with work.stages("features") as stage:
        numbers = identified.pages.where("place is not null").select("place", "number")
        if identified.count <= min(work.heap // HEAP_A_NUMBER, MOST_NUMBERS):
            numbers = f.broadcast(numbers)  # or else the features are shuffled
        numbered = described.join(numbers, "place").drop("place")
        if earlier is not None:
            numbered = numbered.unionByName(earlier.features(identified.pages))
        kept = work.keep(numbered, "result/remembered/features")
        stage.advance(identified.count)
    return kept


def _described(method: Method, pages: DataFrame, surveyor: Surveyor) -> DataFrame:
    """The features of pages, after counting what they depend on: what sites repeat, and what the
    method counts over the text of its view."""
    schema = FEATURES.set(0, FEATURES.field(0).with_name("place"))
    files = {name: Path(file).stem for name, file in survey_files(method).items()}
    sites, surveys = method.site_counts, method.surveys

    def unpacked(packed: pa.Array) -> pa.RecordBatch:
        return unpacked_rows(packed, PARSED, method.columns)

    def step(batch: pa.RecordBatch, surveyed: SurveyResults) -> pa.RecordBatch:
        return _placed_rows(method, batch, method.describe(unpacked(batch["page"]), surveyed))

    if sites is None and surveys is None:
        return map_batches(pages, lambda batch: step(batch, NOTHING_SURVEYED), schema)
    if sites is not None:
        count_sites, lookups = sites.count, sites.lookups
        of_sites = Counting(
            files["sites"],
            lambda packed: count_sites(unpacked(packed)),
            lambda packed: lookups(unpacked(packed)),
        )
        if surveys is None:
            return surveyor.map(
                of_sites, pages, lambda batch, of: step(batch, SurveyResults(sites=of)), schema
            )
        viewed = surveyor.map(
            of_sites, pages, lambda batch, survey: _viewed(method, batch, survey), PLACED
        )
        pages = surveyor.work.keep(viewed, "viewed")
    assert surveys is not None

    def count(packed: pa.Array) -> pa.RecordBatch:
        if sites is None:
            return surveys.survey(method.viewed(unpacked(packed), NOTHING_SURVEYED))
        return surveys.survey(unpacked_rows(packed, VIEWED, PAGES.names))

    def features(batch: pa.RecordBatch, survey: Survey) -> pa.RecordBatch:
        if sites is None:
            return step(batch, SurveyResults(corpus=survey))
        return _placed_rows(method, batch, _of_viewed(method, batch, survey))

    counting = Counting(files["corpus"], count, lambda packed: count(packed)["key"].to_numpy())
    return surveyor.map(counting, pages, features, schema)


def _viewed(method: Method, batch: pa.RecordBatch, survey: Survey) -> pa.RecordBatch:
    """The same pages with only the lines of the view, and the columns that identify a page."""
    pages = unpacked_rows(batch["page"], PARSED, PAGES.names)
    viewed = method.viewed(pages, SurveyResults(sites=survey))
    columns = [*viewed.columns, *identity_columns(pages)]
    packed = packed_rows(pa.record_batch(columns, schema=VIEWED))
    return pa.record_batch([batch["place"], packed], schema=PLACED)


def _of_viewed(method: Method, batch: pa.RecordBatch, survey: Survey) -> pa.RecordBatch:
    """What is remembered of pages that have only the lines of the view."""
    viewed = unpacked_rows(batch["page"], VIEWED)
    features = method.features(viewed.select(PAGES.names), SurveyResults(corpus=survey))
    return method.with_identity(features.columns, [viewed[field.name] for field in COLUMNS])


def _placed_rows(method: Method, batch: pa.RecordBatch, features: pa.RecordBatch) -> pa.RecordBatch:
    rows = feature_rows(method, batch["place"], features)
    return rows.rename_columns(["place", *rows.schema.names[1:]])


@dataclass(frozen=True)
class Surveyor:
    """Counts over all pages, and passes the counts to a step that needs them."""

    pages: int
    work: Work
    earlier: Mapping[str, DataFrame]  # counts of an earlier run, by folder
    broadcast_counts: int

    def map(
        self, counting: Counting, pages: DataFrame, step: SurveyStep, schema: pa.Schema
    ) -> DataFrame:
        """Apply a step to all pages with what was counted over them: with all counts above 1 in
        every task if they are few, else with those that a chunk looks up."""
        bits = bucket_bits(self.pages)
        with self.work.stages("survey") as stage:
            earlier = self.earlier.get(counting.folder)
            counts = survey_pages(counting.count, pages, bits, earlier)
            counts = self.work.keep(counts, f"result/remembered/{counting.folder}")
            stage.advance(self.pages)
        several, total = counts.where("octet_length(counts) > 0"), self.pages
        if total_bytes(several, "keys") // 8 >= self.broadcast_counts:  # of 8 bytes each
            return _by_chunks(counting, pages, several, bits, total, step, schema)
        survey = self.work.spark.sparkContext.broadcast(whole_survey(several, total))
        return map_batches(pages, lambda batch: step(batch, survey.value), schema)


def _by_chunks(
    counting: Counting,
    pages: DataFrame,
    several: DataFrame,
    bits: int,
    total: int,
    step: SurveyStep,
    schema: pa.Schema,
) -> DataFrame:
    """A step over chunks of pages, each with the counts that it looks up."""

    def lookups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            chunks = batch["place"].to_numpy() >> CHUNK_BITS
            for chunk in np.unique(chunks):
                here = batch.filter(pa.array(chunks == chunk))
                keys = np.sort(counting.lookups(here["page"]))
                for each in bounded(packed_without_counts(keys, bits)):
                    whose = pa.array(np.full(each.num_rows, chunk))
                    yield pa.record_batch([whose, *each.columns], schema=LOOKUPS)

    def look_up(table: pa.Table) -> Iterator[pa.RecordBatch]:
        """The counts of the keys of each row, where they are more than 1."""
        known = table.filter(pc.is_null(table["chunk"]))
        survey = Survey.from_counts(total, [add_counts([unpacked_counts(known)])])
        wanted = table.filter(pc.is_valid(table["chunk"]))
        keys = np.frombuffer(b"".join(wanted["keys"].to_pylist()), np.uint64)
        sizes = pc.binary_length(wanted["keys"]).to_numpy() // keys.itemsize
        row = np.repeat(np.arange(wanted.num_rows), sizes)
        counts = survey.count(keys)
        several = counts > 1
        starts = np.flatnonzero(np.diff(row[several], prepend=-1))
        whose = pa.array(row[several][starts])
        packed = [packed_numbers(each[several], starts) for each in (keys, counts)]
        columns = [wanted[name].combine_chunks().take(whose) for name in ("chunk", "bucket")]
        yield pa.record_batch([*columns, *packed], schema=LOOKUPS)

    def take_step(key: tuple[Any, ...], chunk: pa.Table, counts: pa.Table) -> pa.Table:
        answers = unpacked_counts(counts)
        keys, several = in_order_of_keys(answers["key"].to_numpy(), answers["count"].to_numpy())
        # A chunk may come in several batches, each of which has looked up its own keys.
        once = np.diff(keys, prepend=~keys[:1]) != 0
        survey = Survey(total, keys[once], several[once])
        batches = chunk.combine_chunks().to_batches()
        return pa.Table.from_batches([step(batch, survey) for batch in batches])

    wanted = pages.mapInArrow(lookups, spark_schema(LOOKUPS))
    both = wanted.unionByName(several.withColumn("chunk", f.lit(None).cast("long")))
    answers = map_groups(both, ["bucket"], look_up, LOOKUPS, rows_at_once=1)
    chunk = f.shiftright(f.col("place"), CHUNK_BITS).alias("chunk")
    chunks = pages.select(chunk, *pages.columns).groupBy("chunk")
    return chunks.cogroup(answers.groupBy("chunk")).applyInArrow(take_step, spark_schema(schema))
