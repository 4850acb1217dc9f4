"""How precision and recall move with the threshold, from the judged pairs of one run.

As in `recluster`, verdicts that go by similarity (near, overlap, different) are made anew at each
threshold; the others stay. Only pairs that were candidates can join, so far below the method's
own threshold a curve says less than a run would.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from neardup.engines.reclustering import BY_SIMILARITY
from neardup.engines.result import Result
from neardup.evaluate.counts import count
from neardup.evaluate.metrics import rates
from neardup.evaluate.truth import Truth
from neardup.kernels.union_find import connected_components
from neardup.methods.base import method_class

STEPS = 41


@dataclass(frozen=True)
class Curve:
    """Precision, recall and F1 at thresholds from low to high."""

    thresholds: list[float]
    precision: list[float]
    recall: list[float]
    f1: list[float]


@dataclass(frozen=True)
class _Judged:
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    similarity: NDArray[np.float64]
    always: NDArray[np.bool_]  # joined at any threshold
    by_similarity: NDArray[np.bool_]

    def joined(self, threshold: float) -> NDArray[np.bool_]:
        near = self.by_similarity & (self.similarity >= threshold)
        return self.always | near


def curve(result: Result, truth: Truth) -> Curve | None:
    """The curve of a run; None when it measured no similarity that could move."""
    ids = [row["id"] for row in result.pages()]
    judged = _judged(result, {page: number for number, page in enumerate(ids)})
    measured = judged.similarity[judged.by_similarity]
    if np.unique(measured[measured >= 0]).size < 2:
        return None
    thresholds = np.unique(np.linspace(0, 1, STEPS).round(4))
    points = [_point(truth, ids, judged, float(each)) for each in thresholds]
    columns = [[round(value, 4) for value in column] for column in zip(*points, strict=True)]
    return Curve(thresholds.tolist(), *columns)


def _point(
    truth: Truth, ids: list[str], judged: _Judged, threshold: float
) -> tuple[float, float, float]:
    joined = judged.joined(threshold)
    labels = connected_components(len(ids), judged.left[joined], judged.right[joined])
    clusters: Mapping[str, str] = dict(zip(ids, map(str, labels.tolist()), strict=True))
    counts = count(truth, clusters)
    sums = rates(counts.found.sum(), counts.said.sum(), counts.true.sum())
    return float(sums[0]), float(sums[1]), float(sums[2])


def _judged(result: Result, numbers: Mapping[str, int]) -> _Judged:
    joins = {str(relation) for relation in method_class(result.summary["method"]).joins}
    left, right, similarity, always, movable = [], [], [], [], []
    for row in chain(result.pairs(), result.rejected()):
        moves = row["relation"] in BY_SIMILARITY
        left.append(numbers[row["a"]])
        right.append(numbers[row["b"]])
        similarity.append(-1.0 if row["similarity"] is None else row["similarity"])  # never near
        always.append(not moves and row["relation"] in joins)
        movable.append(moves)
    return _Judged(
        np.array(left, np.int64),
        np.array(right, np.int64),
        np.array(similarity, float),
        np.array(always, bool),
        np.array(movable, bool),
    )
