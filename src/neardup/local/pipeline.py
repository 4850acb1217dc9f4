"""The third stage: candidate pairs, and the verdict on each. Knows features, not pages.

The fourth stage: clusters from verified pairs, and the page to keep of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.kernels.grouping import connected_components
from neardup.local.corpus import Spilled
from neardup.local.features import PAIRS_AT_ONCE, Block, Features, PairJudge, Rows, blocks
from neardup.local.prior import Earlier, Judge, judging_the_rest, with_known
from neardup.local.run import key_ranges, ordered_map, together
from neardup.local.work import Parts, Run, in_order_of_keys
from neardup.methods.base import (
    ClustersAroundCentres,
    DecidesInOrder,
    JudgesInPlace,
    MemoryState,
    Method,
    ProposesCandidates,
)
from neardup.model import Relation
from neardup.rules.candidates import (
    added_up,
    packed,
    pairs_sharing_keys,
    pairs_with_first,
    unpacked,
    without_most_chance_pairs,
)
from neardup.rules.clusters import APART, NEW, centred_clusters, join_earlier
from neardup.rules.keeping import choose_kept
from neardup.schemas import KEYS, PAIRS, RELATED, VERDICTS

Number = TypeVar("Number", np.int64, np.uint64)

KEY_BYTES = 16  # a row and its key
SHARING = pa.schema([*PAIRS, pa.field("shared", pa.int64(), nullable=False)])  # keys


@dataclass(frozen=True)
class Judged:
    """Pairs of page numbers, left < right, in order, and the verdict on each."""

    left: Rows
    right: Rows
    relations: NDArray[np.object_]
    similarities: NDArray[np.float64]  # not a number where there is none
    verdicts: Parts  # PAIRS_AT_ONCE in each

    def each(self) -> Iterator[tuple[Rows, Rows, pa.RecordBatch]]:
        """Some pairs at a time, with their verdicts."""
        for number, batch in enumerate(self.verdicts.each()):
            here = slice(number * PAIRS_AT_ONCE, (number + 1) * PAIRS_AT_ONCE)
            yield self.left[here], self.right[here], batch


def decide(
    method: Method, spilled: Spilled, features: Features, run: Run, earlier: Earlier | None = None
) -> Judged:
    """Every pair that the method has something to say about; what is known is not judged again."""
    verdicts = run.parts("verdicts", VERDICTS)
    if isinstance(method, DecidesInOrder):
        left, right, assigned = _decide_in_order(method, spilled, features, run)
        starts = range(0, left.size, PAIRS_AT_ONCE)
        with run.stages("judge", total=left.size) as stage:
            verdicts.fill(starts, lambda at: (assigned.slice(at, PAIRS_AT_ONCE), 0), 1, stage)
    else:
        left, right = _candidates(method, features, run)
        known = None
        if earlier is not None:
            known = earlier.known_pairs(spilled.ids)
            left, right = with_known(left, right, known, seen=earlier.labels != NEW)
        in_place = method.judge_in_place if isinstance(method, JudgesInPlace) else None
        pair_judge = PairJudge(method.judge, in_place)

        def judge(block: Block) -> tuple[pa.RecordBatch, int]:
            judge_pairs: Judge = partial(block.judge, pair_judge)
            if known is not None:
                judge_pairs = judging_the_rest(judge_pairs, known)
            return judge_pairs(block.left, block.right), 0

        with run.stages("judge", total=left.size) as stage:
            every = blocks(features, left, right, run.memory)
            verdicts.fill(every, judge, run.workers, stage)
    relations, similarities = [np.empty(0, object)], [np.empty(0)]
    for batch in verdicts.each(["relation", "similarity"]):
        relations.append(names(batch["relation"]))
        similarities.append(batch["similarity"].to_numpy(zero_copy_only=False))
    return Judged(left, right, np.concatenate(relations), np.concatenate(similarities), verdicts)


def names(column: pa.StringArray) -> NDArray[np.object_]:
    """The strings of a column with few different ones, each of which is held once."""
    encoded = column.dictionary_encode()
    words = np.array(encoded.dictionary.to_pylist(), object)
    found: NDArray[np.object_] = words[encoded.indices.to_numpy()]
    return found


def _candidates(method: Method, features: Features, run: Run) -> tuple[Rows, Rows]:
    if isinstance(method, ProposesCandidates):
        with run.stages("candidates") as stage:
            propose = method.candidates
            pairs = run.parts("pairs", SHARING)
            pairs.fill([None], lambda _: (_sharing(propose(features.all())), 0), 1, stage)
            return _chosen(method, pairs.each())
    keys = run.parts("keys", KEYS, compressed=False)
    with run.stages("keys", total=len(features)) as stage:
        numbers = together(range(len(features.batches)))
        keys.fill(numbers, lambda some: (_keys(method, features, some), 0), run.workers, stage)
    with run.stages("candidates") as stage:
        size = sum(part.rows for part in keys.listed) * 4 * KEY_BYTES
        ranges = key_ranges(size, run.memory)
        pairs = run.parts("pairs", SHARING, cuts=len(ranges))
        pairs.fill(ranges, lambda cut: (_pairs(method, keys.each_range(*cut)), 0), 1, stage)
        return _chosen(method, pairs.each())


def _chosen(method: Method, batches: Iterable[pa.RecordBatch]) -> tuple[Rows, Rows]:
    """The pairs that are worth judging, each once, in order."""
    found, shares = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for batch in batches:
        found.append(packed(batch["left"].to_numpy(), batch["right"].to_numpy()))
        shares.append(batch["shared"].to_numpy())
    pairs, shared = added_up(_joined(found), _joined(shares))
    left, right = unpacked(pairs)
    if method.chance_pairs is None:
        return left, right
    return without_most_chance_pairs(left, right, shared, method.chance_pairs)


def _joined(parts: list[NDArray[Number]]) -> NDArray[Number]:
    """All numbers as one array; the parts, which may be many, are let go."""
    numbers = np.concatenate(parts)
    parts.clear()
    return numbers


def _sharing(pairs: pa.RecordBatch) -> pa.RecordBatch:
    """Pairs that were found in another way than by their keys."""
    return pa.record_batch([*pairs.columns, np.ones(pairs.num_rows, np.int64)], schema=SHARING)


def find_candidates(method: Method, features: pa.Table) -> tuple[Rows, Rows]:
    """Candidate pairs among features that are all in memory."""
    if isinstance(method, ProposesCandidates):
        return _chosen(method, [_sharing(method.candidates(features))])
    batches = features.to_batches()
    starts = np.cumsum([0, *(batch.num_rows for batch in batches)])
    keys = [
        _numbered(method.keys(batch), np.arange(start, start + batch.num_rows))
        for start, batch in zip(starts[:-1].tolist(), batches, strict=True)
    ]
    return _chosen(method, [_pairs(method, keys)])


def _keys(method: Method, features: Features, numbers: Sequence[int]) -> pa.RecordBatch:
    """The keys of some batches of features, by page number."""
    made = []
    for number in numbers:
        made.append(_numbered(method.keys(features.batches[number]), features.pages[number]))
        features.release(number)
    return in_order_of_keys(pa.concat_batches(made))


def _numbered(keys: pa.RecordBatch, pages: Rows) -> pa.RecordBatch:
    """Keys by page number instead of row."""
    return pa.record_batch([pages[keys["row"].to_numpy()], keys["key"]], schema=KEYS)


def _pairs(method: Method, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """The pairs that share a key, and how many."""
    rows, keys = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
    for batch in batches:
        rows.append(batch["row"].to_numpy())
        keys.append(batch["key"].to_numpy())
    if method.transitive:
        firsts = pairs_with_first(_joined(rows), _joined(keys))
        return _sharing(pa.record_batch(list(firsts), schema=PAIRS))
    sharing = pairs_sharing_keys(_joined(rows), _joined(keys))
    return pa.record_batch(list(sharing), schema=SHARING)


def _decide_in_order(
    method: DecidesInOrder, spilled: Spilled, features: Features, run: Run
) -> tuple[Rows, Rows, pa.RecordBatch]:
    """Page by page in the order of (time, id); pages without a time come last."""
    ids = spilled.ids
    with run.stages("assign", total=len(ids)) as stage:
        numbered = pa.table({"time": spilled.pages["time"], "number": np.arange(len(ids))})
        keys = [("time", "ascending"), ("number", "ascending")]
        order = pc.sort_indices(numbered, keys).to_numpy().astype(np.int64)
        assigned = method.assign(ids.take(pa.array(order)), features.take(order), MemoryState())
        stage.advance(len(ids))
    found = assigned["match"].is_valid()
    page = order[found.to_numpy(zero_copy_only=False)]
    match = pc.index_in(assigned["match"].filter(found), ids).to_numpy().astype(np.int64)
    return _smaller_first(page, match, assigned.filter(found).select(VERDICTS.names))


def _smaller_first(
    page: Rows, match: Rows, verdicts: pa.RecordBatch
) -> tuple[Rows, Rows, pa.RecordBatch]:
    """The pairs in order, each with the smaller number left; the relation turns with it."""
    relations = [
        str(Relation(relation).reverse) if turned else relation
        for relation, turned in zip(verdicts["relation"].to_pylist(), page > match, strict=True)
    ]
    columns = [pa.array(relations, pa.string()), verdicts["similarity"], verdicts["evidence"]]
    left, right = np.minimum(page, match), np.maximum(page, match)
    order = np.lexsort((right, left))
    turned = pa.record_batch(columns, schema=VERDICTS).take(pa.array(order))
    return left[order], right[order], turned


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
