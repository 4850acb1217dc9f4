"""The features of all pages: computing and storing them, candidates from their keys, and bringing
them together for pairs.

Features are files in the work directory, mapped into memory. Reading a single row makes the 64 KB
around it resident, which counts as memory of this process, and the pages of a pair may be anywhere:
a few thousand pairs would hold all features of a run in memory. If that is too much, the rows of
many pairs are copied at once, file by file (`pair_blocks`).

Candidates: keys are sorted range by range, as many at a time as memory allows, and pages that share
a key are paired (`rules.candidates`). A method with its own search finds its candidates itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.arrays import FeatureRows, Hashes, Numbers, distinct, found_in
from neardup.local.corpus import Corpus, TextPart, group_numbers, read_group
from neardup.local.run import equal_ranges, key_ranges, ordered_map, row_ranges, together
from neardup.local.work import MemoryParts, PartFile, Parts, Run, in_order_of_keys, within_keys
from neardup.methods.base import Method, Searches, SharedKeys, SurveyResults, searcher
from neardup.methods.identical import identity_pairs
from neardup.rules.candidates import (
    added_up,
    packed,
    pairs_sharing_keys,
    pairs_with_first,
    unpacked,
    worth_judging,
)
from neardup.schemas import COUNTS, KEYS
from neardup.text.sites import NOTES, Survey, add_counts

MIN_ROWS = 2  # taken at once, whatever their size
COUNT_BYTES = 16  # of a key and its count
COUNTS_AT_ONCE = 100_000  # at least, that a worker adds up
MOST_RANGES = 16  # of keys, if memory allows for the counts of all
PAIRS_AT_ONCE = 4096  # few enough that all workers have some in a small run
JUDGED_BYTES = 64_000_000  # approximate bytes of features that a worker reads at once
NEARBY_SHARE = 0.05  # of the memory limit, for the features of a block of pairs
MAPPED_SHARE = 0.3  # of the memory limit, for the features of all pages while pairs are judged


class Features(FeatureRows):
    """Feature batches by page number.

    The batches may be views of mapped files: then only what is needed is read, and released after
    use.
    """

    def __init__(
        self,
        schema: pa.Schema,
        batches: Sequence[pa.RecordBatch],
        numbers: Sequence[Numbers],
        files: Sequence[PartFile | None] = (),
    ) -> None:
        super().__init__(schema, batches, numbers)
        self.files = files or [None] * len(batches)

    @classmethod
    def mapped(cls, parts: Parts, numbers: Sequence[Numbers]) -> Features:
        """Features in parts that are not compressed; those in files are read as they are used."""
        batches, files = parts.mapped()
        return cls(parts.schema, batches, numbers, files)

    @classmethod
    def in_memory(cls, batch: pa.RecordBatch) -> Features:
        """Features in memory, one row per page."""
        return cls(batch.schema, [batch], [np.arange(batch.num_rows)])

    def joined(self, other: Features) -> Features:
        """These features and those of other pages."""
        return Features(
            self.schema,
            [*self.batches, *other.batches],
            [*self.numbers, *other.numbers],
            [*self.files, *other.files],
        )

    @cached_property
    def is_mapped(self) -> bool:
        """Whether any of them are in files."""
        return any(self.files)

    @cached_property
    def total_bytes(self) -> int:
        """Bytes of all features."""
        total: int = sum(batch.nbytes for batch in self.batches)
        return total

    def at_hand(self, memory: int) -> Features:
        """The same features; their memory is not released if there is room for all of them."""
        return self._held if self.total_bytes <= memory * MAPPED_SHARE else self

    @cached_property
    def _held(self) -> Features:
        return Features(self.schema, self.batches, self.numbers)

    def rows_within(self, size: int, *, at_least: int = MIN_ROWS) -> int:
        """How many pages have about `size` bytes of features."""
        row_bytes = self.total_bytes // max(len(self), 1) + 1
        return max(size // row_bytes, at_least)

    def each(self) -> Iterator[tuple[Numbers, pa.RecordBatch]]:
        """The batches with the page numbers of their rows, one after another."""
        for number in range(len(self.batches)):
            yield self.numbers[number], self.batches[number]
            self.release(number)

    def release(self, batch: int) -> None:
        """Release the memory of a mapped batch that is not needed for now."""
        if (file := self.files[batch]) is not None:
            file.release()

    def all(self) -> pa.Table:
        """The features of all pages, in the order of their numbers, in memory."""
        return pa.Table.from_batches([self.take(np.arange(len(self)))], self.schema)

    def gather(self, step: Callable[[pa.RecordBatch], NDArray[np.generic]]) -> NDArray[np.generic]:
        """A number for each page, which `step` computes batch by batch."""
        gathered: NDArray[np.generic] | None = None
        for numbers, batch in self.each():
            values = step(batch)
            if gathered is None:
                gathered = np.zeros(len(self), values.dtype)
            gathered[numbers] = values
        return np.zeros(len(self), np.int64) if gathered is None else gathered


# Surveys

Count = Callable[[pa.RecordBatch], pa.RecordBatch]  # keys and counts of some pages


class CountedSurveys:
    """The surveys of a run and the counts behind them, which results and stores keep."""

    def __init__(
        self, results: SurveyResults, counts: dict[str, Parts], notes: Parts | None = None
    ) -> None:
        self._results: SurveyResults | None = results
        self._pages = max((each.pages for each in results if each is not None), default=0)
        self.counts = counts  # by the names of the results, "sites" and "corpus"
        self.notes = notes  # that were taken on the way (`SiteCounts.notes`), by number of group

    @property
    def results(self) -> SurveyResults:
        """The surveys of all pages, until they are released."""
        assert self._results is not None
        return self._results

    def release(self, memory: int) -> None:
        """Free the surveys if they take much of the memory: once there are features, only the
        report needs them, and of few pages."""
        size = sum(each.keys.nbytes for each in self.results if each is not None)
        if size > memory * NEARBY_SHARE:
            self._results = None

    def about(self, method: Method, batches: Sequence[pa.RecordBatch]) -> SurveyResults:
        """The surveys, with what the pages of these batches look up at least."""
        if self._results is not None:
            return self._results
        pages = pa.concat_batches(batches)

        def look_up(name: str, count: Count) -> Survey:
            sites = method.site_counts if name == "sites" else None
            keys = count(pages)["key"].to_numpy() if sites is None else sites.lookups(pages)
            wanted = distinct(keys)
            here = (_found(counts, wanted) for counts in self.counts[name].each())
            return Survey.from_counts(self._pages, here)

        return _surveyed(method, look_up)


def _found(counts: pa.RecordBatch, wanted: Hashes) -> pa.RecordBatch:
    """The counts of these keys; both are in order."""
    return counts.take(pa.array(found_in(counts["key"].to_numpy(), wanted)[1]))


def survey(
    corpus: Corpus, method: Method, run: Run, earlier: dict[str, Iterable[pa.RecordBatch]]
) -> CountedSurveys:
    """The counts over all pages that their features depend on.

    First what sites repeat, if the view needs it; then what the method counts over the text of the
    view. `earlier` are counts that are added to each.
    """
    counts: dict[str, Parts] = {}
    notes = run.parts("notes", NOTES, compressed=False)

    def count_group(name: str, count: Count, number: int, group: list[TextPart]) -> pa.RecordBatch:
        pages = read_group(group, method.columns)
        counted = count(pages)
        if name == "sites" and method.site_counts is not None:
            taken = method.site_counts.notes(pages)
            if taken is not None:
                notes.put(number, taken)
        return counted

    def add_up(name: str, count: Count) -> Survey:
        stage = "corpus-survey" if counts else "survey"
        counts[name] = _count(
            stage, corpus, partial(count_group, name, count), run, earlier.get(name, ())
        )
        return Survey.from_counts(len(corpus), counts[name].each())

    return CountedSurveys(_surveyed(method, add_up), counts, notes)


def survey_batch(method: Method, pages: pa.RecordBatch) -> SurveyResults:
    """The surveys of a corpus that is one batch."""

    def add_up(_: str, count: Count) -> Survey:
        return Survey.from_counts(pages.num_rows, [add_counts([count(pages)])])

    return _surveyed(method, add_up)


def _surveyed(method: Method, add_up: Callable[[str, Count], Survey]) -> SurveyResults:
    """The surveys that the method needs; `add_up` adds counts up over all pages."""
    surveyed = SurveyResults()
    if (site_counts := method.site_counts) is not None:
        surveyed = surveyed._replace(sites=add_up("sites", site_counts.count))
    if (surveys := method.surveys) is not None:
        viewed = surveyed
        corpus = add_up("corpus", lambda pages: surveys.survey(method.viewed(pages, viewed)))
        surveyed = surveyed._replace(corpus=corpus)
    return surveyed


def _count(
    name: str,
    corpus: Corpus,
    count: Callable[[int, list[TextPart]], pa.RecordBatch],
    run: Run,
    earlier: Iterable[pa.RecordBatch],
) -> Parts:
    """Counts added up over all pages, sorted by key. Those of each group of pages, by its number,
    are what `count` says."""
    if (finished := run.finished(f"{name}-sums", COUNTS, compressed=False)) is not None:
        return finished
    parts = run.parts(name, COUNTS, compressed=False)
    known = list(earlier)

    def count_groups(
        groups: Sequence[tuple[int, list[TextPart]]],
    ) -> tuple[pa.RecordBatch, int]:
        counts = [count(*group) for group in groups]
        return in_order_of_keys(counts[0]) if len(counts) == 1 else add_counts(counts), 0

    def add_range(cut: tuple[int, int]) -> tuple[pa.RecordBatch, int]:
        known_here = (within_keys(batch, *cut) for batch in known)
        return add_counts(chain(parts.each_range(*cut), known_here)), 0

    with run.stages(name, total=len(corpus)) as stage:
        parts.fill(together(list(enumerate(corpus.groups()))), count_groups, run.workers, stage)
        total = sum(part.rows for part in parts.listed) + sum(each.num_rows for each in known)
        ranges = key_ranges(total * 4 * COUNT_BYTES, run.memory, run.workers)
        if len(ranges) <= run.workers:  # memory allows for the counts of all
            ranges = equal_ranges(min(total // COUNTS_AT_ONCE, MOST_RANGES))
        sums = run.parts(f"{name}-sums", COUNTS, compressed=False, cuts=len(ranges))
        sums.fill(ranges, add_range, run.workers, stage)
    sums.finish()
    parts.drop()
    return sums


def describe(corpus: Corpus, method: Method, surveys: CountedSurveys, run: Run) -> Features:
    """The features of all pages with text."""
    parts = run.parts("features", method.row_schema, compressed=False)

    def features_of(numbered: tuple[int, list[TextPart]]) -> tuple[pa.RecordBatch, int]:
        number, group = numbered
        pages = read_group(group, method.columns)
        text_bytes = pc.sum(pc.binary_length(pages["text"])).as_py() or 0
        notes = surveys.notes.find(number) if surveys.notes is not None else None
        if notes is not None:
            schema = pa.schema([*pages.schema, *notes.schema])
            pages = pa.record_batch([*pages.columns, *notes.columns], schema=schema)
        return method.describe(pages, surveys.results), text_bytes

    with run.stages("features", total=len(corpus)) as stage:
        parts.fill(enumerate(corpus.groups()), features_of, run.workers, stage)
    if surveys.notes is not None:
        surveys.notes.drop()
    surveys.release(run.memory)
    return Features.mapped(parts, [group_numbers(group) for group in corpus.groups()])


def kept_features(
    name: str, batches: Iterable[pa.RecordBatch], method: Method, numbers: Numbers, run: Run
) -> Features:
    """Copy earlier features to the work directory; `numbers` are the numbers of their pages."""
    parts = run.parts(name, method.row_schema, compressed=False)
    with run.stages(name, total=numbers.size) as stage:
        parts.fill(batches, lambda batch: (batch, 0), 1, stage)
    cuts = np.cumsum([part.rows for part in parts.listed])[:-1]
    return Features.mapped(parts, np.split(numbers, cuts))


# Pairs

PairJudge = Callable[[FeatureRows, Numbers, Numbers], pa.RecordBatch]


@dataclass(frozen=True)
class PairBlock:
    """Pairs of pages, with features of at least these pages, in memory if there is room."""

    left: Numbers
    right: Numbers
    features: Features
    pages: Numbers | None = None  # ascending; features are numbered by position in it

    def judge(self, judge: PairJudge, left: Numbers, right: Numbers) -> pa.RecordBatch:
        """The verdicts on these pairs, or on some of them."""
        if self.pages is not None:
            left, right = np.searchsorted(self.pages, left), np.searchsorted(self.pages, right)
        return pa.concat_batches(judge_in_steps(judge, self.features, left, right))


def pair_blocks(
    features: Features,
    left: Numbers,
    right: Numbers,
    memory: int,
    workers: int = 1,
    *,
    pairs_at_once: int = PAIRS_AT_ONCE,
    min_rows: int = MIN_ROWS,
) -> Iterator[PairBlock]:
    """The pairs in order, `pairs_at_once` in a block; features are copied by all workers."""
    starts = range(0, left.size, pairs_at_once)
    pairs = [
        (left[start : start + pairs_at_once], right[start : start + pairs_at_once])
        for start in starts
    ]
    features = features.at_hand(memory)
    rows = features.rows_within(int(memory * NEARBY_SHARE), at_least=min_rows)
    blocks_at_once = rows // (2 * pairs_at_once)
    if not features.is_mapped or not blocks_at_once:
        yield from (PairBlock(*each, features) for each in pairs)
        return
    for first in range(0, len(pairs), blocks_at_once):
        some = pairs[first : first + blocks_at_once]
        copies, pages = _copies(features, [side for each in some for side in each], workers)
        yield from (PairBlock(*each, copies, pages) for each in some)


def judge_in_steps(
    judge: PairJudge,
    features: Features,
    left: Numbers,
    right: Numbers,
    *,
    step_bytes: int = JUDGED_BYTES,
    min_rows: int = MIN_ROWS,
) -> Iterator[pa.RecordBatch]:
    """The verdicts on pairs of rows, in steps small enough for their features to fit in memory."""
    step = features.rows_within(step_bytes // 2, at_least=min_rows)
    for start in range(0, max(left.size, 1), step):
        one, other = left[start : start + step], right[start : start + step]
        if features.is_mapped:
            copies, pages = _copies(features, [one, other])
            yield judge(copies, np.searchsorted(pages, one), np.searchsorted(pages, other))
        else:
            yield judge(features, one, other)


def _copies(
    features: Features, pages: Sequence[Numbers], workers: int = 1
) -> tuple[Features, Numbers]:
    """The features of these pages in memory, numbered by position among the sorted pages.

    Each worker copies from batches of its own, so that none is read twice.
    """
    every = distinct(np.concatenate(pages))
    if workers == 1:
        return Features.in_memory(features.take(every)), every
    of_worker = features.places(every).batches * workers // len(features.batches)
    rows = [np.flatnonzero(of_worker == worker) for worker in range(workers)]
    batches = ordered_map(lambda some: features.take(every[some]), rows, workers)
    return Features(features.schema, list(batches), rows), every


KEY_BYTES = 16  # per row and key

Number = TypeVar("Number", np.int64, np.uint64)


def find_candidates(method: Method, features: Features, run: Run) -> tuple[Numbers, Numbers]:
    """Every pair worth judging, once, in order; keys and pairs go to the work directory."""
    if (searches := searcher(method)) is not None:
        with run.stages("candidates") as stage:
            pairs = run.parts("pairs", COUNTS, compressed=False)
            pairs.fill([searches], lambda each: (_search(each, features.all()), 0), 1, stage)
            return _chosen(method, pairs, len(features), run.memory)
    if (finished := run.finished("pairs", COUNTS, compressed=False)) is not None:
        return _chosen(method, finished, len(features), run.memory)
    keys = run.parts("keys", KEYS, compressed=False)
    with run.stages("keys", total=len(features)) as stage:
        cut = run.work is not None  # in memory all keys are paired at once, in one order
        every = range(len(features.batches))
        numbers = together(every) if cut else ([batch] for batch in every)
        keys.fill(numbers, lambda some: (_keys(method, features, some, cut), 0), run.workers, stage)
    with run.stages("candidates") as stage:
        size = sum(part.rows for part in keys.listed) * 4 * KEY_BYTES
        ranges = key_ranges(size, run.memory, run.workers if cut else 1)
        pairs = run.parts("pairs", COUNTS, compressed=False, cuts=len(ranges))

        def pair_range(keys_of: tuple[int, int]) -> tuple[pa.RecordBatch, int]:
            return _pairs(method, keys.each_range(*keys_of)), 0

        pairs.fill(ranges, pair_range, run.workers, stage)
        pairs.finish()
        keys.drop()
        return _chosen(method, pairs, len(features), run.memory)


def candidates_in_memory(method: Method, features: pa.Table) -> tuple[Numbers, Numbers]:
    """Candidate pairs among features that are all in memory."""
    if (searches := searcher(method)) is not None:
        found = MemoryParts.of([_search(searches, features)])
        return _chosen(method, found, len(features))
    batches = features.to_batches()
    starts = np.cumsum([0, *(batch.num_rows for batch in batches)])
    keys = [
        _numbered(method.row_keys(batch), np.arange(start, start + batch.num_rows))
        for start, batch in zip(starts[:-1].tolist(), batches, strict=True)
    ]
    return _chosen(method, MemoryParts.of([_pairs(method, keys)]), len(features))


def _search(method: Searches, features: pa.Table) -> pa.RecordBatch:
    """What the method finds, and identical pages, which it may have too little text to find."""
    identical = [identity_pairs(batch) for batch in features.combine_chunks().to_batches()]
    pairs = pa.concat_batches([method.search(features), *identical])
    return in_order_of_keys(_sharing(pairs["left"].to_numpy(), pairs["right"].to_numpy()))


def _keys(
    method: Method, features: Features, batches: Sequence[int], in_order: bool
) -> pa.RecordBatch:
    """The keys of some batches of features, by page number."""
    keys = []
    for batch in batches:
        keys.append(_numbered(method.row_keys(features.batches[batch]), features.numbers[batch]))
        features.release(batch)
    joined = keys[0] if len(keys) == 1 else pa.concat_batches(keys)
    return in_order_of_keys(joined) if in_order else joined


def _numbered(row_keys: tuple[Numbers, Hashes], pages: Numbers) -> pa.RecordBatch:
    """Keys by page number instead of row."""
    rows, keys = row_keys
    return pa.record_batch([pages[rows], keys], schema=KEYS)


def _pairs(method: Method, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """The pairs that share a key, packed and in order, and how many keys they share."""
    rows, keys = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
    for batch in batches:
        rows.append(batch["row"].to_numpy())
        keys.append(batch["key"].to_numpy())
    source = method.candidate_source
    if isinstance(source, SharedKeys) and source.decisive:
        return _sharing(*pairs_with_first(_joined(rows), _joined(keys)))
    return _sharing(*pairs_sharing_keys(_joined(rows), _joined(keys)))


def _sharing(left: Numbers, right: Numbers, shared: Numbers | None = None) -> pa.RecordBatch:
    """Pairs as a number each, with how many keys they share; one, where that does not matter."""
    shared = np.ones(left.size, np.int64) if shared is None else shared
    return pa.record_batch([packed(left, right).view(np.uint64), shared], schema=COUNTS)


def _chosen(
    method: Method, pairs: Parts, rows: int, memory: int = sys.maxsize
) -> tuple[Numbers, Numbers]:
    """The pairs worth judging, each once, in order; those of some rows at a time, as memory allows.

    Pairs by chance may be twenty times as many as are worth judging.
    """
    size = sum(part.rows for part in pairs.listed) * 4 * KEY_BYTES
    ranges = (_added_up(pairs.each_range(*each)) for each in row_ranges(rows, size, memory))
    source = method.candidate_source
    if isinstance(source, SharedKeys) and source.max_single_key_pairs is not None:
        return unpacked(worth_judging(ranges, rows, source.max_single_key_pairs))
    return unpacked(np.concatenate([every for every, _ in ranges]))


def _added_up(batches: Iterable[pa.RecordBatch]) -> tuple[Numbers, Numbers]:
    """The pairs of all batches, each once, with the sum of its shared keys."""
    every, shares = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for batch in batches:
        every.append(batch["key"].to_numpy().view(np.int64))
        shares.append(batch["count"].to_numpy())
    return added_up(_joined(every), _joined(shares))


def _joined(parts: list[NDArray[Number]]) -> NDArray[Number]:
    """All numbers as one array; the list is emptied, to free the memory of its parts."""
    numbers = np.concatenate(parts)
    parts.clear()
    return numbers
