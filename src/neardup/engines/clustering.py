"""The fourth stage: clusters from verified pairs, and the page to keep of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.clusters.growing import NEW, join_earlier
from neardup.clusters.keeping import choose_kept
from neardup.clusters.splitting import APART, centred_clusters
from neardup.engines.deciding import Judged
from neardup.engines.earlier import Earlier
from neardup.engines.features import Features, Rows
from neardup.engines.judging import Block, PairJudge, blocks
from neardup.engines.parsing import Spilled
from neardup.engines.run import Run
from neardup.engines.threads import ordered_map
from neardup.kernels.union_find import connected_components
from neardup.methods.base import ClustersAroundCentres, JudgesInPlace, Method
from neardup.model import Relation
from neardup.schemas import RELATED


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


@dataclass(frozen=True)
class JoinRule:
    """When two pages belong together."""

    judge: PairJudge  # without evidence, where the method can leave it out
    relations: Sequence[str]  # the verdicts that join
    sisters: Callable[[Features], NDArray[np.uint64]] | None  # for clusters around a centre


def join_rule(method: Method, *, contained: bool) -> JoinRule:
    """The method's own rule; `contained` joins excerpts to what contains them, too."""
    also = {Relation.CONTAINS, Relation.CONTAINED} if contained else set()
    relations = sorted(str(relation) for relation in {*method.joins, *also})
    in_place = method.relate_in_place if isinstance(method, JudgesInPlace) else None
    judge = PairJudge(method.judge, in_place)
    if not isinstance(method, ClustersAroundCentres):
        return JoinRule(judge, relations, None)
    sisters = method.sisters

    def all_sisters(features: Features) -> NDArray[np.uint64]:
        found = np.zeros(len(features), np.uint64)
        for pages, batch in features.each():
            found[pages] = sisters(batch)
        return found

    return JoinRule(judge, relations, all_sisters)


def cluster_pages(
    rule: JoinRule,
    spilled: Spilled,
    features: Features,
    judged: Judged,
    keep: str,
    run: Run,
    earlier: Earlier | None = None,
) -> Clustering:
    """Join verified pairs, choose what to keep, and judge each member against it."""
    with run.stages("cluster") as stage:
        joined = np.isin(judged.relations, rule.relations)
        left, right = judged.left[joined], judged.right[joined]
        similarity = judged.similarities[joined]

        def closeness(one: Rows, other: Rows) -> NDArray[np.float64]:
            verdicts = _judge(rule, features, one, other, run)
            joined = pc.is_in(verdicts["relation"], pa.array(rule.relations)).to_numpy()
            return np.where(joined, verdicts["similarity"], APART)

        known = np.full(len(features), NEW)
        if earlier is not None:
            known = join_earlier(earlier.labels, earlier.kept, left, right, similarity, closeness)
        free = (known[left] == NEW) & (known[right] == NEW)
        left, right, similarity = left[free], right[free], similarity[free]
        if rule.sisters is None:
            labels = connected_components(len(features), left, right)
        else:
            sisters = rule.sisters(features)
            labels = centred_clusters(sisters, left, right, similarity, closeness)
        labels = np.where(known == NEW, labels, known)
        kept = choose_kept(keep, spilled.pages, labels)
        members = np.flatnonzero(kept != np.arange(kept.size))
        to_kept = _judge(rule, features, members, kept[members], run)
        stage.advance(len(features))
        return Clustering(labels, kept, to_kept)


def _judge(rule: JoinRule, features: Features, left: Rows, right: Rows, run: Run) -> pa.Table:
    """Relation and similarity of pairs, some at a time."""

    def judge(block: Block) -> pa.RecordBatch:
        return block.judge(rule.judge, block.left, block.right).select(RELATED.names)

    batches = ordered_map(judge, blocks(features, left, right, run.memory), run.workers)
    return pa.Table.from_batches(batches, RELATED)
