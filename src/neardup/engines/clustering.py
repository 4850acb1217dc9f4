"""The fourth stage: clusters from verified pairs, and the page to keep of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.clusters.keeping import choose_kept
from neardup.engines.deciding import PAIRS_AT_ONCE, Judged
from neardup.engines.features import Features, Rows
from neardup.engines.parsing import Spilled
from neardup.engines.run import Run
from neardup.engines.threads import ordered_map
from neardup.kernels.union_find import connected_components
from neardup.methods.base import Method
from neardup.model import Relation
from neardup.schemas import VERDICTS

TO_KEPT = ["relation", "similarity"]


@dataclass(frozen=True)
class Clustering:
    """For each page: its cluster (the smallest page number in it) and the page kept for it."""

    labels: Rows
    kept: Rows
    to_kept: pa.Table  # relation and similarity of each page that is not kept, to the kept one

    @property
    def is_kept(self) -> NDArray[np.bool_]:
        """Which pages are kept."""
        return np.equal(self.kept, np.arange(self.kept.size))


def cluster_pages(
    method: Method,
    spilled: Spilled,
    features: Features,
    judged: Judged,
    run: Run,
    *,
    keep: str,
    contained: bool,
) -> Clustering:
    """Join verified pairs, choose what to keep, and judge each member against it."""
    with run.stages("cluster") as stage:
        joined = np.isin(judged.relations, [str(each) for each in _joins(method, contained)])
        labels = connected_components(len(features), judged.left[joined], judged.right[joined])
        kept = choose_kept(keep, spilled.pages, labels)
        members = np.flatnonzero(kept != np.arange(kept.size))

        def judge(start: int) -> pa.RecordBatch:
            some = members[start : start + PAIRS_AT_ONCE]
            verdicts = method.judge(features.take(some), features.take(kept[some]))
            return verdicts.select(TO_KEPT)

        verdicts = list(ordered_map(judge, range(0, members.size, PAIRS_AT_ONCE), run.workers))
        stage.advance(len(features))
        schema = pa.schema([VERDICTS.field(name) for name in TO_KEPT])
        return Clustering(labels, kept, pa.Table.from_batches(verdicts, schema))


def _joins(method: Method, contained: bool) -> set[Relation]:
    also = {Relation.CONTAINS, Relation.CONTAINED} if contained else set()
    return {*method.joins, *also}
