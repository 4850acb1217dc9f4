"""The second stage: the survey, for a method that needs one, and the features of all pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.kernels import key_order
from neardup.local.corpus import Spilled
from neardup.local.features import Features, mapped_features
from neardup.local.run import key_ranges, together
from neardup.local.work import Run, in_order_of_keys, read_part, within_keys
from neardup.methods.base import Method, Survey, Surveys
from neardup.schemas import COUNTS, PAGES

COUNT_BYTES = 16  # a key and its count
SURVEYED = "surveyed"  # the folder of the summed counts

Group = list[tuple[Path, NDArray[np.int64]]]  # parts with the page numbers of their records


def compute_features(
    method: Method, spilled: Spilled, run: Run, earlier: Iterable[pa.RecordBatch] = ()
) -> Features:
    """The features of the pages read; `earlier` are counts that a survey adds to its own."""
    survey = None
    if isinstance(method, Surveys):
        survey = _survey(method, method.page_columns, spilled, run, list(earlier))
    parts = run.parts("features", method.feature_schema, compressed=False)

    def features_of(group: Group) -> tuple[pa.RecordBatch, int]:
        pages = _pages_of(group, method.page_columns)
        text_bytes = pc.sum(pc.binary_length(pages["text"])).as_py() or 0
        return method.features(pages, survey), text_bytes

    with run.stages("features", total=len(spilled.ids)) as stage:
        parts.fill(spilled.each_group(), features_of, run.workers, stage)
    paths = [parts.path(part.number) for part in parts.listed]
    numbers = [_page_numbers(group) for group in spilled.each_group()]
    return mapped_features(method.feature_schema, paths, numbers)


def _page_numbers(group: Group) -> NDArray[np.int64]:
    numbers = np.concatenate([each for _, each in group])
    return numbers[numbers >= 0]


def _pages_of(group: Group, columns: Sequence[str] | None) -> pa.RecordBatch:
    """The records of some parts that became pages (a second use of an id did not)."""
    parts = [read_part(path, columns or PAGES.names, PAGES) for path, _ in group]
    records = parts[0] if len(parts) == 1 else pa.concat_batches(parts)
    is_page = np.concatenate([numbers for _, numbers in group]) >= 0
    return records if is_page.all() else records.take(pa.array(np.flatnonzero(is_page)))


def _survey(
    method: Surveys,
    columns: Sequence[str] | None,
    spilled: Spilled,
    run: Run,
    earlier: list[pa.RecordBatch],
) -> Survey:
    """What the method counts over all pages; all counts stay in the work folder."""
    parts = run.parts("survey", COUNTS, compressed=False)

    def survey_part(groups: Sequence[Group]) -> tuple[pa.RecordBatch, int]:
        counts = [method.survey(_pages_of(group, columns)) for group in groups]
        return in_order_of_keys(counts[0]) if len(counts) == 1 else add_up(counts), 0

    def add_up_range(cut: tuple[int, int]) -> tuple[pa.RecordBatch, int]:
        known = (within_keys(batch, *cut) for batch in earlier)
        return add_up(chain(parts.each_range(*cut), known)), 0

    with run.stages("survey", total=len(spilled.ids)) as stage:
        parts.fill(together(list(spilled.each_group())), survey_part, run.workers, stage)
        total = sum(part.rows for part in parts.listed) + sum(each.num_rows for each in earlier)
        ranges = key_ranges(total * 4 * COUNT_BYTES, run.memory)
        sums = run.parts(SURVEYED, COUNTS, compressed=False, cuts=len(ranges))
        sums.fill(ranges, add_up_range, 1, stage)
    return survey_from(len(spilled.ids), sums.each())


def survey_from(pages: int, sums: Iterable[pa.RecordBatch]) -> Survey:
    """A survey from counts in the order of their keys; those of 1 need not be remembered."""
    keys, counts = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for batch in sums:
        count = batch["count"].to_numpy()
        keys.append(batch["key"].to_numpy()[count > 1])
        counts.append(count[count > 1])
    return Survey(pages, np.concatenate(keys), np.concatenate(counts))


def survey_of(method: Method, pages: pa.RecordBatch) -> Survey | None:
    """The survey of a batch that is all there is; None for a method that needs none."""
    if not isinstance(method, Surveys):
        return None
    return survey_from(pages.num_rows, [add_up([method.survey(pages)])])


def add_up(batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """The keys of all batches, in order, each with the sum of its counts.

    The counts may be many: they are copied once, straight to where they belong.
    """
    parts = [(batch["key"].to_numpy(), batch["count"].to_numpy()) for batch in batches]
    total = sum(key.size for key, _ in parts)
    starts = key_order.no_ranges(total)
    for key, _ in parts:
        key_order.count_in_ranges(key, starts)
    places = key_order.starts_of_ranges(starts)
    keys, counts = np.empty(total, np.uint64), np.empty(total, np.int64)
    for key, count in parts:
        key_order.put_in_ranges(key, count, places, keys, counts)
    key_order.order_in_ranges(starts, keys, counts)
    return pa.record_batch(list(key_order.sums_of_keys(keys, counts)), schema=COUNTS)


def decidable_pages(method: Method, features: Features) -> NDArray[np.bool_]:
    """For each page whether it has enough text for a verdict."""
    decidable = np.zeros(len(features), bool)
    for pages, batch in features.each():
        decidable[pages] = method.decidable(batch).to_numpy(zero_copy_only=False)
    return decidable
