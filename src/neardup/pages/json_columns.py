"""JSON lines as a batch of raw pages, by column; `jsonl.py` cuts files into blocks of lines."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import Numbers, string_array
from neardup.kernels import json_lines as kernel
from neardup.kernels.page_bytes import UNKNOWN, plain_times
from neardup.model import RawPage, Skip
from neardup.pages.fields import parse_time
from neardup.pages.limits import FIELD_LENGTH, URL_LENGTH, Limits
from neardup.pages.raw import RawBatch, identities, with_records
from neardup.schemas import RAW, TIME

PADDING = kernel.PADDING
ReadOdd = Callable[[int, bytes], RawPage | Skip | None]
LONGEST = {kernel.ID: FIELD_LENGTH, kernel.URL: URL_LENGTH, kernel.TITLE: FIELD_LENGTH}


def line_count(text: bytes) -> int:
    """How many lines there are; `text` has `PADDING` bytes after them."""
    return kernel.count_lines(np.frombuffer(text, np.uint8), len(text) - PADDING)


def read_columns(
    path: str, text: bytes, count: int, first: int, limits: Limits, read_odd: ReadOdd
) -> RawBatch:
    """The pages of `count` lines, the first of which has the number `first` in its file.

    `text` has `PADDING` bytes after the lines. Lines that the kernel leaves, and those of pages
    that may be skipped, are passed to `read_odd` with their numbers.
    """
    columns = limits.columns
    names = (columns.html, columns.text, columns.id, columns.url, columns.title, columns.time)
    data = np.frombuffer(text, np.uint8)
    end = len(text) - PADDING
    lines = kernel.read_lines(data, end, count, tuple(name.encode() for name in names))
    sizes = np.diff(lines.ends[kernel.BODY])
    long = sizes > limits.page_bytes
    for field, most in LONGEST.items():
        long |= np.diff(lines.ends[field - 1]) > most
    is_read = (lines.status == kernel.READ) & ~long
    pages = _pages(path, first, lines, np.flatnonzero(is_read))
    odd = np.flatnonzero((lines.status == kernel.ODD) | long).tolist()
    if not odd:
        return RawBatch(pages, [])
    records = [
        read_odd(line, text[lines.starts[line] : lines.starts[line + 1]].removesuffix(b"\n"))
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
