"""What a method is: three pure steps over Arrow batches, and the registry of methods by name.

1. `features(pages)`: what is remembered of a page; one row a page, in the pages' order.
2. `keys(features)`: 64-bit blocking keys; pages that share a key are candidates.
3. `judge(left, right)`: the verdict on candidate pairs, row by row of two feature batches.

Everything else (reading, grouping, clustering, keeping, storing, distributing) is written once
over these three. What they cannot say, a method says with an optional step:

* `Surveys.survey`: counts over all pages that `features` needs (lines of a host, words of a
  corpus). The engine adds them up and hands them to `features`.
* `KnowsSites.sites`: which pages are counted together, for an index that surveys as pages come.
* `ProposesCandidates.candidates`: its own exact way to find candidates.
* `JudgesInPlace.judge_in_place`: the same verdicts as `judge`, on rows where they stand, for a
  method whose features are costly to put side by side.
* `ClustersAroundCentres.sisters`: clusters are to be split where they stretch.
* `DecidesInOrder.assign`: a decision against a growing state, page by page in the order of
  (time, id). It takes the place of keys and candidates.

A method holds its options and nothing else: the same pages give the same answer in any batch
size, order or engine.

The limit of methods that have no way around looking at every pair.
"""

from __future__ import annotations

import importlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.config import build_options
from neardup.errors import UsageError
from neardup.kernels.site import count_table
from neardup.model import Relation
from neardup.schemas import VERDICTS


class Method(ABC):
    """A way to tell duplicates. Subclasses name themselves and fill in the three steps."""

    name: ClassVar[str]
    paper: ClassVar[str]  # whom it is from, short enough for a table
    languages: ClassVar[str]  # which pages it is for, in words
    cost: ClassVar[str]  # how its work grows, in words
    Options: ClassVar[type]  # a frozen dataclass; see neardup.config
    paper_preset: ClassVar[
        Mapping[str, object]
    ] = {}  # options that give the paper's rule as printed
    joins: ClassVar[frozenset[Relation]] = frozenset({Relation.SAME, Relation.NEAR})
    transitive: ClassVar[bool] = False  # a shared key is the verdict: one pair a page will do
    # Where near pages share many keys: how many pairs with one shared key a page may be in, at most
    # (on either side of them). Such pairs grow with the square of the pages. None: all are judged.
    chance_pairs: ClassVar[int | None] = None
    compares_all: ClassVar[bool] = False  # its keys rule out nothing: a page is compared with all
    surveys_all: ClassVar[bool] = False  # its survey is of all pages, not of the pages of a site

    # The columns of `schemas.PAGES` that `features` and `survey` read; None: any of them.
    page_columns: ClassVar[Sequence[str] | None] = None

    def __init__(self, options: Any = None) -> None:
        self.options: Any = options if options is not None else self.Options()

    @property
    @abstractmethod
    def feature_schema(self) -> pa.Schema:
        """The schema of what `features` gives."""

    @abstractmethod
    def features(self, pages: pa.RecordBatch, survey: Survey | None = None) -> pa.RecordBatch:
        """What is remembered of each page (`schemas.PAGES` in, one row a page out).

        `survey` is there for a method that `Surveys`, and for no other.
        """

    @abstractmethod
    def decidable(self, features: pa.RecordBatch) -> pa.BooleanArray:
        """Which pages have enough text for a verdict; the others are undecided, also alone."""

    @abstractmethod
    def keys(self, features: pa.RecordBatch) -> pa.RecordBatch:
        """Blocking keys (`schemas.KEYS`), `row` counting within this batch."""

    @abstractmethod
    def judge(self, left: pa.RecordBatch, right: pa.RecordBatch) -> pa.RecordBatch:
        """The verdict (`schemas.VERDICTS`) on each pair of rows."""


