"""Pages in Arrow files (IPC, also called Feather), in the file or the stream format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.formats import RecordReader
from neardup.pages.inputs import File
from neardup.pages.rows import BATCH_BYTES, ERRORS, TablePages, first_line
from neardup.pages.streams import Chunks

FILE_MAGIC = b"ARROW1\0\0"


class ArrowReader(RecordReader):
    def read(self, file: File, content: Chunks) -> Iterator[RawPage | Skip]:
        del content  # the index of the batches is at the end of a file
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


class _Batches(NamedTuple):
    """The batches of a file, read by number, or of a stream, read one after another."""

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
                part = batch.slice(start, step)
                yield from rows.pages(part, row)
                row += part.num_rows
        except StopIteration:
            return
        except ERRORS as error:
            detail = f"batch {number}: {first_line(error)}"
            yield Skip(Source(path, row), SkipReason.BAD_RECORD, detail)
            row += 1
            if batches.total is None:
                return
