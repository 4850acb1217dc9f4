"""Pages of Arrow files (IPC, also called Feather), as files or as streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.inputs import File
from neardup.pages.limits import Limits
from neardup.pages.rows import BATCH_BYTES, ERRORS, TablePages, first_line
from neardup.pages.streams import Chunks

FILE_MAGIC = b"ARROW1\0\0"


class ArrowReader:
    def __init__(self, limits: Limits, keep_original: bool) -> None:
        self._limits = limits
        self._keep_original = keep_original

    def read(self, file: File, content: Chunks) -> Iterator[RawPage | Skip]:
        del content  # a file has its schema and the places of its batches at the end
        with file.open() as stream:
            try:
                batches = _opened(stream)
                rows = TablePages(
                    file.source, batches.schema, self._limits, keep_original=self._keep_original
                )
                nothing = rows.nothing()
            except ERRORS as error:
                detail = f"not an Arrow file: {first_line(error)}"
                yield Skip(Source(file.source), SkipReason.UNREADABLE, detail)
                return
            if nothing is not None:
                yield nothing
                return
            yield from _pages(file.source, batches, rows)

    def finish(self) -> Iterator[RawPage | Skip]:
        """Nothing: every row stands for itself."""
        return iter(())


class _Batches(NamedTuple):
    """The batches of a file by number, or those of a stream one after another."""

    schema: pa.Schema
    read: Callable[[int], pa.RecordBatch]
    total: int | None  # None for a stream: StopIteration ends it, and so does damage


def _opened(stream: BinaryIO) -> _Batches:
    start = stream.read(len(FILE_MAGIC))
    stream.seek(0)
    if start != FILE_MAGIC:
        source: Any = pa.ipc.open_stream(stream)
        return _Batches(source.schema, lambda _: source.read_next_batch(), None)
    file: Any = pa.ipc.open_file(stream)
    return _Batches(file.schema, file.get_batch, file.num_record_batches)


def _pages(path: str, batches: _Batches, rows: TablePages) -> Iterator[RawPage | Skip]:
    row = 0
    for number in count() if batches.total is None else range(batches.total):
        try:
            batch = batches.read(number)
            batch.validate(full=True)  # a damaged offset would lead anywhere
            step = max(1, batch.num_rows * BATCH_BYTES // max(batch.nbytes, BATCH_BYTES))
            for start in range(0, batch.num_rows, step):
                some = batch.slice(start, step)
                yield from rows.pages(some, row)
                row += some.num_rows
        except StopIteration:
            return
        except ERRORS as error:
            detail = f"batch {number}: {first_line(error)}"
            yield Skip(Source(path, row), SkipReason.BAD_RECORD, detail)
            row += 1
            if batches.total is None:
                return
