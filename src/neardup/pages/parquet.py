"""Pages in Parquet files, a few rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.formats import RecordReader
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
    """The same pages in blocks, which are read by column."""

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
    """The results of `rows_of` for the rows of a file, and of `skipped` for its damage."""
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
        group_metadata = metadata.row_group(group)
        expected = group_metadata.num_rows
        if row_groups is None or group in row_groups:
            try:
                read = 0
                for batch in file.iter_batches(
                    _batch_rows(group_metadata),
                    row_groups=[group],
                    columns=rows.needed,
                    use_threads=False,
                ):
                    yield from rows_of(rows, batch, first + read)
                    read += batch.num_rows
                if read != expected:
                    raise ValueError(f"{expected} rows are announced, {read} are there")
            except ERRORS as error:
                detail = f"row group {group}: {first_line(error)}"
                yield skipped(Skip(Source(path, first), SkipReason.BAD_RECORD, detail))
        first += expected


def group_sizes(stream: BinaryIO) -> list[tuple[int, int]]:
    """Rows and uncompressed bytes of each row group; OSError if it is not a Parquet file."""
    try:
        metadata = pq.read_metadata(stream)
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        return [(group.num_rows, group.total_byte_size) for group in groups]
    except ERRORS as error:
        raise OSError(first_line(error)) from None


class ParquetReader(RecordReader):
    def read(self, file: File, content: Chunks) -> Iterator[RawPage | Skip]:
        del content  # Parquet is read from the end
        with file.open() as stream:
            keep = self._keep_original
            yield from read_parquet(file.source, stream, self._limits, keep_original=keep)

    def blocks(self, file: File, content: Chunks) -> Iterator[Block]:
        """The same pages in blocks of rows, each of which can be read independently."""
        del content
        with file.open() as stream:
            yield from parquet_blocks(file.source, stream, self._limits)


def _batch_rows(group: Any) -> int:
    """How many rows of this row group make a batch of bounded size."""
    row_bytes = max(1, group.total_byte_size // max(1, group.num_rows))
    rows = int(min(_BATCH_ROWS, max(1, BATCH_BYTES // row_bytes)))
    # The average size of a large column says little if its values may repeat.
    is_unsure = any(
        column.has_dictionary_page and column.total_uncompressed_size > BATCH_BYTES
        for column in map(group.column, range(group.num_columns))
    )
    return min(rows, _UNSURE_ROWS) if is_unsure else rows


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
