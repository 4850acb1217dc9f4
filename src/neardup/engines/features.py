"""The features of all pages, by page number, on disk or in memory."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.engines.gathered_lists import Gathered, lengths, lists_of_numbers
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
