"""Pages in Parquet files, a few rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.inputs import File
from neardup.pages.limits import Limits
from neardup.pages.raw import Block, only_skips, together
from neardup.pages.rows import BATCH_BYTES, ERRORS, TablePages, first_line, is_bytes
from neardup.pages.streams import Chunks

_BATCH_ROWS = 1024
_UNSURE_ROWS = 16  # for a large column whose values may repeat

Record = TypeVar("Record")


def read_parquet(
    path: str,
    stream: BinaryIO,
    limits: Limits,
    *,
    keep_original: bool = False,
    row_groups: range | None = None,
) -> Iterator[RawPage | Skip]:
    """The pages of a file, in order, or those of some of its row groups."""
    return _read(
        path, stream, limits, keep_original, row_groups, TablePages.pages, lambda skip: skip
    )


def parquet_blocks(
    path: str, stream: BinaryIO, limits: Limits, *, row_groups: range | None = None
) -> Iterator[Block]:
    """The same in blocks, which are read by column."""

    def skipped(skip: Skip) -> tuple[int, Block]:
        return 0, partial(only_skips, [skip])

    blocks = _read(path, stream, limits, False, row_groups, TablePages.blocks, skipped)
    return together(blocks)


def _read(
    path: str,
    stream: BinaryIO,
    limits: Limits,
    keep_original: bool,
    row_groups: range | None,
    rows_of: Callable[[TablePages, pa.RecordBatch, int], Iterator[Record]],
    skipped: Callable[[Skip], Record],
) -> Iterator[Record]:
    """What `rows_of` makes of the rows of a file, and `skipped` of its damage."""
    try:
        metadata = pq.read_metadata(stream)
        schema = metadata.schema.to_arrow_schema()
        repeated = _dictionaries(metadata, schema)
        file = pq.ParquetFile(
            stream,
            metadata=metadata,
            read_dictionary=repeated,
            buffer_size=1 << 20,
            pre_buffer=False,
        )
        rows = TablePages(path, schema, limits, keep_original=keep_original)
        nothing = rows.nothing()
    except ERRORS as error:
        detail = f"not a Parquet file: {first_line(error)}"
        yield skipped(Skip(Source(path), SkipReason.UNREADABLE, detail))
        return
    if nothing is not None:
        yield skipped(nothing)
        return
    first = 0
    for group in range(file.num_row_groups):
        about = metadata.row_group(group)
        if row_groups is None or group in row_groups:
            try:
                read = 0
                for batch in file.iter_batches(
                    _batch_rows(about), row_groups=[group], columns=rows.needed, use_threads=False
                ):
                    yield from rows_of(rows, batch, first + read)
                    read += batch.num_rows
                if read != about.num_rows:
                    raise ValueError(f"{about.num_rows} rows are announced, {read} are there")
            except ERRORS as error:
                detail = f"row group {group}: {first_line(error)}"
                yield skipped(Skip(Source(path, first), SkipReason.BAD_RECORD, detail))
        first += about.num_rows


def group_sizes(stream: BinaryIO) -> list[tuple[int, int]]:
    """Rows and uncompressed bytes of each row group; OSError if it is not a Parquet file."""
    try:
        about = pq.read_metadata(stream)
        groups = [about.row_group(number) for number in range(about.num_row_groups)]
        return [(each.num_rows, each.total_byte_size) for each in groups]
    except ERRORS as error:
        raise OSError(first_line(error)) from None


class ParquetReader:
    def __init__(self, limits: Limits, keep_original: bool) -> None:
        self._limits = limits
        self._keep_original = keep_original

    def read(self, file: File, content: Chunks) -> Iterator[RawPage | Skip]:
        del content  # Parquet is read from the end
        with file.open() as stream:
            keep = self._keep_original
            yield from read_parquet(file.source, stream, self._limits, keep_original=keep)

    def blocks(self, file: File, content: Chunks) -> Iterator[Block]:
        """The same by blocks of rows; what is left to do for each needs nothing of the others."""
        del content
        with file.open() as stream:
            yield from parquet_blocks(file.source, stream, self._limits)

    def finish(self) -> Iterator[RawPage | Skip]:
        """Nothing to do: rows do not depend on each other."""
        return iter(())


def _batch_rows(about: Any) -> int:
    """How many rows of this group make a batch of bounded size."""
    each = max(1, about.total_byte_size // max(1, about.num_rows))
    rows = int(min(_BATCH_ROWS, max(1, BATCH_BYTES // each)))
    chunks = [about.column(number) for number in range(about.num_columns)]
    return min(rows, _UNSURE_ROWS) if any(map(_may_repeat, chunks)) else rows


def _may_repeat(chunk: Any) -> bool:
    """Whether the average size of a column says little: it is large, and values may repeat."""
    return bool(chunk.has_dictionary_page) and chunk.total_uncompressed_size > BATCH_BYTES


def _dictionaries(metadata: Any, schema: pa.Schema) -> list[str]:
    """The byte columns to read as dictionaries: those with few distinct values.

    Arrow keeps every distinct value of a row group in its dictionary, so a large column of
    different pages must be read as plain values.
    """
    large = {
        chunk.path_in_schema
        for group in map(metadata.row_group, range(metadata.num_row_groups))
        for chunk in map(group.column, range(group.num_columns))
        if chunk.total_uncompressed_size > BATCH_BYTES
    }
    return [
        name for name in schema.names if is_bytes(schema.field(name).type) and name not in large
    ]
