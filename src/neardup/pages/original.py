"""A record in the form it came in, kept on request so that kept pages can be written back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class JsonLine:
    """The line without its end."""

    line: bytes


@dataclass(frozen=True, slots=True)
class ParquetRow:
    """One row of a `pyarrow.RecordBatch`, with all columns of its file."""

    batch: Any
    row: int


@dataclass(frozen=True, slots=True)
class WarcBytes:
    """A whole WARC record: head, block and the two line ends after it."""

    record: bytes
