"""The features of all pages, by page number, on disk or in memory.

Pairs of pages judged some at a time, with the features they need brought into memory.

Features are mapped files, and a single row that is read makes the 64 KB around it resident, as
memory of this process. The pages of a pair stand anywhere, so some thousand pairs would hold all
features of a run. Where that is more than there is room for, the rows of many pairs are copied at
once, file by file.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.arrays import Gathered, lengths, lists_of_numbers
from neardup.methods.base import Places

Rows = NDArray[np.int64]

FEWEST_ROWS = 256  # are taken at once, whatever they take


@dataclass
class Features:
    """Feature batches, and which page each of their rows is about.

    The batches may be views of mapped files: then only what is asked for is read, and given back
    after use, because mapped memory counts as this process's own until then.
    """

    schema: pa.Schema
    batches: Sequence[pa.RecordBatch]
    pages: Sequence[Rows]  # the page number of each row of each batch
    maps: Sequence[mmap.mmap] = ()
    _batch: NDArray[np.int32] = field(init=False)
    _row: NDArray[np.int32] = field(init=False)
    _lengths: dict[str, NDArray[np.int32]] = field(init=False)  # of the lists of numbers

    def __post_init__(self) -> None:
        count = max((int(pages.max(initial=-1)) for pages in self.pages), default=-1) + 1
        self._batch = np.empty(count, np.int32)
        self._row = np.empty(count, np.int32)
        for number, pages in enumerate(self.pages):
            self._batch[pages] = number
            self._row[pages] = np.arange(pages.size)
        self._lengths = {
            name: self._lengths_of(name) for name in lists_of_numbers(self.schema, self.batches)
        }

    def __len__(self) -> int:
        return self._batch.size

    @property
    def number_lists(self) -> list[str]:
        """The columns of lists of numbers in which nothing is null."""
        return list(self._lengths)

    @cached_property
    def total_bytes(self) -> int:
        """What all pages take."""
        total: int = sum(batch.nbytes for batch in self.batches)
        return total

    @property
    def row_bytes(self) -> int:
        """What a page takes, on average."""
        return self.total_bytes // max(len(self), 1) + 1

    @cached_property
    def held(self) -> Features:
        """The same, if they are so few that all of them may stay in memory once they are read."""
        return Features(self.schema, self.batches, self.pages)

    def rows_within(self, size: int) -> int:
        """How many pages take about `size` bytes."""
        return max(size // self.row_bytes, FEWEST_ROWS)

    def each(self) -> Iterator[tuple[Rows, pa.RecordBatch]]:
        """The batches with the page numbers of their rows, one after another."""
        for number in range(len(self.batches)):
            yield self.pages[number], self.batches[number]
            self.release(number)

    def release(self, number: int) -> None:
        """Batch `number` is not needed for now: give back its memory, if it is mapped."""
        if self.maps:
            self.maps[number].madvise(mmap.MADV_DONTNEED)

    def places(self, pages: Rows) -> Places:
        """In which batch each of these pages is, and in which row of it."""
        return Places(self._batch[pages], self._row[pages])

    def take(self, pages: Rows) -> pa.RecordBatch:
        """The features of these pages, in this order, as one batch of its own.

        Part by part, so that little of the mapped files is in memory at a time.
        """
        if not pages.size:
            return pa.RecordBatch.from_pylist([], self.schema)
        order = np.lexsort((self._row[pages], self._batch[pages]))
        numbers, starts = np.unique(self._batch[pages[order]], return_index=True)
        lists = {name: self._room_for(name, pages) for name in self._lengths}
        taken = []
        for number, places in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
            rows = self._row[pages[places]].astype(np.int64)
            for name, gathered in lists.items():
                gathered.put(self.batches[number][name], rows, places)
            taken.append(self.batches[number].drop_columns(list(lists)).take(pa.array(rows)))
            self.release(number)
        found = {name: gathered.column() for name, gathered in lists.items()}
        if len(found) < len(self.schema):
            others = _one_batch(taken).take(pa.array(np.argsort(order)))
            found |= dict(zip(others.schema.names, others.columns, strict=True))
        return pa.record_batch([found[name] for name in self.schema.names], schema=self.schema)

    def all(self) -> pa.Table:
        """The features of all pages, in the order of their numbers, in memory."""
        return pa.Table.from_batches([self.take(np.arange(len(self)))], self.schema)

    def _lengths_of(self, name: str) -> NDArray[np.int32]:
        """Of the lists of a column, by page number."""
        found = np.empty(len(self), np.int32)
        for pages, batch in zip(self.pages, self.batches, strict=True):
            found[pages] = lengths(batch[name])
        return found

    def _room_for(self, name: str, pages: Rows) -> Gathered:
        return Gathered(self.schema.field(name).type, self._lengths[name][pages])


def _one_batch(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def features_in_memory(batch: pa.RecordBatch) -> Features:
    """Features that are all there already, page by page."""
    return Features(batch.schema, [batch], [np.arange(batch.num_rows)])


def mapped_features(schema: pa.Schema, paths: Sequence[Path], pages: Sequence[Rows]) -> Features:
    """Features in uncompressed Arrow files, read as they are asked for."""
    maps = [_map(path) for path in paths]
    batches = [pa.ipc.open_file(pa.py_buffer(each)).get_batch(0) for each in maps]
    return Features(schema, batches, pages, maps)


def _map(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


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
