"""Batches of pages for the tests of methods, built column by column."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from neardup.arrays import FeatureRows
from neardup.methods.base import Method
from neardup.model import Relation, Verdict
from neardup.schemas import PAGES


def page_batch(texts: Sequence[str], **columns: Sequence[object]) -> pa.RecordBatch:
    """Pages with these texts; every other column is as named, or empty."""
    named = [{name: values[row] for name, values in columns.items()} for row in range(len(texts))]
    pages = [_page(row, text, named[row]) for row, text in enumerate(texts)]
    return pa.RecordBatch.from_pylist(pages, PAGES)


def _page(row: int, text: str, named: Mapping[str, object]) -> dict[str, object]:
    lines = len(text.split("\n")) if text else 0
    empty = {field.name: _empty(field.type) for field in PAGES}
    along = {"kinds": [0] * lines, "regions": [0] * lines, "link_shares": [0.0] * lines}
    return {**empty, "id": f"p{row}", "text": text, **along, **named}


def _empty(kind: pa.DataType) -> object:
    if pa.types.is_string(kind):
        return ""
    return None if pa.types.is_timestamp(kind) else 0


def judge_rows(method: Method, left: pa.RecordBatch, right: pa.RecordBatch) -> pa.RecordBatch:
    """The verdicts on the rows of two feature batches, pair by pair."""
    rows = np.arange(left.num_rows)
    return method.judge(FeatureRows.of(left, right), rows, rows + left.num_rows)


def judge_one(method: Method, left: pa.RecordBatch, right: pa.RecordBatch) -> Verdict:
    """The verdict on two batches of one row of features."""
    row = judge_rows(method, left, right).to_pylist()[0]
    return Verdict(Relation(row["relation"]), row["similarity"], json.loads(row["evidence"]))


def pair_set(batch: pa.RecordBatch) -> set[tuple[int, int]]:
    """Proposed pairs, after making sure that each comes once, the smaller row first."""
    pairs = list(zip(batch["left"].to_pylist(), batch["right"].to_pylist(), strict=True))
    assert len(pairs) == len(set(pairs))
    assert all(left < right for left, right in pairs)
    return set(pairs)
