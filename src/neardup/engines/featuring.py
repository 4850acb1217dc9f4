"""The second stage: the survey, for a method that needs one, and the features of all pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.engines.parsing import Spilled
from neardup.engines.stages import Stages
from neardup.engines.threads import ordered_map
from neardup.engines.work import read_part
from neardup.methods.base import Method, Survey, Surveys


def compute_features(method: Method, spilled: Spilled, workers: int, stages: Stages) -> pa.Table:
    """The features of all pages, in the order of their ids."""
    survey = _survey(method, spilled, workers, stages) if isinstance(method, Surveys) else None
    with stages("features", total=len(spilled.ids)) as stage:

        def features_of(item: tuple[Path, pa.Array]) -> tuple[pa.RecordBatch, int]:
            pages = _pages_of(item)
            return method.features(pages, survey), pages["text"].nbytes

        collected = []
        for batch, size in ordered_map(features_of, _parts_with_pages(spilled), workers):
            collected.append(batch)
            stage.advance(batch.num_rows, size)
        table = pa.Table.from_batches(collected, method.feature_schema)
        return table.take(pa.array(_order(spilled))).combine_chunks()


def _survey(method: Surveys, spilled: Spilled, workers: int, stages: Stages) -> Survey:
    with stages("survey", total=len(spilled.ids)) as stage:

        def counts_of(item: tuple[Path, pa.Array]) -> tuple[pa.RecordBatch, int]:
            pages = _pages_of(item)
            return method.survey(pages), pages.num_rows

        collected = []
        for counts, count in ordered_map(counts_of, _parts_with_pages(spilled), workers):
            collected.append((counts["key"].to_numpy(), counts["count"].to_numpy()))
            stage.advance(count)
        return add_up(len(spilled.ids), collected)


def survey_of(method: Method, pages: pa.RecordBatch) -> Survey | None:
    """The survey of a batch that is all there is; None for a method that needs none."""
    if not isinstance(method, Surveys):
        return None
    counts = method.survey(pages)
    return add_up(pages.num_rows, [(counts["key"].to_numpy(), counts["count"].to_numpy())])


def add_up(pages: int, counts: list[tuple[NDArray[np.uint64], NDArray[np.int64]]]) -> Survey:
    """The survey of all pages from the counts of some at a time."""
    keys = np.concatenate([np.empty(0, np.uint64), *(each[0] for each in counts)])
    numbers = np.concatenate([np.empty(0, np.int64), *(each[1] for each in counts)])
    distinct, place = np.unique(keys, return_inverse=True)
    return Survey(pages, distinct, np.bincount(place, numbers, distinct.size).astype(np.int64))


def _parts_with_pages(spilled: Spilled) -> Iterator[tuple[Path, pa.Array]]:
    """Each part, and which of its records became pages (a second use of an id did not)."""
    taken = np.zeros(sum(spilled.sizes), bool)
    taken[spilled.rows] = True
    start = 0
    for path, count in zip(spilled.parts.paths(), spilled.sizes, strict=True):
        yield path, pa.array(np.flatnonzero(taken[start : start + count]))
        start += count


def _pages_of(item: tuple[Path, pa.Array]) -> pa.RecordBatch:
    path, wanted = item
    part = read_part(path)
    return part if len(wanted) == part.num_rows else part.take(wanted)


def _order(spilled: Spilled) -> NDArray[np.int64]:
    """Where each page, in the order of ids, stands among the pages of all parts."""
    order = np.empty(spilled.rows.size, np.int64)
    order[np.argsort(spilled.rows)] = np.arange(spilled.rows.size)
    return order
