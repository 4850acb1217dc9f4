"""The judged pairs as a reader thinks of them: joined, related but kept apart, rejected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.engines.clustering import Clustering
from neardup.engines.deciding import Judged
from neardup.engines.features import Rows
from neardup.engines.tables import REJECTED
from neardup.engines.work import read_part

BINS = 20  # of the similarity, each 0.05 wide


class Decision(IntEnum):
    """What became of a pair."""

    JOINED = 0  # in one cluster
    RELATED = 1  # something in common, but in two clusters
    REJECTED = 2  # different, or too little text to tell


@dataclass(frozen=True)
class Pair:
    """One judged pair; `evidence` is JSON."""

    left: int
    right: int
    decision: Decision
    relation: str
    similarity: float | None
    evidence: str


def decisions(judged: Judged, clustering: Clustering) -> NDArray[np.int64]:
    """The decision on each pair."""
    together = clustering.labels[judged.left] == clustering.labels[judged.right]
    related = np.where(together, Decision.JOINED, Decision.RELATED)
    return np.where(np.isin(judged.relations, REJECTED), Decision.REJECTED, related)


def similarity_counts(judged: Judged, decided: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many pairs there are of each decision (row) and similarity (column)."""
    measured = ~np.isnan(judged.similarities)
    bins = np.minimum((judged.similarities[measured] * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(decided[measured] * BINS + bins, minlength=len(Decision) * BINS)
    return counts.reshape(len(Decision), BINS)


def read_pairs(judged: Judged, decided: NDArray[np.int64], numbers: Rows) -> Iterator[Pair]:
    """The pairs of these numbers, in their own order."""
    first = 0
    for part in judged.verdicts.listed:
        here = np.sort(numbers[(numbers >= first) & (numbers < first + part.rows)])
        if here.size:
            batch = read_part(judged.verdicts.path(part.number)).take(pa.array(here - first))
            for number, verdict in zip(here.tolist(), batch.to_pylist(), strict=True):
                yield Pair(
                    int(judged.left[number]),
                    int(judged.right[number]),
                    Decision(decided[number]),
                    **verdict,
                )
        first += part.rows
