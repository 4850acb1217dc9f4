"""The pipeline of one machine, in two halves.

`judge` finds how pages relate: surveys, features, candidates, verdicts. `settle` decides what
follows: clusters, the page to keep of each, and how every other page relates to it. A run does
both, `recluster` the second half over stored verdicts, and `recheck` both over the pages of a
store, with feedback as constraints. This is the only place where the stages are put together on one
machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.arrays import FeatureRows, Floats, Mask, Numbers, booleans, found_in
from neardup.local.corpus import Corpus
from neardup.local.features import (
    PAIRS_AT_ONCE,
    CountedSurveys,
    Features,
    PairBlock,
    describe,
    find_candidates,
    pair_blocks,
    survey,
)
from neardup.local.prior import KnownPairs, Prior
from neardup.local.run import ordered_map
from neardup.local.work import Parts, Run
from neardup.methods import identical
from neardup.methods.base import (
    Assigns,
    Joining,
    MemoryState,
    Method,
    SurveyResults,
    assigner,
)
from neardup.methods.identical import identical_in, identity_groups, verdicts_on
from neardup.model import Relation
from neardup.rules.candidates import packed
from neardup.rules.clusters import (
    APART,
    NEW,
    PAGES_AT_ONCE,
    UNCONSTRAINED,
    Closeness,
    Constraints,
    cluster_pairs,
    in_ranges,
    join_earlier,
    join_repository,
    named_by_smallest,
)
from neardup.rules.keeping import POLICY_COLUMNS, JudgedPairs, choose_kept
from neardup.schemas import ASSIGNED, RELATED, VERDICTS

# The verdicts that depend on similarity alone. The others hold at any threshold: equal text, text
# that contains another, and too little text.
BY_SIMILARITY = [str(each) for each in (Relation.NEAR, Relation.OVERLAP, Relation.DIFFERENT)]
# Relations that are others if the pages change places.
TURNED = [(str(each), str(each.reverse)) for each in Relation if each.reverse != each]
NO_PRIOR = Prior()


@dataclass(frozen=True)
class Judged:
    """How pages relate: pairs of page numbers, left < right, sorted, with their verdicts."""

    corpus: Corpus
    method: Method
    features: Features
    surveys: CountedSurveys
    left: Numbers
    right: Numbers
    relations: NDArray[np.object_]
    similarities: Floats  # NaN if there is none
    verdicts: Parts  # PAIRS_AT_ONCE in each
    threshold: float | None = None  # overrides the method's own

    def each(self) -> Iterator[tuple[Numbers, Numbers, pa.RecordBatch]]:
        """The pairs with their verdicts, in batches."""
        for number, batch in enumerate(self.verdicts.each()):
            here = slice(number * PAIRS_AT_ONCE, (number + 1) * PAIRS_AT_ONCE)
            yield self.left[here], self.right[here], batch

    @cached_property
    def decidable(self) -> Mask:
        """Which pages have enough text for a verdict."""
        return self.features.gather(lambda batch: booleans(self.method.decidable(batch))).astype(
            bool
        )

    def relate(self, left: Numbers, right: Numbers, run: Run) -> pa.Table:
        """Relation and similarity of any pairs of pages. Those that the method has judged are not
        judged again, whichever page came first: verdicts are symmetric."""
        known, place = self._find(left, right)
        fresh = self._relate(left[~known], right[~known], run)
        if not known.any():
            return fresh
        relations, judged = np.empty(left.size, object), self.relations[place]
        relations[known] = judged
        for relation, turned in TURNED:
            is_turned = known & (left > right)
            is_turned[known] &= judged == relation
            relations[is_turned] = turned
        relations[~known] = _few_strings(fresh["relation"].combine_chunks())
        similarities = np.empty(left.size)
        similarities[known] = self.similarities[place]
        similarities[~known] = fresh["similarity"].to_numpy()
        columns = [
            pa.array(relations, pa.string()),
            pa.array(similarities, mask=np.isnan(similarities)),
        ]
        return pa.table(columns, schema=RELATED)

    def _find(self, left: Numbers, right: Numbers) -> tuple[Mask, Numbers]:
        """Which of these pairs were judged, in either order, and where they are. A method that
        decides in order has said what a page joins, which is another question."""
        if assigner(self.method) is not None:
            return np.zeros(left.size, bool), np.empty(0, np.int64)
        return found_in(self._packed, packed(np.minimum(left, right), np.maximum(left, right)))

    @cached_property
    def _packed(self) -> Numbers:
        return packed(self.left, self.right)

    def _relate(self, left: Numbers, right: Numbers, run: Run) -> pa.Table:
        def judge_rows(rows: FeatureRows, one: Numbers, other: Numbers) -> pa.RecordBatch:
            verdicts = self.method.relate(rows, one, other, evidence=False).select(RELATED.names)
            return verdicts if self.threshold is None else rethreshold(verdicts, self.threshold)

        def judge_block(block: PairBlock) -> pa.RecordBatch:
            return block.judge(judge_rows, block.left, block.right)

        blocks = pair_blocks(self.features, left, right, run.memory, run.workers)
        return pa.Table.from_batches(ordered_map(judge_block, blocks, run.workers), RELATED)


@dataclass(frozen=True)
class Outcome:
    """The decisions of a run: for each page its cluster and the page kept for it.

    Tables, report, summary and evaluation are functions of an outcome.
    """

    judged: Judged
    labels: Numbers  # the cluster of each page: the smallest page number in it
    kept: Numbers
    to_kept: pa.Table  # relation and similarity of each dropped page to the kept one

    @property
    def corpus(self) -> Corpus:
        return self.judged.corpus

    @cached_property
    def is_kept(self) -> Mask:
        return np.equal(self.kept, np.arange(self.kept.size))

    @cached_property
    def shells(self) -> Mask:
        """Which pages are shells: their own text did not arrive, and their host shows the same text
        on other pages. None of them is anybody's duplicate."""
        features, method = self.judged.features, self.judged.method
        names = [field.name for field in identical.COLUMNS]
        columns = [features.gather(partial(_numbers, name)) for name in names]
        by_method = features.gather(method.shells).astype(bool)
        return (by_method | identical.shells(pa.record_batch(columns, names))) & self.is_alone

    @cached_property
    def is_alone(self) -> NDArray[np.bool_]:
        """Which pages are the only ones of their clusters."""
        sizes = np.bincount(self.labels, minlength=self.labels.size)
        return np.equal(sizes[self.labels], 1)