@dataclass(frozen=True)
class Survey:
    """Counts over all pages by 64-bit key, as a method's `survey` step gave and named them.

    Only keys counted more than once are here: whoever asks for a key has it, so it counts once.
    """

    pages: int
    keys: NDArray[np.uint64]  # sorted, each once
    counts: NDArray[np.int64]

    @cached_property
    def table(self) -> tuple[NDArray[np.uint32], NDArray[np.uint64], NDArray[np.int64]]:
        """The counts as the table that kernels look up (`kernels.site.count_table`)."""
        return count_table(self.keys, self.counts)

    def count(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The count of each key, at least 1."""
        if self.keys.size == 0:
            return np.ones(keys.size, np.int64)
        place = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        return np.where(self.keys[place] == keys, self.counts[place], 1)


@runtime_checkable
class Surveys(Protocol):
    """A method whose features depend on what the other pages hold."""

    def survey(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        """Keys and counts (`schemas.COUNTS`) of these pages; equal keys are added up."""


@runtime_checkable
class AsksSurvey(Protocol):
    """A method whose features look up keys that its pages do not count themselves.

    For an engine that hands each batch only the counts it needs; without this step, those are the
    counts of the keys that `survey` gives for the batch.
    """

    def asked(self, pages: pa.RecordBatch) -> NDArray[np.uint64]:
        """Every key that the features of these pages look up, each once."""


@runtime_checkable
class KnowsSites(Protocol):
    """A method that surveys, and tells pages that are made alike in more ways than by host."""

    def sites(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        """The sites each page belongs to (`schemas.KEYS`): what it counts with in a survey."""


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


@runtime_checkable
class DecidesInOrder(Protocol):
    """A method that places each page against what it has seen so far."""

    def assign(self, ids: pa.Array, features: pa.RecordBatch, state: State) -> pa.RecordBatch:
        """For each page, in turn, the earlier page it duplicates (`schemas.ASSIGNED`).

        The rows come in the order of (time, id); `state` holds what earlier calls have seen.
        """


@runtime_checkable
class ClustersAroundCentres(Protocol):
    """A method whose clusters must not stretch: every member is close to one page of its cluster.

    Without this step, whatever the method calls a duplicate joins.
    """

    def sisters(self, features: pa.RecordBatch) -> NDArray[np.uint64]:
        """A number for pages that are made alike (by one host): two pages with the same number
        may be in a cluster only if they are close to each other. 0: nobody's sister."""


class Places(NamedTuple):
    """Rows of some feature batches: the number of the batch and of the row in it."""

    batches: NDArray[np.int32]
    rows: NDArray[np.int32]


@runtime_checkable
class JudgesInPlace(Protocol):
    """A method that reads the features of a pair where they stand; nothing is copied for it."""

    def judge_in_place(
        self, batches: Sequence[pa.RecordBatch], left: Places, right: Places
    ) -> pa.RecordBatch:
        """What `judge` says (`schemas.VERDICTS`) of each pair of rows."""

    def relate_in_place(
        self, batches: Sequence[pa.RecordBatch], left: Places, right: Places
    ) -> pa.RecordBatch:
        """The same without the evidence (`schemas.RELATED`)."""


@runtime_checkable
class ProposesCandidates(Protocol):
    """A method that finds its candidates itself, over the features of all pages."""

    def candidates(self, features: pa.Table) -> pa.RecordBatch:
        """Pairs of rows (`schemas.PAIRS`), each once, left < right."""


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


_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def evidence_json(evidence: Mapping[str, object]) -> str:
    """One line of JSON, the same bytes for the same evidence."""
    return _ENCODER.encode(evidence)


# name -> module and class. A method's module is imported only when the method is asked for.
REGISTRY: Mapping[str, tuple[str, str]] = {
    "own-text": ("neardup.methods.own_text.method", "OwnText"),
    "edit-distance": ("neardup.methods.edit_distance", "EditDistance"),
    "two-phase": ("neardup.methods.two_phase", "TwoPhase"),
    "news-clusters": ("neardup.methods.news_clusters", "NewsClusters"),
    "word-table": ("neardup.methods.word_table", "WordTable"),
    "feature-code": ("neardup.methods.feature_code", "FeatureCode"),
    "exact": ("neardup.methods.exact", "Exact"),
    "simhash": ("neardup.methods.simhash", "Simhash"),
    "minhash": ("neardup.methods.minhash", "Minhash"),
    "supershingle": ("neardup.methods.supershingle", "Supershingle"),
    "i-match": ("neardup.methods.i_match", "IMatch"),
    "spotsigs": ("neardup.methods.spotsigs", "SpotSigs"),
    "chunk-hash": ("neardup.methods.chunk_hash", "ChunkHash"),
}


def method_class(name: str) -> type[Method]:
    """The class of a method, or an error that lists the names there are."""
    try:
        module, attribute = REGISTRY[name]
    except KeyError:
        known = ", ".join(REGISTRY)
        raise UsageError(f"unknown method {name!r}; there are: {known}") from None
    found: type[Method] = getattr(importlib.import_module(module), attribute)
    return found


def make_method(
    name: str, values: Mapping[str, object] | None = None, *, preset: str = "default"
) -> Method:
    """A method with its options: the preset's, overridden by `values`."""
    cls = method_class(name)
    if preset not in ("default", "paper"):
        raise UsageError(f"unknown preset {preset!r}; there are: default, paper")
    if preset == "paper" and not cls.paper_preset:
        raise UsageError(f"{name} has no paper preset: its default is its rule")
    base = cls.paper_preset if preset == "paper" else {}
    return cls(build_options(cls.Options, {**base, **(values or {})}, owner=name))


def check_page_count(method: str, pages: int, maximum_pages: int) -> None:
    """Refuse a run that would take a time nobody asked for."""
    if pages > maximum_pages:
        raise UsageError(
            f"{method} looks at all pairs, and {pages} pages are more than its maximum_pages of "
            f"{maximum_pages}; raise it (the time grows with the square) or take another method"
        )
