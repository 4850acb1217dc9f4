"""What a result remembers of its pages, so that later runs need not read them again.

`remembered.parquet` has a row a page, in the order of ids: its record and its features.
`survey.parquet` has the counts behind the features, for a method that surveys.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.engines.features import Features
from neardup.engines.parsing import KEPT_COLUMNS, Spilled
from neardup.methods.base import Method
from neardup.schemas import COUNTS, PAGES

PAGES_FILE = "remembered.parquet"
SURVEY_FILE = "survey.parquet"
ROWS_AT_ONCE = 4096
REPEATED = ["canonical_url", "source"]  # columns whose values repeat; features are hashes
TAKEN_BYTES = 64_000_000  # of features that are put in order at once, about


def remembered_schema(method: Method) -> pa.Schema:
    """Id, record, features."""
    return pa.schema(
        [
            PAGES.field("id"),
            *(PAGES.field(name) for name in KEPT_COLUMNS),
            pa.field("length", pa.int64()),
            pa.field("features", pa.struct(list(method.feature_schema)), nullable=False),
        ]
    )


def write_remembered(folder: Path, method: Method, spilled: Spilled, features: Features) -> None:
    """Remember every page of a run."""
    options = {"use_dictionary": REPEATED, "compression": "zstd"}
    with pq.ParquetWriter(folder / PAGES_FILE, remembered_schema(method), **options) as writer:
        for batch in _rows(method, spilled, features):
            writer.write_batch(batch)


def _rows(method: Method, spilled: Spilled, features: Features) -> Iterator[pa.RecordBatch]:
    schema = remembered_schema(method)
    for start, taken in _features_in_order(features):
        here = slice(start, start + ROWS_AT_ONCE)
        columns = {
            "id": spilled.ids[here],
            **{name: spilled.pages[name][here].combine_chunks() for name in KEPT_COLUMNS},
            "length": spilled.pages["length"][here].combine_chunks(),
            "features": taken.to_struct_array(),
        }
        yield pa.record_batch(columns, schema=schema)


def _features_in_order(features: Features) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The features of ROWS_AT_ONCE pages after another, and the number of the first.

    As many as memory allows are taken together: the pages of each may lie in all parts.
    """
    together = -(-features.rows_within(TAKEN_BYTES) // ROWS_AT_ONCE) * ROWS_AT_ONCE
    numbers = np.arange(len(features))
    for first in range(0, len(features), together):
        taken = features.take(numbers[first : first + together])
        for start in range(0, taken.num_rows, ROWS_AT_ONCE):
            yield first + start, taken[start : start + ROWS_AT_ONCE]


def write_survey(folder: Path, counts: Iterator[pa.RecordBatch]) -> None:
    """Remember the counts of a survey."""
    options = {"use_dictionary": ["count"], "column_encoding": {"key": "DELTA_BINARY_PACKED"}}
    with pq.ParquetWriter(folder / SURVEY_FILE, COUNTS, compression="zstd", **options) as writer:
        for batch in counts:
            writer.write_batch(batch)