# First half


def judge(
    corpus: Corpus, method: Method, run: Run, prior: Prior = NO_PRIOR, *, evidence: bool = True
) -> Judged:
    """Every pair that the method has something to say about; what is known is not judged again.

    Without `evidence` the verdicts may be without theirs, where leaving it out saves work.
    """
    surveys = survey(corpus, method, run, dict(prior.counts))
    features = describe(corpus, method, surveys, run) if corpus.parts else None
    if prior.features is not None:
        features = prior.features if features is None else features.joined(prior.features)
    assert features is not None
    if (decides := assigner(method)) is not None:
        left, right, verdicts = _assign(decides, corpus, features, run)
    else:
        left, right = prior.with_known(*find_candidates(method, features, run))
        verdicts = _judge_pairs(method, features, left, right, prior.pairs, run, evidence=evidence)
    return _judged(corpus, method, features, surveys, left, right, verdicts)


def rejudge(corpus: Corpus, method: Method, run: Run, prior: Prior, threshold: float) -> Judged:
    """The verdicts of an earlier result at another threshold."""
    assert prior.pairs is not None
    assert prior.features is not None
    known = prior.pairs
    batches = known.verdicts.combine_chunks().to_batches(PAIRS_AT_ONCE)
    verdicts = run.parts("verdicts", VERDICTS)
    with run.stages("judge", total=known.left.size) as stage:
        verdicts.fill(batches, lambda batch: (rethreshold(batch, threshold), 0), 1, stage)
    surveys = CountedSurveys(SurveyResults(), {})
    return _judged(
        corpus, method, prior.features, surveys, known.left, known.right, verdicts, threshold
    )


def _judged(
    corpus: Corpus,
    method: Method,
    features: Features,
    surveys: CountedSurveys,
    left: Numbers,
    right: Numbers,
    verdicts: Parts,
    threshold: float | None = None,
) -> Judged:
    relations, similarities = [np.empty(0, object)], [np.empty(0)]
    for batch in verdicts.each(RELATED.names):
        relations.append(_few_strings(batch["relation"]))
        similarities.append(batch["similarity"].to_numpy(zero_copy_only=False))
    return Judged(
        corpus,
        method,
        features,
        surveys,
        left,
        right,
        np.concatenate(relations),
        np.concatenate(similarities),
        verdicts,
        threshold,
    )


def _few_strings(column: pa.StringArray) -> NDArray[np.object_]:
    """The strings of a column with few distinct ones, sharing one object each."""
    encoded = column.dictionary_encode()
    words = np.array(encoded.dictionary.to_pylist(), object)
    strings: NDArray[np.object_] = words[encoded.indices.to_numpy()]
    return strings


