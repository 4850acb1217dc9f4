"""Pages and skips as rows that Spark carries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from neardup.engines.parsing import BYTES_AT_ONCE, PAGES_AT_ONCE
from neardup.engines.spark.columns import carried_schema, to_spark
from neardup.model import RawPage, Skip
from neardup.pages import batches
from neardup.schemas import PAGES
from neardup.text.parse import parse

PLACE_BITS = 33  # of a place, for the row within a task: as Spark numbers rows

# A parsed page, or with a reason a record that is none.
RECORDS = pa.schema(
    [
        pa.field("place", pa.int64()),
        *carried_schema(PAGES),
        pa.field("length", pa.int64()),
        pa.field("reason", pa.string()),
        pa.field("detail", pa.string()),
    ]
)


def as_records(items: Iterable[RawPage | Skip]) -> Iterator[pa.RecordBatch]:
    """`RECORDS`, some at a time; their places are not set."""
    for some in batches(items, PAGES_AT_ONCE, BYTES_AT_ONCE):
        raws = [each for each in some if isinstance(each, RawPage)]
        skips = [each for each in some if isinstance(each, Skip)]
        if raws:
            yield _page_records(parse(raws))
        if skips:
            yield _skip_records(skips)


def _page_records(pages: pa.RecordBatch) -> pa.RecordBatch:
    count = pages.num_rows
    lengths = pc.utf8_length(pages["text"]).cast(pa.int64())
    none = pa.nulls(count, pa.string())
    columns = [np.zeros(count, np.int64), *to_spark(pages).columns, lengths, none, none]
    return pa.record_batch(columns, schema=RECORDS)


def _skip_records(skips: Sequence[Skip]) -> pa.RecordBatch:
    rows = [
        {
            "id": skip.id.encode("utf-8", "replace").decode(),
            "source": skip.source.path.encode("utf-8", "replace").decode(),
            "record": skip.source.record,
            "reason": str(skip.reason),
            "detail": skip.detail,
        }
        for skip in skips
    ]
    return pa.RecordBatch.from_pylist(rows, RECORDS)


def placed(batches: Iterable[pa.RecordBatch], first: int = 0) -> Iterator[pa.RecordBatch]:
    """The records, each with a number of its own: that of its task, then its row."""
    context = TaskContext.get()
    assert context is not None
    place = first + (context.partitionId() << PLACE_BITS)
    for batch in batches:
        places = pa.array(np.arange(place, place + batch.num_rows))
        place += batch.num_rows
        yield batch.set_column(0, RECORDS.field("place"), places)
