"""Pairs of pages judged some at a time, with the features they need brought into memory.

Features are mapped files, and a single row that is read makes the 64 KB around it resident, as
memory of this process. The pages of a pair stand anywhere, so some thousand pairs would hold all
features of a run. Where that is more than there is room for, the rows of many pairs are copied at
once, file by file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from neardup.engines.features import Features, Rows, features_in_memory
from neardup.methods.base import Places

PAIRS_AT_ONCE = 16_384
JUDGED_BYTES = 64_000_000  # of features that a worker reads at once, about
NEARBY_SHARE = 0.05  # of the memory allowed, for the features of some pairs

InPlace = Callable[[Sequence[pa.RecordBatch], Places, Places], pa.RecordBatch]


class PairJudge(NamedTuple):
    """How a method judges pairs: row by row of two batches, or the rows where they stand."""

    of_batches: Callable[[pa.RecordBatch, pa.RecordBatch], pa.RecordBatch]
    in_place: InPlace | None  # the same, for a method that can


@dataclass(frozen=True)
class Block:
    """Some pairs of pages, and features that hold these pages, in memory if there is room."""

    left: Rows
    right: Rows
    features: Features
    pages: Rows | None = None  # in order, if the features are numbered by their places in it

    def judge(self, judge: PairJudge, left: Rows, right: Rows) -> pa.RecordBatch:
        """The verdicts on the pairs, or on some of them."""
        if self.pages is not None:
            left, right = _places_in(self.pages, left, right)
        return pa.concat_batches(judge_in_steps(judge, self.features, left, right))


def blocks(features: Features, left: Rows, right: Rows, memory: int) -> Iterator[Block]:
    """The pairs in order, PAIRS_AT_ONCE in a block."""
    starts = range(0, left.size, PAIRS_AT_ONCE)
    pairs = [
        (left[start : start + PAIRS_AT_ONCE], right[start : start + PAIRS_AT_ONCE])
        for start in starts
    ]
    room = int(memory * NEARBY_SHARE)
    if features.total_bytes <= room:
        features = features.held
    at_once = features.rows_within(room) // (2 * PAIRS_AT_ONCE)
    if not features.maps or not at_once:
        yield from (Block(*each, features) for each in pairs)
        return
    for first in range(0, len(pairs), at_once):
        some = pairs[first : first + at_once]
        copies = _copies(features, *(side for each in some for side in each))
        yield from (Block(*each, *copies) for each in some)


def judge_in_steps(
    judge: PairJudge, features: Features, left: Rows, right: Rows
) -> Iterator[pa.RecordBatch]:
    """The verdicts on pairs of rows, so many at a time that their features fit in memory.

    All at once if no features have to be copied for it.
    """
    step = features.rows_within(JUDGED_BYTES // 2)
    if judge.in_place is not None and not features.maps:
        step = max(left.size, 1)
    for start in range(0, max(left.size, 1), step):
        one, other = left[start : start + step], right[start : start + step]
        if judge.in_place is None:
            yield judge.of_batches(features.take(one), features.take(other))
        else:
            yield _judge_in_place(judge.in_place, features, one, other)


def _judge_in_place(judge: InPlace, features: Features, left: Rows, right: Rows) -> pa.RecordBatch:
    if features.maps:
        features, pages = _copies(features, left, right)
        left, right = _places_in(pages, left, right)
    return judge(features.batches, features.places(left), features.places(right))


def _copies(features: Features, *pages: Rows) -> tuple[Features, Rows]:
    """The features of all these pages in memory, numbered by their places among them, in order."""
    every = np.unique(np.concatenate(pages))
    return features_in_memory(features.take(every)), every


def _places_in(pages: Rows, left: Rows, right: Rows) -> tuple[Rows, Rows]:
    return np.searchsorted(pages, left), np.searchsorted(pages, right)
