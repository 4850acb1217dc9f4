"""The features of all pages, by page number, on disk or in memory."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Rows = NDArray[np.int64]


@dataclass
class Features:
    """Feature batches, and which page each of their rows is about.

    The batches may be views of mapped files: then only what is asked for is read, and `take`
    gives the memory back when it has copied its rows.
    """

    schema: pa.Schema
    batches: Sequence[pa.RecordBatch]
    pages: Sequence[Rows]  # the page number of each row of each batch
    maps: Sequence[mmap.mmap] = ()
    _batch: NDArray[np.int32] = field(init=False)
    _row: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        count = max((int(pages.max(initial=-1)) for pages in self.pages), default=-1) + 1
        self._batch = np.empty(count, np.int32)
        self._row = np.empty(count, np.int32)
        for number, pages in enumerate(self.pages):
            self._batch[pages] = number
            self._row[pages] = np.arange(pages.size)

    def __len__(self) -> int:
        return self._batch.size

    def each(self) -> Iterator[tuple[Rows, pa.RecordBatch]]:
        """The batches with the page numbers of their rows."""
        return zip(self.pages, self.batches, strict=True)

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
            self.batches[number].take(pa.array(each))
            for number, each in zip(numbers.tolist(), rows, strict=True)
        ]
        self._release(numbers)
        return _one_batch(taken).take(pa.array(place))

    def all(self) -> pa.Table:
        """The features of all pages, in the order of their numbers, in memory."""
        return pa.Table.from_batches([self.take(np.arange(len(self)))], self.schema)

    def _release(self, numbers: NDArray[np.int64]) -> None:
        """Mapped pages count as this process's memory until they are given back."""
        for number in numbers.tolist() if self.maps else ():
            self.maps[number].madvise(mmap.MADV_DONTNEED)


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