def _judge_pairs(
    method: Method,
    features: Features,
    left: Numbers,
    right: Numbers,
    known: KnownPairs | None,
    run: Run,
    *,
    evidence: bool,
) -> Parts:
    """The verdict on each pair, in the work directory; known pairs are not judged again."""
    schema = VERDICTS if evidence else RELATED

    def judge_rows(rows: FeatureRows, one: Numbers, other: Numbers) -> pa.RecordBatch:
        return method.relate(rows, one, other, evidence=evidence).select(schema.names)

    def judge_block(block: PairBlock) -> tuple[pa.RecordBatch, int]:
        if known is None:
            return block.judge(judge_rows, block.left, block.right), 0
        there, recalled = known.find(block.left, block.right)
        fresh = block.judge(judge_rows, block.left[~there], block.right[~there])
        order = np.argsort(np.concatenate([np.flatnonzero(there), np.flatnonzero(~there)]))
        both = pa.concat_tables([recalled, pa.Table.from_batches([fresh])])
        return both.take(pa.array(order)).combine_chunks().to_batches()[0], 0

    verdicts = run.parts("verdicts", schema)
    with run.stages("judge", total=left.size) as stage:
        blocks = pair_blocks(features, left, right, run.memory, run.workers)
        verdicts.fill(blocks, judge_block, run.workers, stage)
    return verdicts


def _assign(
    method: Assigns, corpus: Corpus, features: Features, run: Run
) -> tuple[Numbers, Numbers, Parts]:
    """Decide page by page, in order. A page identical with an earlier one joins it."""
    ids = corpus.ids
    with run.stages("assign", total=len(ids)) as stage:
        order = in_order(corpus)
        rows = features.take(order)
        originals = identity_groups(rows)
        is_original = originals == np.arange(order.size)
        chosen = ids.take(pa.array(order[is_original]))
        assigned = method.assign(chosen, rows.filter(pa.array(is_original)), MemoryState())
        copies = np.flatnonzero(~is_original)
        identical = identical_in(FeatureRows.of(rows), originals[copies], copies)
        matches = ids.take(pa.array(order[originals[copies]]))
        assigned = pa.concat_batches(
            [assigned, pa.record_batch([matches, *verdicts_on(identical).columns], ASSIGNED)]
        )
        order = np.concatenate([order[is_original], order[copies]])
        stage.advance(len(ids))
    matched = assigned["match"].is_valid()
    page = order[booleans(matched)]
    match = pc.index_in(assigned["match"].filter(matched), ids).to_numpy().astype(np.int64)
    left, right, assigned = _smaller_first(page, match, assigned.filter(matched))
    verdicts = run.parts("verdicts", VERDICTS)
    with run.stages("judge", total=left.size) as stage:
        starts = range(0, left.size, PAIRS_AT_ONCE)
        verdicts.fill(starts, lambda at: (assigned.slice(at, PAIRS_AT_ONCE), 0), 1, stage)
    return left, right, verdicts


def in_order(corpus: Corpus) -> Numbers:
    """The pages in the order of (time, id); those without a time come last."""
    numbered = pa.table({"time": corpus.pages.column("time"), "number": np.arange(len(corpus))})
    keys = [("time", "ascending"), ("number", "ascending")]
    return pc.sort_indices(numbered, keys).to_numpy().astype(np.int64)  # type: ignore[no-any-return]


def _smaller_first(
    page: Numbers, match: Numbers, verdicts: pa.RecordBatch
) -> tuple[Numbers, Numbers, pa.RecordBatch]:
    """The sorted pairs, the smaller number first; relations are reversed accordingly."""
    relations = [
        str(Relation(relation).reverse) if turned else relation
        for relation, turned in zip(verdicts["relation"].to_pylist(), page > match, strict=True)
    ]
    columns = [pa.array(relations, pa.string()), verdicts["similarity"], verdicts["evidence"]]
    left, right = np.minimum(page, match), np.maximum(page, match)
    order = np.lexsort((right, left))
    turned = pa.record_batch(columns, schema=VERDICTS).take(pa.array(order))
    return left[order], right[order], turned


def rethreshold(verdicts: pa.RecordBatch, threshold: float) -> pa.RecordBatch:
    """The verdicts at `threshold`: those that depend on similarity become near or different."""
    relation = verdicts["relation"]
    by_similarity = pc.is_in(relation, pa.array(BY_SIMILARITY))
    enough = pc.fill_null(pc.greater_equal(verdicts["similarity"], threshold), False)
    by_threshold = pc.if_else(enough, str(Relation.NEAR), str(Relation.DIFFERENT))
    place = verdicts.schema.get_field_index("relation")
    changed = pc.if_else(by_similarity, by_threshold, relation)
    return verdicts.set_column(place, verdicts.schema.field(place), changed)


