"""What a method is: three steps over Arrow batches, and what it declares.

1. `features(pages)`: what is remembered of each page, one row per page, in the order of the pages.
2. `keys(features)`: 64-bit blocking keys; pages that share a key are candidates.
3. `judge(rows, left, right)`: the verdict on pairs of pages, by their row numbers.

Everything else (reading, pairing, clustering, keeping, storing, distributing) is written once, in
terms of these three. A method declares how its candidates are found (`candidate_source`), how its
pairs join (`joins`, `joining`) and which text of a page it reads (`default_view`, see
`text.views`). Three optional steps are for methods that need more:

* `Surveys.survey`: counts over all pages that `features` needs, such as document frequencies.
* `Searches.search`: an exact way of its own to find candidates.
* `Assigns.assign`: a decision against a growing state, page by page in the order of (time, id),
  instead of keys and candidates.

A method holds its options and its view and nothing else: the same pages give the same verdicts in
any batch size, order or engine. docs/methods/writing-a-method.md writes one in thirty lines.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, final, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.arrays import FeatureRows, Hashes, booleans, list_array, one_batch
from neardup.errors import UsageError
from neardup.kernels.identity import NEITHER
from neardup.methods import identical
from neardup.model import Relation
from neardup.schemas import ASSIGNED, KEYS, PAGES, PAIRS, VERDICTS
from neardup.text.sites import BlockCounts, SiteCounts, Survey
from neardup.text.views import VIEW_COLUMNS, View, view_lines, view_pages

Numbers = NDArray[np.int64]
PairFinder = Callable[[int, int], tuple[Numbers, Numbers]]

PAIRS_AT_ONCE = 4_000_000  # compared in one go by a method that compares all pairs


@dataclass(frozen=True)
class SharedKeys:
    """Candidates are the pages that share a key.

    `decisive`: sharing a key is the verdict, so a group of n pages needs n - 1 pairs only.
    `max_single_key_pairs`: where near pages share many keys, pairs that share only one are mostly
    chance, and their number grows with the square of the pages. This many of them are kept for a
    page, on either side; None keeps all.
    """

    decisive: bool = False
    max_single_key_pairs: int | None = None


@dataclass(frozen=True)
class OwnSearch:
    """Candidates are what `Searches.search` finds over the features of all pages.

    `exhaustive`: the keys rule out nothing, so at crawl time a page is compared with every other.
    """

    exhaustive: bool = False


@dataclass(frozen=True)
class InOrder:
    """There are no candidates: `Assigns.assign` places each page against what came before."""


CandidateSource = SharedKeys | OwnSearch | InOrder


class Joining(StrEnum):
    """How verified pairs become clusters."""

    COMPONENTS = "components"  # whatever is connected
    CENTRES = "centres"  # every member is close to one page of its cluster
    REPOSITORY = "repository"  # every member duplicates the kept page; decided in order


class SurveyResults(NamedTuple):
    """What was counted over all pages before their features are computed."""

    sites: Survey | None = None  # what sites repeat: for the view `own`
    corpus: Survey | None = None  # what `Surveys.survey` counts


NOTHING_SURVEYED = SurveyResults()


class Method(ABC):
    """A way to find duplicates. Subclasses declare what they are and fill in the steps."""

    name: ClassVar[str]
    paper: ClassVar[str]  # its authors or origin, short enough for a table
    languages: ClassVar[str]  # which pages it is for, in words
    cost: ClassVar[str]  # how its work grows, in words
    Options: ClassVar[type]  # a frozen dataclass; see `neardup.config`
    paper_preset: ClassVar[Mapping[str, object]] = {}  # options that give the paper's rule
    threshold_option: ClassVar[str] = "threshold"  # its least similarity of near pages, if any
    default_view: ClassVar[View] = View.WHOLE
    paper_view: ClassVar[View | None] = None  # of the paper preset, if it is not the default
    view_option: ClassVar[str | None] = None  # an older option that chose between own and main
    page_columns: ClassVar[Sequence[str] | None] = None  # of `schemas.PAGES`, that it reads; all
    rebuilt_columns: ClassVar[Sequence[str]] = ()  # features that `rebuild` makes of the text
    joins: ClassVar[frozenset[Relation]] = frozenset({Relation.SAME, Relation.NEAR})

    def __init__(self, options: Any = None, view: View | None = None) -> None:
        self.options: Any = options if options is not None else self.Options()
        self.view = view or self.default_view

    @property
    def joining(self) -> Joining:
        """How its pairs become clusters: as its option `joining` says, if it has one."""
        return Joining(getattr(self.options, "joining", Joining.COMPONENTS))

    @property
    def candidate_source(self) -> CandidateSource:
        """How candidates are found."""
        return SharedKeys()

    @property
    def site_counts(self) -> SiteCounts | None:
        """How to count what sites repeat; None if the view does not need it."""
        return BlockCounts() if self.view is View.OWN else None

    @property
    def surveys(self) -> Surveys | None:
        """This method, if its features need counts over all pages."""
        # Checking the protocol itself would take as long as a query to the store.
        return self if hasattr(self, "survey") else None

    @property
    def columns(self) -> Sequence[str]:
        """The columns of `schemas.PAGES` that counting and `describe` read."""
        if self.page_columns is None:
            return list(PAGES.names)
        viewed = () if self.view is View.WHOLE else VIEW_COLUMNS
        return list(dict.fromkeys([*self.page_columns, *viewed, *identical.READS]))

    # The steps

    @property
    @abstractmethod
    def feature_schema(self) -> pa.Schema:
        """The schema of the features."""

    @abstractmethod
    def features(self, pages: pa.RecordBatch, surveyed: SurveyResults) -> pa.RecordBatch:
        """What is remembered of each page (`schemas.PAGES` in, one row per page out).

        The pages have only the lines of the view; `describe` is for pages as they were parsed.
        """

    @abstractmethod
    def decidable(self, features: pa.RecordBatch) -> pa.BooleanArray:
        """Which pages have enough text for a verdict; the others are undecided."""

    @abstractmethod
    def keys(self, features: pa.RecordBatch) -> pa.RecordBatch:
        """Blocking keys (`schemas.KEYS`), `row` counting within this batch."""

    @abstractmethod
    def judge(
        self, rows: FeatureRows, left: Numbers, right: Numbers, *, evidence: bool = True
    ) -> pa.RecordBatch:
        """The verdict (`schemas.VERDICTS`) on each pair of rows.

        Without `evidence` that column may be missing, where leaving it out saves work.
        """

    def shells(self, features: pa.RecordBatch) -> NDArray[np.bool_]:
        """Which pages are shells, whose own text did not arrive, besides those that
        `identical.shells` recognises."""
        return np.zeros(features.num_rows, np.bool_)

    def same_host_group(self, features: pa.RecordBatch) -> NDArray[np.uint64]:
        """A number that pages from one template of a host share; 0 for other pages. With
        `Joining.CENTRES`, two such pages share a cluster only if they are close to each other."""
        return np.zeros(features.num_rows, np.uint64)

    def decidable_rows(self, features: pa.RecordBatch | pa.Table) -> Numbers:
        """The rows of the pages with enough text for a verdict."""
        return np.flatnonzero(booleans(self.decidable(features)))

    # The view

    def viewed(self, pages: pa.RecordBatch, surveyed: SurveyResults) -> pa.RecordBatch:
        """Pages with only the lines of the view."""
        return view_pages(pages, self.view, surveyed.sites)

    def line_weights(
        self,
        pages: pa.RecordBatch,
        surveyed: SurveyResults = NOTHING_SURVEYED,
        *,
        same_host: bool = False,
    ) -> pa.ListArray:
        """How much each line of pages as they were parsed counts, from 0 (left out) to 1.

        For people who look at two pages; verdicts do without. `same_host`: next to a page of the
        same host, which may make a difference.
        """
        lines = view_lines(pages, self.view, surveyed.sites)
        weights = np.zeros(len(lines.every))
        weights[lines.numbers] = 1.0
        return list_array(weights, lines.offsets)

    def describe(
        self, pages: pa.RecordBatch, surveyed: SurveyResults = NOTHING_SURVEYED
    ) -> pa.RecordBatch:
        """What engines remember of pages as they were parsed (`row_schema`)."""
        features = self.features(self.viewed(pages, surveyed), surveyed)
        return self.with_identity(features.columns, identical.identity_columns(pages))

    def rebuild(self, pages: pa.RecordBatch, features: pa.RecordBatch) -> list[pa.Array]:
        """The `rebuilt_columns` of pages as they were parsed, from their texts and other features.

        A store that keeps texts does not need to keep these columns.
        """
        del pages, features
        return []

    # What engines call: the steps, after the rule that identical pages are the same

    @final
    @cached_property
    def row_schema(self) -> pa.Schema:
        """The schema of described pages: the features, and the columns that identify a page."""
        return pa.schema([*self.feature_schema, *identical.COLUMNS])

    @final
    def with_identity(
        self, features: Sequence[pa.Array], columns: Sequence[pa.Array]
    ) -> pa.RecordBatch:
        """The columns of features followed by `identical.identity_columns`."""
        return pa.record_batch([*features, *columns], schema=self.row_schema)

    @final
    @cached_property
    def stored_schema(self) -> pa.Schema:
        """`row_schema` without the columns that can be rebuilt."""
        return pa.schema([f for f in self.row_schema if f.name not in self.rebuilt_columns])

    @final
    def with_rebuilt(self, stored: pa.RecordBatch, pages: pa.RecordBatch) -> pa.RecordBatch:
        """What `describe` gave, from what a store keeps of it and the pages."""
        rebuilt = dict(zip(self.rebuilt_columns, self.rebuild(pages, stored), strict=True))
        names = self.row_schema.names
        columns = [rebuilt[name] if name in rebuilt else stored[name] for name in names]
        return pa.record_batch(columns, schema=self.row_schema)

    @final
    def row_keys(self, rows: pa.RecordBatch) -> tuple[Numbers, Hashes]:
        """The blocking keys of described pages, each after its row; identical pages share some."""
        keys = self.keys(rows)
        own = (keys[name].to_numpy() for name in ("row", "key"))
        both = zip(own, identical.identity_keys(rows), strict=True)
        of_rows, numbers = (np.concatenate(each) for each in both)
        return of_rows.astype(np.int64, copy=False), numbers.astype(np.uint64, copy=False)

    @final
    def relate(
        self, rows: FeatureRows, left: Numbers, right: Numbers, *, evidence: bool = True
    ) -> pa.RecordBatch:
        """The verdict on each pair of described pages: by the rule if they are identical, otherwise
        by `judge`."""
        kinds = identical.identical_in(rows, left, right)
        if not kinds.any():
            return self.judge(rows, left, right, evidence=evidence)
        open_ = kinds == NEITHER
        judged = self.judge(rows, left[open_], right[open_], evidence=evidence)
        return identical.with_identical(judged, kinds)


@runtime_checkable
class Surveys(Protocol):
    """A method whose features depend on counts over all pages."""

    def survey(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        """Keys and counts (`schemas.COUNTS`) of these pages; equal keys are added up."""


class Searches(Protocol):
    """A method that finds its candidates itself (`OwnSearch`)."""

    def search(self, features: pa.Table) -> pa.RecordBatch:
        """Pairs of rows (`schemas.PAIRS`), each once, left < right, over the features of all pages.

        The pages of every pair share a key, so that distributed engines can search among the pages
        of each key.
        """


class State(Protocol):
    """What a method that decides in order remembers: named maps, in memory or in a store.

    Keys and values are plain data (text, numbers, and lists of those), so that a store can keep
    them; a value is replaced by assignment, never changed in place.
    """

    def map(self, name: str) -> MutableMapping[str, Any]:
        """The map of that name, empty at first."""


class MemoryState:
    """A state that lasts as long as the process."""

    def __init__(self) -> None:
        self._maps: dict[str, dict[str, Any]] = {}

    def map(self, name: str) -> MutableMapping[str, Any]:
        """The map of that name, empty at first."""
        return self._maps.setdefault(name, {})


class Assigns(Protocol):
    """A method that places each page against what it has seen so far (`InOrder`)."""

    def assign(self, ids: pa.Array, features: pa.RecordBatch, state: State) -> pa.RecordBatch:
        """For each page, in turn, the earlier page it duplicates (`schemas.ASSIGNED`).

        The rows come in the order of (time, id); `state` holds what earlier calls have seen.
        """


def searcher(method: Method) -> Searches | None:
    """The method, if it finds its candidates itself."""
    return method if isinstance(method.candidate_source, OwnSearch) else None  # type: ignore[return-value]


def assigner(method: Method) -> Assigns | None:
    """The method, if it decides page by page, in order."""
    return method if isinstance(method.candidate_source, InOrder) else None  # type: ignore[return-value]


# What the steps give


def key_batch(rows: Numbers, keys: NDArray[np.uint64]) -> pa.RecordBatch:
    """Blocking keys from their two columns."""
    return pa.record_batch([rows, keys], schema=KEYS)


def pair_batch(left: Numbers, right: Numbers) -> pa.RecordBatch:
    """Candidate pairs from their two columns."""
    return pa.record_batch([left, right], schema=PAIRS)


def verdicts(
    relations: Iterable[Relation],
    similarities: Iterable[float | None],
    evidence: Iterable[Mapping[str, object]],
) -> pa.RecordBatch:
    """A batch of verdicts from plain columns; each evidence has its "why" in words."""
    return pa.record_batch(
        [
            pa.array([str(relation) for relation in relations], pa.string()),
            pa.array(similarities, pa.float64()),
            pa.array([evidence_json(each) for each in evidence], pa.string()),
        ],
        schema=VERDICTS,
    )


# The relation, similarity and evidence; an assignment begins with the earlier page, if any.
PairVerdict = tuple[Relation, float | None, Mapping[str, object]]
Assignment = tuple[str | None, Relation, float | None, Mapping[str, object]]


def verdict_batch(pairs: Iterable[PairVerdict]) -> pa.RecordBatch:
    """A batch of verdicts from one row per pair."""
    columns = list(zip(*pairs, strict=True)) or [(), (), ()]
    return verdicts(*columns)


def assigned_batch(pages: Iterable[Assignment]) -> pa.RecordBatch:
    """What `Assigns.assign` returns, from one row per page."""
    matches, *columns = list(zip(*pages, strict=True)) or [(), (), (), ()]
    joined = pa.array(matches, pa.string())
    return pa.record_batch([joined, *verdicts(*columns).columns], schema=ASSIGNED)


_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def evidence_json(evidence: Mapping[str, object]) -> str:
    """One line of JSON, the same bytes for the same evidence."""
    return _ENCODER.encode(evidence)


class AllPairsMethod(Method):
    """A method that compares every pair of pages, and refuses more of them than its option says."""

    default_view = View.OWN
    paper_view = View.WHOLE
    candidate_source = OwnSearch(exhaustive=True)

    @abstractmethod
    def pair_finder(self, pages: pa.RecordBatch) -> PairFinder:
        """A function that finds the pairs (i, j) to judge, first <= i < last and i < j, of rows of
        `pages`, all of them decidable."""

    def search(self, features: pa.Table) -> pa.RecordBatch:
        """The pairs of all decidable pages, in blocks of rows."""
        batch = one_batch(features)
        rows = self.decidable_rows(batch)
        check_page_count(self.name, rows.size, self.options.maximum_pages)
        find = self.pair_finder(batch.take(pa.array(rows)))
        step = max(1, PAIRS_AT_ONCE // max(1, rows.size))
        starts = range(0, rows.size, step)
        blocks = [np.column_stack(find(first, min(first + step, rows.size))) for first in starts]
        left, right = rows[np.concatenate([np.empty((0, 2), np.int64), *blocks])].T
        return pair_batch(left.copy(), right.copy())


def check_page_count(method: str, pages: int, maximum_pages: int) -> None:
    """Refuse more pages than a method that compares all pairs can handle in reasonable time."""
    if pages > maximum_pages:
        raise UsageError(
            f"{method} compares all pairs, and {pages} pages are more than its maximum_pages of "
            f"{maximum_pages}; raise it (the time grows with the square) or use another method"
        )
