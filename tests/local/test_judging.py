"""Pairs judged some at a time get the verdicts that judging them one by one gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from neardup.arrays import FeatureRows
from neardup.local.corpus import Corpus
from neardup.local.features import Features, judge_in_steps, pair_blocks
from neardup.local.pipeline import judge
from neardup.local.run import Silent, Stage, Stages
from neardup.local.work import FileParts, Run
from own_text_pages import METHOD, article
from page_batches import page_batch

SCHEMA = pa.schema([("page", pa.int64()), ("numbers", pa.list_(pa.int64()))])
PAGES = 9
LEFT, RIGHT = (side.ravel() for side in np.triu_indices(PAGES, 1))  # every pair, in order

Numbers = NDArray[np.int64]


def batch(pages: Sequence[int]) -> pa.RecordBatch:
    return pa.record_batch([list(pages), [[page] * page for page in pages]], schema=SCHEMA)


def by_copies(rows: FeatureRows, left: Numbers, right: Numbers) -> pa.RecordBatch:
    """What stands for a verdict: the pages themselves."""
    ours, theirs = rows.sides(left, right)
    return pa.record_batch([ours["page"], theirs["page"]], names=["left", "right"])


def in_place(rows: FeatureRows, left: Numbers, right: Numbers) -> pa.RecordBatch:
    def pages(numbers: Numbers) -> list[int]:
        places = zip(*(each.tolist() for each in rows.places(numbers)), strict=True)
        return [rows.batches[batch]["page"][row].as_py() for batch, row in places]

    return pa.record_batch([pages(left), pages(right)], names=["left", "right"])


both_ways = pytest.mark.parametrize("judge", [by_copies, in_place])


@pytest.fixture
def mapped(tmp_path: Path) -> Features:
    """Features in files, whose pages are in another order than their numbers."""
    pages = [np.array([4, 0, 2]), np.array([8, 1]), np.array([7, 5, 3, 6])]
    parts = FileParts(tmp_path / "f", SCHEMA, compressed=False)
    parts.fill(pages, lambda each: (batch(each.tolist()), 0), 1, Stage("features", Silent()))
    return Features.mapped(parts, pages)


@both_ways
@pytest.mark.parametrize("rows", [2, 12, 1000])  # less than a block, two blocks, everything
def test_blocks_of_pairs(mapped: Features, judge: object, rows: int) -> None:
    assert callable(judge)
    verdicts = []
    for block in pair_blocks(mapped, LEFT, RIGHT, memory=1, pairs_at_once=3, min_rows=rows):
        assert block.left.size <= 3
        verdicts.append(block.judge(judge, block.left, block.right))
        assert block.judge(judge, block.left[1:], block.right[1:]).equals(verdicts[-1][1:])
    assert_pairs(pa.Table.from_batches(verdicts), LEFT, RIGHT)


def test_features_that_fit_are_not_copied(mapped: Features) -> None:
    for features in (Features.in_memory(batch(range(PAGES))), mapped):
        for block in pair_blocks(features, LEFT, RIGHT, 10**9, pairs_at_once=5):
            assert block.features.batches is features.batches
            judged = block.judge(in_place, block.left, block.right)
            assert_pairs(pa.Table.from_batches([judged]), block.left, block.right)


def test_pairs_are_judged_in_steps_that_fit() -> None:
    features = Features.in_memory(batch(range(PAGES)))
    sizes: list[int] = []

    def judge(rows: FeatureRows, left: Numbers, right: Numbers) -> pa.RecordBatch:
        sizes.append(left.size)
        return by_copies(rows, left, right)

    left, right = LEFT[:5], RIGHT[:5]
    steps = judge_in_steps(judge, features, left, right, step_bytes=1, min_rows=2)
    verdicts = pa.Table.from_batches(steps)
    assert sizes == [2, 2, 1]
    assert_pairs(verdicts, left, right)


@both_ways
def test_no_pairs_have_no_verdicts(mapped: Features, judge: object) -> None:
    assert callable(judge)
    nothing = np.empty(0, np.int64)
    assert list(pair_blocks(mapped, nothing, nothing, 1)) == []
    steps = list(judge_in_steps(judge, mapped, nothing, nothing))
    assert [step.num_rows for step in steps] == [0]


def assert_pairs(verdicts: pa.Table, left: Numbers, right: Numbers) -> None:
    assert verdicts["left"].to_pylist() == left.tolist()
    assert verdicts["right"].to_pylist() == right.tolist()


def test_what_was_judged_is_not_judged_again() -> None:
    """An excerpt, its source and a copy, each way round: as if all were judged afresh."""
    pages = [article(1), article(1)[:3], article(1), article(2)]
    texts = ["\n".join(lines) for lines in pages]
    run = Run(None, 10**9, 1, Stages(Silent()))
    judged = judge(Corpus.from_pages(page_batch(texts, host=list("abcd"))), METHOD, run)
    left, right = (side.ravel() for side in np.meshgrid(range(len(pages)), range(len(pages))))
    recalled = judged.relate(left, right, run)
    afresh = METHOD.relate(judged.features, left, right, evidence=False)
    assert {*judged.relations} >= {"contains", "same"}
    assert recalled.combine_chunks().equals(pa.Table.from_batches([afresh]))