# Second half


def settle(
    judged: Judged,
    run: Run,
    *,
    keep: str,
    contained: bool = False,
    constraints: Constraints = UNCONSTRAINED,
    prior: Prior = NO_PRIOR,
) -> Outcome:
    """Clusters from verified pairs, the page to keep of each, and the relation of members to it.

    `contained` also joins excerpts to the pages that contain them. Clusters of `prior` keep their
    names: a new page joins one of them or stays outside. A method that joins as a repository
    decides itself which page is kept and accepts no constraints (the index rejects such methods).
    """
    relations = joining_relations(judged.method, contained=contained)

    def closeness(one: Numbers, other: Numbers) -> Floats:
        verdicts = judged.relate(one, other, run)
        joins = pc.is_in(verdicts["relation"], pa.array(relations)).to_numpy()
        return np.where(joins, verdicts["similarity"], APART)

    with run.stages("cluster") as stage:
        joining = JudgedPairs(judged.left, judged.right, judged.similarities).where(
            np.isin(judged.relations, relations)
        )
        if judged.method.joining is Joining.REPOSITORY:
            labels, kept = _stored(judged.corpus, joining, prior)
            return _outcome(judged, labels, kept, run)
        labels = _clusters(judged, joining, closeness, constraints, prior)
        del joining
        kept = _choose_kept(keep, judged, labels)
        stage.advance(len(judged.corpus))
        return _outcome(judged, labels, kept, run)


def _clusters(
    judged: Judged,
    pairs: JudgedPairs,
    closeness: Closeness,
    constraints: Constraints,
    prior: Prior,
) -> Numbers:
    """The cluster of each page, from the pairs that join."""
    known = None
    if prior.labels is not None and prior.kept is not None:
        known = join_earlier(prior.labels, prior.kept, *pairs, closeness)
        pairs = pairs.where((known[pairs.left] == NEW) & (known[pairs.right] == NEW))
    groups = None
    if judged.method.joining is Joining.CENTRES:
        groups = judged.features.gather(judged.method.same_host_group).astype(np.uint64, copy=False)
    labels = cluster_pairs(
        len(judged.corpus), *pairs, closeness, same_host_group=groups, constraints=constraints
    )
    return labels if known is None else np.where(known == NEW, labels, known)


def _choose_kept(keep: str, judged: Judged, labels: Numbers) -> Numbers:
    """For each page the page that its cluster keeps, decided for some clusters at a time."""
    kept, every = np.arange(labels.size), judged.corpus.pages
    columns = [name for name in POLICY_COLUMNS if name in every.names]
    for pages, here in in_ranges(labels, judged.left, judged.right, PAGES_AT_ONCE):
        left, right = (np.searchsorted(pages, side[here]) for side in (judged.left, judged.right))
        pairs = JudgedPairs(left, right, judged.similarities[here])
        rows = pa.Table.from_batches([every.take(pages, columns)])
        own = np.searchsorted(pages, labels[pages])
        kept[pages] = pages[choose_kept(keep, rows, own, pairs)]
    return kept


def _stored(corpus: Corpus, pairs: JudgedPairs, prior: Prior) -> tuple[Numbers, Numbers]:
    """Cluster and kept page of each page, decided in the order of (time, id).

    The pages of `prior` come first and keep their decisions.
    """
    order, kept = in_order(corpus), np.arange(len(corpus))
    if prior.labels is None or prior.kept is None:
        kept = join_repository(order, *pairs, kept)
        return named_by_smallest(kept), kept
    new = prior.labels == NEW
    pairs = pairs.where(new[pairs.left] | new[pairs.right])
    order = order[np.argsort(new[order], kind="stable")]
    kept = np.where(new, kept, prior.kept)
    kept = join_repository(order, *pairs, kept)
    named = prior.labels[kept]
    return np.where(named == NEW, named_by_smallest(kept), named), kept


def _outcome(judged: Judged, labels: Numbers, kept: Numbers, run: Run) -> Outcome:
    members = np.flatnonzero(kept != np.arange(kept.size))
    return Outcome(judged, labels, kept, judged.relate(members, kept[members], run))


def _numbers(name: str, rows: pa.RecordBatch) -> NDArray[np.generic]:
    column: NDArray[np.generic] = rows[name].to_numpy()
    return column


def joining_relations(method: Method, *, contained: bool) -> list[str]:
    """The relations that join two pages."""
    excerpts = {Relation.CONTAINS, Relation.CONTAINED} if contained else set()
    return sorted(str(relation) for relation in {*method.joins, *excerpts})
