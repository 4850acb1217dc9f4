"""What the index answers: frozen records for people and programs.

`planned_answers` makes them from the plan of a batch, `stored_answers` from what is stored.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from neardup.index.features import PageFeatures, stored_features
from neardup.index.names import NONE
from neardup.index.plan import Plan
from neardup.methods.base import Method
from neardup.model import Relation
from neardup.stores.records import Edge, PageRow
from neardup.stores.session import Session


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether a page is new or a duplicate, and of which page.

    A page is a duplicate if its cluster had members when it arrived; `of` is the member closest to
    it. A page that is not a duplicate may still contain, be contained in or overlap another page:
    then `of`, `relation` and `similarity` say which. The relation is that of this page to `of`.
    """

    id: str
    duplicate: bool
    cluster: str | None  # None only if a query finds that the page would be new
    of: str | None = None
    relation: Relation | None = None
    similarity: float | None = None
    evidence: dict[str, Any] = field(default_factory=dict)
    known: bool = False  # the page was already in the index, with the same content
    replaced: bool = False  # the page was in the index with other content, which it replaces
    refused: str | None = None  # why the store rejected the page, which is then not in the index

    def as_data(self) -> dict[str, Any]:
        """What a program needs to act on the answer, as plain values."""
        return {
            "duplicate": self.duplicate,
            "of": self.of,
            "cluster": self.cluster,
            "relation": None if self.relation is None else str(self.relation),
            "similarity": self.similarity,
            "replaced": self.replaced,
        }


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a cluster.

    kinds: created, joined, left (for `other`), removed (from the index), merged (into `other`),
    split (from `other`), kept (the page stands for the cluster from now on).
    """

    at: datetime
    cluster: str
    kind: str
    page: str = ""
    other: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """An event with its number in the history of all clusters; numbers only grow."""

    number: int
    at: datetime
    cluster: str
    kind: str
    page: str
    other: str | None


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes in order. Ask again with `next` as `since`; if `more`, there are some already."""

    changes: list[Change]
    next: int
    more: bool


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page that the index holds, without its text."""

    id: str
    url: str
    host: str
    title: str
    cluster: str
    time: datetime | None
    added: datetime
    seen: datetime
    size: int
    length: int
    undecided: bool


@dataclass(frozen=True, slots=True)
class ClusterSummary:
    """A cluster as lists show it."""

    name: str
    size: int
    created: datetime
    changed: datetime
    kept: str  # the page that stands for it
    title: str


@dataclass(frozen=True, slots=True)
class Feedback:
    """A person's decision on a pair; `a` < `b`."""

    a: str
    b: str
    duplicate: bool
    at: datetime
    note: str = ""


@dataclass(frozen=True, slots=True)
class Rechecked:
    """The result of a recheck."""

    pages: int
    pairs: int
    moved: int  # pages that are in another cluster now


def cluster_name(cluster: int) -> str:
    """The public name of a cluster: c1, c2 ..."""
    return f"c{cluster}"


def cluster_number(name: str) -> int | None:
    """The number behind a cluster name; None if the name cannot be one."""
    digits = name.removeprefix("c")
    return int(digits) if digits.isdecimal() and digits.isascii() and len(digits) < 19 else None


def moment(micros: int) -> datetime:
    """A stored time as a datetime."""
    return datetime.fromtimestamp(micros / 1e6, UTC)


def micros(when: datetime) -> int:
    """A time as it is stored, in microseconds; without a time zone it is taken as UTC."""
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1e6)


def now() -> int:
    """The current time as it is stored."""
    return time.time_ns() // 1000


def planned_answers(
    method: Method, session: Session, plan: Plan, clusters: Mapping[int, int]
) -> dict[str, Answer]:
    """The answers on the new pages of a plan, by id; `clusters` maps pages to their new cluster."""
    group_of = {page: group for group in plan.groups for page in group}
    edges_of: dict[int, list[Edge]] = {number: [] for number in plan.fresh}
    for edge in plan.edges:
        for end in (edge.a, edge.b):
            if end in edges_of:
                edges_of[end].append(edge)
    missing = {end for edge in plan.edges for end in (edge.a, edge.b)} - plan.rows.keys()
    rows = {**session.pages(sorted(missing)), **plan.rows}
    cluster_of = {number: clusters.get(number, row.cluster) for number, row in rows.items()}
    matches = []
    for number in plan.fresh:
        row = rows[number]._replace(cluster=cluster_of[number])
        beside = {edge.other(number) for edge in edges_of[number]}
        members = {each for each in beside if cluster_of[each] == row.cluster != NONE}
        matches.append(_match(method, row, members.union(group_of[number]), edges_of[number]))
    pairs = {match.edge[:2] for match in matches if match.edge is not None}
    if unknown := sorted(pairs - plan.evidence.keys()):
        left, right = zip(*unknown, strict=True)
        judged = plan.features.judge(left, right)["evidence"].to_pylist()
        plan.evidence |= zip(unknown, judged, strict=True)
    return _answers(matches, rows, plan.features, plan.evidence)


