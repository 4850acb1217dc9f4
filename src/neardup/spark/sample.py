"""The part of a result that its report shows, as an outcome of the local engine.

Up to `SAMPLE_PAGES` pages are all of them; of more a sample, whole clusters chosen by a hash, but
at most `ROOM.members_of_a_cluster` pages of each. Only these come to the driver, with titles and
descriptions; texts come of the pairs that the report shows side by side.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from neardup.arrays import Hashes, Numbers, distinct, one_batch
from neardup.local.corpus import AT_HAND, CARRIED, Corpus, PageRows, TextPart
from neardup.local.exchange import unpacked_counts, unpacked_rows
from neardup.local.features import PAIRS_AT_ONCE, CountedSurveys, Features
from neardup.local.pipeline import Judged, Outcome
from neardup.local.prior import survey_files
from neardup.local.work import MemoryParts
from neardup.methods.base import Method, SurveyResults
from neardup.report.findings import ROOM, decisions, sampled_pairs
from neardup.schemas import RELATED, VERDICTS
from neardup.spark.columns import PACKED, map_batches, packed_counts
from neardup.spark.judging import JUDGED
from neardup.spark.records import PARSED
from neardup.spark.work import Work
from neardup.text.sites import Survey, add_counts

if TYPE_CHECKING:
    from neardup.spark.pipeline import Decided

SAMPLE_PAGES = 20_000  # about
SHOWN_CHARACTERS = 16_000_000  # of texts on the driver
WORDS = pa.schema([PARSED.field(name) for name in ("title", "description")])
SAMPLED = pa.schema([("row", pa.int64()), *WORDS, ("page", pa.binary())])


def sampled_outcome(
    decided: Decided, records: DataFrame, work: Work, most: int = SAMPLE_PAGES
) -> Outcome:
    """The decisions about all pages, or about a sample of them."""
    count, method = decided.identified.count, decided.method
    pages = _sampled_pages(decided, 1 + (count - 1) // most).toArrow().sort_by("number")
    numbers = pages["number"].to_numpy()
    labels, kept = (np.searchsorted(numbers, pages[name].to_numpy()) for name in ("label", "kept"))
    dropped = pa.array(kept != np.arange(kept.size))
    to_kept = pages.filter(dropped).select(RELATED.names).cast(RELATED)
    pairs = _sampled_pairs(decided, numbers, work).toArrow()
    pairs = pairs.sort_by([("left", "ascending"), ("right", "ascending")])
    left, right = (np.searchsorted(numbers, pairs[name].to_numpy()) for name in ("left", "right"))
    verdicts = pairs.select(VERDICTS.names).cast(VERDICTS).combine_chunks()
    batches = verdicts.to_batches(PAIRS_AT_ONCE) or [pa.RecordBatch.from_pylist([], VERDICTS)]
    rows = PageRows.of(pages.select(AT_HAND.names).cast(AT_HAND))
    judged = Judged(
        Corpus(rows, []),
        method,
        cast(Features, None),  # a report does without
        CountedSurveys(SurveyResults(), {}),
        left,
        right,
        pairs["relation"].to_numpy(),
        pairs["similarity"].to_numpy(),
        MemoryParts.of(batches),
    )
    outcome = Outcome(judged, labels, kept, to_kept)
    parts, texts = _texts(pages, _shown_pages(outcome), records, work)
    surveys = CountedSurveys(_surveyed(method, texts, count, work), {})
    judged = replace(judged, corpus=Corpus(rows, parts), surveys=surveys)
    return Outcome(judged, labels, kept, to_kept)


def _sampled_pages(decided: Decided, step: int) -> DataFrame:
    """The pages of every `step`th cluster."""
    kept_first = Window.partitionBy("label").orderBy(f.col("number") != f.col("kept"), "number")
    members = decided.members.withColumn("nth", f.row_number().over(kept_first))
    pages = decided.identified.pages.join(members, "number", "left")
    pages = pages.withColumns({name: f.coalesce(name, "number") for name in ("label", "kept")})
    chosen = f.pmod(f.xxhash64("label"), f.lit(step)) == 0
    few = f.coalesce("nth", f.lit(1)) <= ROOM.members_of_a_cluster
    columns = ["number", "place", "id", *CARRIED, "label", "kept", *RELATED.names]
    return pages.where(chosen & few).select(*columns)


def _sampled_pairs(decided: Decided, numbers: Numbers, work: Work) -> DataFrame:
    """The verdicts on pairs of which both pages are in the sample."""
    verdicts = decided.verdicts.select(*JUDGED.names)
    for side in ("left", "right"):
        chosen = work.spark.createDataFrame(pa.table({side: numbers}))
        verdicts = verdicts.join(f.broadcast(chosen), side, "left_semi")
    return verdicts


def _shown_pages(outcome: Outcome) -> Numbers:
    """The pages of the pairs that the report shows, as many as there is room for."""
    judged = outcome.judged
    pairs = sampled_pairs(judged, outcome, decisions(judged, outcome), ROOM)
    pages = np.unique([judged.left[pairs], judged.right[pairs]]).astype(np.int64)
    lengths = outcome.corpus.pages.numbers("length")[pages]
    by_length = np.argsort(lengths, kind="stable")
    return np.sort(pages[by_length[np.cumsum(lengths[by_length]) <= SHOWN_CHARACTERS]])


def _texts(
    pages: pa.Table, shown: Numbers, records: DataFrame, work: Work
) -> tuple[list[TextPart], pa.RecordBatch]:
    """The shown pages with all that is known of them, and titles and descriptions of the others."""
    is_shown = np.zeros(pages.num_rows, bool)
    is_shown[shown] = True
    wanted = pa.table({"place": pages["place"], "row": np.arange(is_shown.size), "shown": is_shown})
    chosen = work.spark.createDataFrame(wanted.filter(pc.is_valid(wanted["place"])))
    here = records.join(f.broadcast(chosen), "place").select("row", "shown", "page")
    sampled = map_batches(here, _with_words, SAMPLED).toArrow()
    whole, rest = (
        one_batch(sampled.filter(filled))
        for filled in (sampled["page"].is_valid(), sampled["page"].is_null())
    )
    texts = unpacked_rows(whole["page"], PARSED)
    words = rest.select(WORDS.names).cast(WORDS)
    parts = [
        TextPart(MemoryParts.of([batch]), 0, each["row"].to_numpy())
        for batch, each in ((texts, whole), (words, rest))
    ]
    return parts, texts


def _with_words(batch: pa.RecordBatch) -> pa.RecordBatch:
    words = unpacked_rows(batch["page"], PARSED, WORDS.names)
    page = pc.if_else(batch["shown"], batch["page"], pa.scalar(None, pa.binary()))
    return pa.record_batch([batch["row"], *words.columns, page], schema=SAMPLED)


def _surveyed(method: Method, texts: pa.RecordBatch, pages: int, work: Work) -> SurveyResults:
    """What the weights of the lines of these pages depend on."""
    folders = {name: Path(file).stem for name, file in survey_files(method).items()}

    def survey(name: str, keys: Hashes) -> Survey:
        wanted = distinct(keys)
        counts = work.spark.read.parquet(f"{work.result}/remembered/{folders[name]}")

        def looked_up(batch: pa.RecordBatch) -> pa.RecordBatch:
            known = add_counts([unpacked_counts(batch)])
            return packed_counts(known.filter(pa.array(np.isin(known["key"], wanted))), 12)

        several = counts.where("octet_length(counts) > 0")
        several = map_batches(several, looked_up, PACKED).toArrow()
        return Survey.from_counts(pages, [add_counts([unpacked_counts(several)])])

    sites = corpus = None
    if method.site_counts is not None:
        sites = survey("sites", method.site_counts.lookups(texts))
    if method.surveys is not None:
        viewed = method.viewed(texts, SurveyResults(sites=sites))
        corpus = survey("corpus", method.surveys.survey(viewed)["key"].to_numpy())
    return SurveyResults(sites=sites, corpus=corpus)
