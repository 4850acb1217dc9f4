"""What a result remembers of its pages, so that later runs need not read them again.

`remembered.parquet` has a row a page, in the order of ids: its record and its features. Lists of
numbers are byte strings there: Parquet writes and reads lists number by number, with two levels for
each.
`survey.parquet` has the counts behind the features, for a method that surveys.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neardup.engines.features import Features
from neardup.engines.packed_lists import pack, unpack
from neardup.engines.parsing import KEPT_COLUMNS, Spilled
from neardup.schemas import COUNTS, PAGES

PAGES_FILE = "remembered.parquet"
SURVEY_FILE = "survey.parquet"
ROWS_AT_ONCE = 4096
REPEATED = ["canonical_url", "source"]  # columns whose values repeat; features are hashes
TAKEN_BYTES = 64_000_000  # of features that are put in order at once, about


def _schema(features: Features) -> pa.Schema:
    """Id, record, features."""
    return pa.schema(
        [
            PAGES.field("id"),
            *(PAGES.field(name) for name in KEPT_COLUMNS),
            pa.field("length", pa.int64()),
            pa.field("features", pa.struct(list(_packed_schema(features))), nullable=False),
        ]
    )


def _packed_schema(features: Features) -> pa.Schema:
    packed = features.number_lists
    return pa.schema(
        [
            (each.name, pa.large_binary()) if each.name in packed else each
            for each in features.schema
        ]
    )


def write_remembered(folder: Path, spilled: Spilled, features: Features) -> None:
    """Remember every page of a run."""
    options = {"use_dictionary": REPEATED, "compression": "zstd"}
    with pq.ParquetWriter(folder / PAGES_FILE, _schema(features), **options) as writer:
        for batch in _rows(spilled, features):
            writer.write_batch(batch)


def read_remembered(folder: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The features of all pages, in the order of ids, as they were."""
    lists = [field.name for field in schema if pa.types.is_list(field.type)]
    file = pq.ParquetFile(folder / PAGES_FILE)
    for batch in file.iter_batches(ROWS_AT_ONCE, columns=["features"]):
        stored = pa.RecordBatch.from_struct_array(batch["features"])
        packed = [name for name in lists if pa.types.is_large_binary(stored[name].type)]
        yield unpack(stored, schema, packed)


def _rows(spilled: Spilled, features: Features) -> Iterator[pa.RecordBatch]:
    schema = _schema(features)
    for start, taken in _features_in_order(features):
        here = slice(start, start + ROWS_AT_ONCE)
        columns = {
            "id": spilled.ids[here],
            **{name: spilled.pages[name][here].combine_chunks() for name in KEPT_COLUMNS},
            "length": spilled.pages["length"][here].combine_chunks(),
            "features": pack(taken, features.number_lists).to_struct_array(),
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