def stored_answers(method: Method, session: Session, pages: Sequence[PageRow]) -> dict[str, Answer]:
    """The answers on stored pages, as they were when the pages arrived, by id."""
    if not pages:
        return {}
    edges_of: dict[int, list[Edge]] = {row.number: [] for row in pages}
    for edge in session.edges(sorted(edges_of)):
        for end in {edge.a, edge.b} & edges_of.keys():
            edges_of[end].append(edge)
    firsts = session.firsts_of(sorted({row.cluster for row in pages}))
    others = {end for edges in edges_of.values() for edge in edges for end in (edge.a, edge.b)}
    rows = session.pages(sorted(others.union(firsts.values())))
    matches = []
    for row in pages:
        beside = {edge.other(row.number) for edge in edges_of[row.number]}
        members = [each for each in beside if rows[each].cluster == row.cluster]
        first = firsts.get(row.cluster, row.number)
        matches.append(_match(method, row, [first, *members], edges_of[row.number]))
    answers = _answers(matches, rows, stored_features(method, session), {})
    return {name: replace(answer, known=True) for name, answer in answers.items()}


class _Match(NamedTuple):
    """The page that another one duplicates, or is closest to."""

    row: PageRow
    duplicate: bool
    other: int | None  # None if the page has nothing in common with any earlier one
    edge: Edge | None  # the stored or planned pair, if there is one


def _match(method: Method, row: PageRow, members: Iterable[int], edges: Sequence[Edge]) -> _Match:
    earlier = {number for number in members if number < row.number}
    before = [edge for edge in edges if edge.other(row.number) < row.number]
    joined = [edge for edge in before if edge.other(row.number) in earlier]
    joined = [edge for edge in joined if edge.relation in method.joins] or joined
    known = joined if earlier else before
    if known:
        best = min(known, key=lambda edge: (-edge.closeness, edge.other(row.number)))
        return _Match(row, bool(earlier), best.other(row.number), best)
    return _Match(row, bool(earlier), min(earlier, default=None), None)


def _answers(
    matches: Sequence[_Match],
    rows: Mapping[int, PageRow],
    features: PageFeatures,
    evidence: Mapping[tuple[int, int], str],
) -> dict[str, Answer]:
    """The answers by id. Pairs without evidence are judged, all in one call."""
    pairs = [(match.row.number, match.other) for match in matches if match.other is not None]
    known = {match.row.number for match in matches if match.edge and match.edge[:2] in evidence}
    unknown = [pair for pair in pairs if pair[0] not in known]
    judged: dict[int, dict[str, Any]] = {}
    if unknown:
        left, right = zip(*unknown, strict=True)
        judged = dict(zip(left, features.judge(left, right).to_pylist(), strict=True))
    return {
        match.row.id: _answer(match, rows, judged.get(match.row.number), evidence)
        for match in matches
    }


def _answer(
    match: _Match,
    rows: Mapping[int, PageRow],
    judged: Mapping[str, Any] | None,
    evidence: Mapping[tuple[int, int], str],
) -> Answer:
    row, edge = match.row, match.edge
    name = cluster_name(row.cluster) if row.cluster != NONE else None
    if match.other is None:
        relation = None if row.decidable else Relation.UNDECIDED
        reason = {} if row.decidable else {"why": "too little text to tell"}
        return Answer(row.id, False, name, None, relation, None, reason)
    if edge is not None:
        relation, similarity = _relation_of(edge, row.number), edge.similarity
        why = judged["evidence"] if judged is not None else evidence[edge.a, edge.b]
    else:
        assert judged is not None
        relation, similarity = Relation(judged["relation"]), judged["similarity"]
        why = judged["evidence"]
    other = rows[match.other].id
    return Answer(row.id, match.duplicate, name, other, relation, similarity, json.loads(why))


def _relation_of(edge: Edge, number: int) -> Relation:
    relation = Relation(edge.relation)
    return relation if edge.a == number else relation.reverse
