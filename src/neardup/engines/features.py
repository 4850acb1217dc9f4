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

from neardup.engines.packed_lists import long_lists, pack, unpack
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
    _long: list[str] = field(init=False)  # columns of long lists
    _packed: list[pa.RecordBatch] = field(init=False)  # the batches, with those packed

    def __post_init__(self) -> None:
        count = max((int(pages.max(initial=-1)) for pages in self.pages), default=-1) + 1
        self._batch = np.empty(count, np.int32)
        self._row = np.empty(count, np.int32)
        for number, pages in enumerate(self.pages):
            self._batch[pages] = number
            self._row[pages] = np.arange(pages.size)
        self._long = long_lists(self.schema, self.batches)
        self._packed = [pack(batch, self._long) for batch in self.batches]

    def __len__(self) -> int:
        return self._batch.size

    @cached_property
    def row_bytes(self) -> int:
        """What a page takes, on average."""
        total: int = sum(batch.nbytes for batch in self.batches)
        return total // max(len(self), 1) + 1

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
        """The features of these pages, in this order, as one batch of its own."""
        if not pages.size:
            return pa.RecordBatch.from_pylist([], self.schema)
        distinct, place = np.unique(
            self._batch[pages].astype(np.int64) << 32 | self._row[pages], return_inverse=True
        )
        numbers, starts = np.unique(distinct >> 32, return_index=True)
        rows = np.split(distinct & 0xFFFFFFFF, starts[1:])
        taken = [
            self._rows_of(number, each) for number, each in zip(numbers.tolist(), rows, strict=True)
        ]
        return unpack(_one_batch(taken).take(pa.array(place)), self.schema, self._long)

    def all(self) -> pa.Table:
        """The features of all pages, in the order of their numbers, in memory."""
        return pa.Table.from_batches([self.take(np.arange(len(self)))], self.schema)

    def _rows_of(self, number: int, rows: Rows) -> pa.RecordBatch:
        taken = self._packed[number].take(pa.array(rows))
        self.release(number)
        return taken


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
