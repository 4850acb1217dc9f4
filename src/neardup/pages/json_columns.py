"""JSON lines as a batch of raw pages, by column; `jsonl.py` cuts files into blocks of lines."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import Numbers, string_array
from neardup.kernels import json_lines as kernel
from neardup.kernels.jit import Bytes
from neardup.kernels.page_bytes import UNKNOWN, plain_times
from neardup.model import RawPage, Skip
from neardup.pages.fields import parse_time
from neardup.pages.limits import FIELD_LENGTH, URL_LENGTH, Limits
from neardup.pages.raw import RawBatch, identities, with_records
from neardup.schemas import RAW, TIME

PADDING = kernel.PADDING
ReadOdd = Callable[[int, bytes], RawPage | Skip | None]
LONGEST = {kernel.ID: FIELD_LENGTH, kernel.URL: URL_LENGTH, kernel.TITLE: FIELD_LENGTH}


class LineBlock:
    """Whole lines and the start of the next one, copied while they are in the processor's cache.

    Of a start of more than `limit` bytes only the size is kept.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._room = np.empty(0, np.uint8)
        self.whole = 0  # bytes of whole lines
        self.start = 0  # bytes of the start of the next line

    def add_lines(self, data: memoryview) -> None:
        """The rest of the line that was started, and further lines."""
        self._write(data)
        self.whole, self.start = self.whole + self.start + len(data), 0

    def add_start(self, data: memoryview) -> None:
        """More of the line that comes next."""
        if self.start + len(data) <= self._limit:
            self._write(data)
        self.start += len(data)

    def take(self) -> Bytes:
        """The whole lines, with `PADDING` bytes after them; the start of the next is left."""
        block, kept = self._room[: self.whole + PADDING], self.start <= self._limit
        left = self._room[self.whole : self.whole + self.start * kept]
        self._room, self.whole = np.empty_like(self._room), 0
        self._room[: left.size] = left
        return block

    def _write(self, data: memoryview) -> None:
        at = self.whole + self.start
        needed = at + len(data) + PADDING
        if needed > self._room.size:
            room = np.empty(needed + needed // 2, np.uint8)
            room[:at] = self._room[:at]
            self._room = room
        self._room.data[at : at + len(data)] = data


def line_count(text: Bytes) -> int:
    """How many lines there are; `text` has `PADDING` bytes after them."""
    return kernel.count_lines(text, text.size - PADDING)


def read_columns(
    path: str, text: Bytes, count: int, first: int, limits: Limits, read_odd: ReadOdd
) -> RawBatch:
    """The pages of `count` lines, the first of which has the number `first` in its file.

    `text` has `PADDING` bytes after the lines. Lines that the kernel leaves, and those of pages
    that may be skipped, are passed to `read_odd` with their numbers.
    """
    columns = limits.columns
    names = (columns.html, columns.text, columns.id, columns.url, columns.title, columns.time)
    encoded = tuple(name.encode() for name in names)
    lines = kernel.read_lines(text, text.size - PADDING, count, encoded)
    sizes = np.diff(lines.ends[kernel.BODY])
    long = sizes > limits.page_bytes
    for field, most in LONGEST.items():
        long |= np.diff(lines.ends[field - 1]) > most
    is_read = (lines.status == kernel.READ) & ~long
    pages = _pages(path, first, lines, np.flatnonzero(is_read))
    odd = np.flatnonzero((lines.status == kernel.ODD) | long).tolist()
    if not odd:
        return RawBatch(pages, [])
    starts = lines.starts.tolist()
    records = [
        read_odd(line, text[starts[line] : starts[line + 1]].tobytes().removesuffix(b"\n"))
        for line in odd
    ]
    return with_records(pages, records)


def _pages(path: str, first: int, lines: kernel.Lines, rows: Numbers) -> pa.RecordBatch:
    """The rows that were read, as a batch of `schemas.RAW`."""
    everything = rows.size == lines.status.size

    def column(field: int) -> pa.Array:
        data, ends = lines.columns[field - 1], lines.ends[field - 1]
        values = string_array(data[: ends[-1]], ends)
        return values if everything else values.take(pa.array(rows))

    records = pa.array(rows + first)
    url = column(kernel.URL)
    return pa.record_batch(
        [
            *identities(column(kernel.ID), url, path, records),
            url,
            column(kernel.TITLE),
            _times(lines, rows),
            _bodies(lines, rows, everything=everything),
            pa.array(lines.is_html[rows]),
            pa.repeat("utf-8", rows.size),
            pa.repeat(path, rows.size),
            records,
        ],
        schema=RAW,
    )


def _bodies(lines: kernel.Lines, rows: Numbers, *, everything: bool) -> pa.Array:
    data, ends = lines.columns[kernel.BODY], lines.ends[kernel.BODY]
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(data[: ends[-1]])]
    bodies = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(ends) - 1, buffers)
    return bodies if everything else bodies.take(pa.array(rows))


def _times(lines: kernel.Lines, rows: Numbers) -> pa.Array:
    """The times; those that are not written in the usual way one by one."""
    data, ends = lines.columns[kernel.TIME - 1], lines.ends[kernel.TIME - 1]
    kinds = lines.kinds[rows, kernel.TIME]
    times = plain_times(data, ends)[rows]
    times[kinds != kernel.STRING] = UNKNOWN
    unsure = np.flatnonzero((times == UNKNOWN) & (kinds != kernel.ABSENT))
    column = pa.array(times, mask=times == UNKNOWN).cast(TIME)
    if not unsure.size:
        return column
    values = []
    for row in unsure.tolist():
        line = rows[row]
        value = data[ends[line] : ends[line + 1]].tobytes().decode()
        values.append(parse_time(value if kinds[row] == kernel.STRING else json.loads(value)))
    is_unsure = np.zeros(rows.size, bool)
    is_unsure[unsure] = True
    return pc.replace_with_mask(column, pa.array(is_unsure), pa.array(values, TIME))
