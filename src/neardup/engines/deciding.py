"""The third stage: candidate pairs, and the verdict on each. Knows features, not pages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.candidates.grouping import pairs_sharing_keys, pairs_with_first
from neardup.engines.stages import Stages
from neardup.engines.threads import ordered_map
from neardup.methods.base import DecidesInOrder, MemoryState, Method, ProposesCandidates
from neardup.schemas import VERDICTS

PAIRS_AT_ONCE = 16_384

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Judged:
    """Pairs of page numbers, left < right, and the verdict on each."""

    left: Rows
    right: Rows
    verdicts: pa.Table


def decide(
    method: Method, ids: pa.Array, pages: pa.Table, features: pa.Table, workers: int, stages: Stages
) -> Judged:
    """Every pair that the method has something to say about."""
    if isinstance(method, DecidesInOrder):
        return _decide_in_order(method, ids, pages, features, stages)
    with stages("candidates") as stage:
        left, right = find_candidates(method, features)
        stage.advance(features.num_rows)
    return _judge(method, features, left, right, workers, stages)


def find_candidates(method: Method, features: pa.Table) -> tuple[Rows, Rows]:
    """Candidate pairs, each once, the smaller page number first."""
    if isinstance(method, ProposesCandidates):
        pairs = method.candidates(features)
        return pairs["left"].to_numpy(), pairs["right"].to_numpy()
    keys = method.keys(rows_of(features, np.arange(features.num_rows)))
    pair_up = pairs_with_first if method.transitive else pairs_sharing_keys
    return pair_up(keys["row"].to_numpy(), keys["key"].to_numpy())


def _judge(
    method: Method, features: pa.Table, left: Rows, right: Rows, workers: int, stages: Stages
) -> Judged:
    with stages("judge", total=left.size) as stage:

        def judge(start: int) -> pa.RecordBatch:
            here = slice(start, start + PAIRS_AT_ONCE)
            return method.judge(rows_of(features, left[here]), rows_of(features, right[here]))

        verdicts = []
        for batch in ordered_map(judge, range(0, left.size, PAIRS_AT_ONCE), workers):
            verdicts.append(batch)
            stage.advance(batch.num_rows)
        return Judged(left, right, pa.Table.from_batches(verdicts, VERDICTS))


def _decide_in_order(
    method: DecidesInOrder, ids: pa.Array, pages: pa.Table, features: pa.Table, stages: Stages
) -> Judged:
    """Page by page in the order of (time, id); pages without a time come last."""
    with stages("assign", total=len(ids)) as stage:
        numbered = pa.table({"time": pages["time"], "number": np.arange(len(ids))})
        keys = [("time", "ascending"), ("number", "ascending")]
        order = pc.sort_indices(numbered, keys).to_numpy().astype(np.int64)
        ordered_ids = ids.take(pa.array(order))
        assigned = method.assign(ordered_ids, rows_of(features, order), MemoryState())
        stage.advance(len(ids))
    found = assigned["match"].is_valid()
    page = order[found.to_numpy(zero_copy_only=False)]
    match = pc.index_in(assigned["match"].filter(found), ids).to_numpy().astype(np.int64)
    verdicts = pa.Table.from_batches([assigned.select(VERDICTS.names).filter(found)])
    return _smaller_first(page, match, verdicts)


def _smaller_first(page: Rows, match: Rows, verdicts: pa.Table) -> Judged:
    """The pairs in order, each with the smaller number left; the relation turns with it."""
    turned = pa.array(page > match)
    relations = verdicts["relation"]
    swapped = pc.if_else(
        pc.equal(relations, "contains"),
        "contained",
        pc.if_else(pc.equal(relations, "contained"), "contains", relations),
    )
    verdicts = verdicts.set_column(
        0, VERDICTS.field("relation"), pc.if_else(turned, swapped, relations)
    )
    left, right = np.minimum(page, match), np.maximum(page, match)
    order = np.lexsort((right, left))
    return Judged(left[order], right[order], verdicts.take(pa.array(order)))


def rows_of(features: pa.Table, rows: Rows) -> pa.RecordBatch:
    """Some rows of the features, as one batch."""
    taken = features.take(pa.array(rows)).combine_chunks()
    columns = [
        column.chunk(0) if column.num_chunks else pa.array([], column.type)
        for column in taken.columns
    ]
    return pa.record_batch(columns, schema=features.schema)
