"""Pairs judged some at a time say what judging them one by one says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from neardup.local import features as module
from neardup.local.features import (
    Features,
    PairJudge,
    blocks,
    features_in_memory,
    judge_in_steps,
    mapped_features,
)
from neardup.local.run import Silent, Stage
from neardup.local.work import Parts
from neardup.methods.base import Places

SCHEMA = pa.schema([("page", pa.int64()), ("numbers", pa.list_(pa.int64()))])
PAGES = 9
LEFT, RIGHT = (side.ravel() for side in np.triu_indices(PAGES, 1))  # every pair, in order


def batch(pages: Sequence[int]) -> pa.RecordBatch:
    return pa.record_batch([list(pages), [[page] * page for page in pages]], schema=SCHEMA)


def told(left: pa.RecordBatch, right: pa.RecordBatch) -> pa.RecordBatch:
    """What stands for a verdict: the pages themselves."""
    return pa.record_batch([left["page"], right["page"]], names=["left", "right"])


def told_in_place(batches: Sequence[pa.RecordBatch], left: Places, right: Places) -> pa.RecordBatch:
    def page(batch: int, row: int) -> int:
        found: int = batches[batch]["page"][row].as_py()
        return found

    sides = [[page(*place) for place in zip(*side, strict=True)] for side in (left, right)]
    return pa.record_batch(sides, names=["left", "right"])


@pytest.fixture
def mapped(tmp_path: Path) -> Features:
    """Features in files, whose pages are in another order than their numbers."""
    pages = [np.array([4, 0, 2]), np.array([8, 1]), np.array([7, 5, 3, 6])]
    parts = Parts(tmp_path / "f", SCHEMA, compressed=False)
    parts.fill(pages, lambda each: (batch(each.tolist()), 0), 1, Stage("features", Silent()))
    paths = [parts.path(part.number) for part in parts.listed]
    return mapped_features(SCHEMA, paths, pages)


@pytest.mark.parametrize("in_place", [told_in_place, None])
@pytest.mark.parametrize("rows", [2, 12, 1000])  # less than a block, two blocks, everything
def test_blocks_of_pairs(
    monkeypatch: pytest.MonkeyPatch, mapped: Features, in_place: module.InPlace | None, rows: int
) -> None:
    monkeypatch.setattr("neardup.local.features.FEWEST_ROWS", rows)
    monkeypatch.setattr(module, "PAIRS_AT_ONCE", 3)
    judge = PairJudge(told, in_place)
    found = []
    for block in blocks(mapped, LEFT, RIGHT, memory=1):
        assert block.left.size <= 3
        found.append(block.judge(judge, block.left, block.right))
        assert block.judge(judge, block.left[1:], block.right[1:]).equals(found[-1][1:])
    assert_pairs(pa.Table.from_batches(found), LEFT, RIGHT)


def test_features_that_fit_are_not_copied(
    monkeypatch: pytest.MonkeyPatch, mapped: Features
) -> None:
    monkeypatch.setattr(module, "PAIRS_AT_ONCE", 5)
    for features in (features_in_memory(batch(range(PAGES))), mapped):
        for block in blocks(features, LEFT, RIGHT, 10**9):
            assert block.features.batches is features.batches
            judged = block.judge(PairJudge(told, told_in_place), block.left, block.right)
            assert_pairs(pa.Table.from_batches([judged]), block.left, block.right)


def test_pairs_are_judged_in_steps_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neardup.local.features.FEWEST_ROWS", 2)
    monkeypatch.setattr(module, "JUDGED_BYTES", 1)
    features = features_in_memory(batch(range(PAGES)))
    sizes: list[int] = []

    def judge(left: pa.RecordBatch, right: pa.RecordBatch) -> pa.RecordBatch:
        sizes.append(left.num_rows)
        return told(left, right)

    left, right = LEFT[:5], RIGHT[:5]
    found = pa.Table.from_batches(judge_in_steps(PairJudge(judge, None), features, left, right))
    assert sizes == [2, 2, 1]
    assert_pairs(found, left, right)


def test_no_pairs_have_no_verdicts(mapped: Features) -> None:
    nothing = np.empty(0, np.int64)
    assert list(blocks(mapped, nothing, nothing, 1)) == []
    for in_place in (told_in_place, None):
        steps = list(judge_in_steps(PairJudge(told, in_place), mapped, nothing, nothing))
        assert [step.num_rows for step in steps] == [0]


def assert_pairs(found: pa.Table, left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
    assert found["left"].to_pylist() == left.tolist()
    assert found["right"].to_pylist() == right.tolist()
