"""The fourth stage: clusters from verified pairs, and the page to keep of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.clusters.keeping import choose_kept
from neardup.engines.deciding import Judged, rows_of
from neardup.engines.stages import Stages
from neardup.kernels.union_find import connected_components
from neardup.methods.base import Method
from neardup.model import Relation
from neardup.schemas import VERDICTS


@dataclass(frozen=True)
class Clustering:
    """For each page: its cluster (the smallest page number in it) and the page kept for it."""

    labels: NDArray[np.int64]
    kept: NDArray[np.int64]
    to_kept: pa.Table  # the verdict on each page that is not kept, against the kept one


def cluster_pages(
    method: Method,
    pages: pa.Table,
    features: pa.Table,
    judged: Judged,
    *,
    keep: str,
    contained: bool,
    stages: Stages,
) -> Clustering:
    """Join verified pairs, choose what to keep, and judge each member against it."""
    with stages("cluster") as stage:
        joined = _joined(method, judged, contained)
        labels = connected_components(features.num_rows, judged.left[joined], judged.right[joined])
        kept = choose_kept(keep, pages, labels)
        members = np.flatnonzero(kept != np.arange(kept.size))
        verdicts = method.judge(rows_of(features, members), rows_of(features, kept[members]))
        stage.advance(features.num_rows)
        return Clustering(labels, kept, pa.Table.from_batches([verdicts], VERDICTS))


def _joined(method: Method, judged: Judged, contained: bool) -> NDArray[np.bool_]:
    joins = set(method.joins)
    if contained:
        joins |= {Relation.CONTAINS, Relation.CONTAINED}
    wanted = pa.array([str(relation) for relation in sorted(joins)])
    found: NDArray[np.bool_] = pc.is_in(judged.verdicts["relation"], wanted).to_numpy()
    return found
