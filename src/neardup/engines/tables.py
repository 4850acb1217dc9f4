"""The tables of a result, from page numbers and verdicts, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.engines import output
from neardup.engines.clustering import Clustering
from neardup.engines.deciding import Judged
from neardup.engines.features import Features
from neardup.engines.featuring import decidable_pages
from neardup.engines.parsing import Spilled
from neardup.engines.remembered import write_remembered
from neardup.engines.run import Run
from neardup.methods.base import Method
from neardup.model import Relation, Skip
from neardup.schemas import VERDICTS

ROWS_AT_ONCE = 65_536
REJECTED = [str(Relation.DIFFERENT), str(Relation.UNDECIDED)]


def write_result(
    folder: Path,
    format: output.Format,  # noqa: A002 - the name of the command-line option
    method: Method,
    spilled: Spilled,
    features: Features,
    judged: Judged,
    clustering: Clustering,
    run: Run,
) -> None:
    """The tables of the result, in a folder that is not in its place yet."""
    tables = {
        "clusters": (output.CLUSTERS, clusters_rows(method, spilled, features, clustering)),
        "pairs": (output.PAIRS, pairs_rows(spilled.ids, judged, rejected=False)),
        "rejected": (output.PAIRS, pairs_rows(spilled.ids, judged, rejected=True)),
        "skipped": (output.SKIPPED, skipped_rows(spilled.skips)),
    }
    output.make_empty(folder)
    with run.stages("write") as stage:
        for name, (schema, rows) in tables.items():
            output.write_rows(folder / name, schema, rows, format, stage)
        write_remembered(folder, spilled, features)


def clusters_rows(
    method: Method, spilled: Spilled, features: Features, clustering: Clustering
) -> Iterator[pa.RecordBatch]:
    """Every page once: its cluster, and what it is to the page that is kept."""
    member = np.cumsum(~clustering.is_kept) - 1  # its row in `to_kept`
    decidable = decidable_pages(method, features)
    for start in range(0, len(spilled.ids), ROWS_AT_ONCE):
        here = slice(start, start + ROWS_AT_ONCE)
        is_kept = clustering.is_kept[here]
        verdict = pa.array(member[here], mask=is_kept)
        columns = {
            "id": spilled.ids[here],
            "url": spilled.pages["url"][here].combine_chunks(),
            "cluster": spilled.ids.take(pa.array(clustering.labels[here])),
            "kept": pa.array(is_kept),
            "duplicate_of": spilled.ids.take(pa.array(clustering.kept[here], mask=is_kept)),
            "similarity": _one(clustering.to_kept["similarity"].take(verdict)),
            "relation": pc.coalesce(
                _one(clustering.to_kept["relation"].take(verdict)),
                _alone(pa.array(decidable[here])),
            ),
        }
        yield pa.record_batch(columns, schema=output.CLUSTERS)


def _alone(decidable: pa.BooleanArray) -> pa.Array:
    return pc.if_else(decidable, pa.scalar(None, pa.string()), str(Relation.UNDECIDED))


def _one(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    return found if isinstance(found, pa.Array) else found.chunk(0)


def pairs_rows(ids: pa.Array, judged: Judged, *, rejected: bool) -> Iterator[pa.RecordBatch]:
    """The judged pairs that have something in common, or those that were rejected."""
    for left, right, verdicts in judged.each():
        failed = pc.is_in(verdicts["relation"], pa.array(REJECTED))
        columns = {
            "a": ids.take(pa.array(left)),
            "b": ids.take(pa.array(right)),
            **{name: verdicts[name] for name in VERDICTS.names},
        }
        batch = pa.record_batch(columns, schema=output.PAIRS)
        yield batch.filter(failed if rejected else pc.invert(failed))


def skipped_rows(skips: Sequence[Skip]) -> Iterator[pa.RecordBatch]:
    """Every record that did not become a page, by place."""
    rows = sorted(
        (skip.source.path, skip.source.record, skip.id, str(skip.reason), skip.detail)
        for skip in skips
    )
    for start in range(0, len(rows), ROWS_AT_ONCE):
        columns = zip(*rows[start : start + ROWS_AT_ONCE], strict=True)
        arrays = [
            pa.array(column, field.type)
            for column, field in zip(columns, output.SKIPPED, strict=True)
        ]
        yield pa.record_batch(arrays, schema=output.SKIPPED)
