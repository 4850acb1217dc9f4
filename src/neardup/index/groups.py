"""Clusters around the pages that have changed, by the same rule as in a batch.

Pages that verified pairs connect, directly or through others, are clustered together anew. What
comes out is a function of those pages and pairs: the order in which pages came does not matter.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xxhash
from numpy.typing import NDArray

from neardup.kernels.grouping import connected_components
from neardup.methods.base import ClustersAroundCentres, Method
from neardup.rules.clusters import APART, centred_clusters
from neardup.stores.records import Edge, PageRow
from neardup.stores.session import Session

MOST_PAGES = 200  # in a group that is clustered anew; a page just joins a greater one

Pairs = set[tuple[int, int]]
Judge = Callable[[Sequence[int], Sequence[int]], list[tuple[str, float | None]]]


@dataclass(frozen=True)
class Said:
    """What people said of pairs of pages, by number, smaller first."""

    together: Pairs
    apart: Pairs

    def joining(self, edges: Iterable[Edge], joins: frozenset[str]) -> list[Edge]:
        """The pairs that join: those that people put together, and of the others those that the
        method joins, unless people told them apart.
        """
        found = [
            edge
            for edge in edges
            if (pair := (edge.a, edge.b)) in self.together
            or (edge.relation in joins and pair not in self.apart)
        ]
        known = {(edge.a, edge.b) for edge in found}
        return found + [Edge(a, b, "near", 1.0) for a, b in sorted(self.together - known)]


@dataclass(frozen=True)
class Graph:
    """The stored pairs that join, with those of a batch in place of what it has changed."""

    session: Session
    joins: frozenset[str]
    new: Sequence[Edge]  # all pairs of the pages in `void`, as they are now
    void: set[int]  # pages whose stored pairs do not hold any more
    said: Said

    def edges(self, numbers: Iterable[int]) -> list[Edge]:
        """The pairs that join, of these pages."""
        wanted = set(numbers)
        stored = [
            edge
            for edge in self.session.edges(sorted(wanted))
            if edge.a not in self.void and edge.b not in self.void
        ]
        fresh = [edge for edge in self.new if edge.a in wanted or edge.b in wanted]
        found = self.said.joining([*stored, *fresh], self.joins)
        return [edge for edge in found if edge.a in wanted or edge.b in wanted]


def connected(graph: Graph, seeds: Iterable[int]) -> tuple[set[int], list[Edge], set[int]]:
    """All pages connected to the seeds, with their pairs; and those of them that are in groups
    of more than `MOST_PAGES`, or were not followed to their end because so many were reached.
    """
    reached: set[int] = set()
    edges: set[Edge] = set()
    frontier = set(seeds)
    most = MOST_PAGES + 2 * len(frontier)
    while frontier and len(reached) <= most:
        reached |= frontier
        found = graph.edges(frontier)
        edges.update(found)
        frontier = {end for edge in found for end in (edge.a, edge.b)} - reached
    groups = _components(reached | frontier, edges)
    great = [each for each in groups if len(each) > MOST_PAGES or not frontier.isdisjoint(each)]
    beyond = {number for group in great for number in group}
    within = sorted((edge for edge in edges if edge.a not in beyond), key=lambda e: (e.a, e.b))
    return reached - beyond, within, beyond


def _components(numbers: set[int], edges: Iterable[Edge]) -> list[set[int]]:
    ordered = sorted(numbers)
    place = {number: row for row, number in enumerate(ordered)}
    ends = np.array([(place[edge.a], place[edge.b]) for edge in edges], np.int64).reshape(-1, 2)
    labels = connected_components(len(ordered), ends[:, 0].copy(), ends[:, 1].copy())
    found: dict[int, set[int]] = {}
    for number, label in zip(ordered, labels.tolist(), strict=True):
        found.setdefault(label, set()).add(number)
    return list(found.values())


def cluster(
    method: Method,
    pages: Mapping[int, PageRow],
    edges: Sequence[Edge],
    judge: Judge,
    joins: frozenset[str],
    said: Said,
    numbered: Callable[[Sequence[str]], NDArray[np.int64]] | None = None,
) -> list[list[int]]:
    """The groups that these pages fall into, each in the order of arrival.

    `numbered` gives the pages' numbers for `centred_clusters`, where these are some of many.
    """
    numbers = sorted(pages, key=lambda number: pages[number].id)
    place = {number: row for row, number in enumerate(numbers)}
    sister = np.array([pages[number].sister for number in numbers], np.int64).view(np.uint64)
    ties = None if numbered is None else numbered([pages[number].id for number in numbers])
    edges = list(edges)
    while True:
        labels = _labels(method, numbers, place, sister, edges, judge, joins, said, ties)
        groups: dict[int, list[int]] = {}
        for number, label in zip(numbers, labels.tolist(), strict=True):
            groups.setdefault(label, []).append(number)
        rivals = _rivals(groups, said, edges)
        if not rivals:
            return [sorted(group) for group in groups.values()]
        edges = [edge for edge in edges if not {edge.a, edge.b} & rivals]  # they stand alone


def _labels(
    method: Method,
    numbers: Sequence[int],
    place: Mapping[int, int],
    sister: NDArray[np.uint64],
    edges: Sequence[Edge],
    judge: Judge,
    joins: frozenset[str],
    said: Said,
    ties: NDArray[np.int64] | None,
) -> NDArray[np.int64]:
    """For each page the smallest page of its cluster, in the order of ids."""
    ends = np.array([(place[edge.a], place[edge.b]) for edge in edges], np.int64).reshape(-1, 2)
    left, right = np.sort(ends, axis=1).T
    if not isinstance(method, ClustersAroundCentres):
        return connected_components(len(numbers), left.copy(), right.copy())
    similarity = np.array([1.0 if e.similarity is None else e.similarity for e in edges], float)

    def closeness(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.float64]:
        pairs = [(numbers[a], numbers[b]) for a, b in zip(one, other, strict=True)]
        verdicts = judge([a for a, _ in pairs], [b for _, b in pairs])
        return np.array(
            [_similarity(*each, joins, said) for each in zip(pairs, verdicts, strict=True)], float
        )

    return centred_clusters(sister, left.copy(), right.copy(), similarity, closeness, ties)


def _similarity(
    pair: tuple[int, int], verdict: tuple[str, float | None], joins: frozenset[str], said: Said
) -> float:
    ordered = (min(pair), max(pair))
    if ordered in said.together:
        return 1.0
    if ordered in said.apart or verdict[0] not in joins:
        return APART
    return 1.0 if verdict[1] is None else verdict[1]


def _rivals(groups: Mapping[int, list[int]], said: Said, edges: Sequence[Edge]) -> set[int]:
    """Of each two pages that a person has told apart and that are together: the one that goes."""
    strength: dict[int, float] = {}
    for edge in edges:
        for end in (edge.a, edge.b):
            strength[end] = strength.get(end, 0.0) + (edge.similarity or 1.0)
    leaving: set[int] = set()
    for group in map(set, groups.values()):
        for a, b in said.apart:
            if a in group and b in group and not {a, b} & leaving:
                leaving.add(min((a, b), key=lambda page: (strength.get(page, 0.0), -page)))
    return leaving


def group_pages(
    method: Method,
    session: Session,
    changed: Mapping[int, PageRow],
    edges: Sequence[Edge],
    *,
    void: set[int],
    gone: set[int],
    judge: Judge,
) -> tuple[list[list[int]], dict[int, PageRow]]:
    """The groups that changed pages and all that hangs together with them fall into.

    `edges` are the pairs of the changed pages. The stored pairs of pages in `void` do not hold
    any more; those in `gone` are no more. The rows of all pages in the groups come along.
    """
    joins = frozenset(str(relation) for relation in method.joins)
    old = session.edges(sorted(void)) if void else []
    seeds = {*changed, *(end for edge in old for end in (edge.a, edge.b))} - gone
    near = {end for edge in edges for end in (edge.a, edge.b)}
    rows = {**session.pages(sorted((near | seeds) - changed.keys())), **changed}
    graph = Graph(session, joins, edges, void, said_of(session, changed))
    great = _beside_great_clusters(session, graph, rows, seeds)
    numbers, pairs, beyond = connected(graph, seeds - great)
    rows |= session.pages(sorted(numbers - rows.keys()))
    members = {number: rows[number] for number in numbers}
    groups = cluster(method, members, pairs, judge, joins, graph.said, numbered=_by_id)
    arriving = sorted(((great | beyond) & changed.keys()) - void)  # stored pages stay
    _join_great_clusters(session, graph, rows, arriving, judge, groups)
    return groups, {number: rows[number] for group in groups for number in group}


def _beside_great_clusters(
    session: Session, graph: Graph, rows: Mapping[int, PageRow], seeds: set[int]
) -> set[int]:
    """The seeds that belong to a cluster of more than `MOST_PAGES`, or to a page of one."""
    clusters = sorted({row.cluster for row in rows.values() if row.cluster})
    great = {row.cluster for row in session.clusters(clusters) if row.size > MOST_PAGES}
    if not great:
        return set()
    inside = {number for number, row in rows.items() if row.cluster in great}
    beside = {
        end
        for edge in graph.said.joining(graph.new, graph.joins)
        if edge.a in inside or edge.b in inside
        for end in (edge.a, edge.b)
    }
    return (inside | beside) & seeds


def _by_id(ids: Sequence[str]) -> NDArray[np.int64]:
    """Numbers that go by nothing but the pages' ids, whatever other pages there are."""
    hashes = [xxhash.xxh3_64_intdigest(each.encode()) >> 1 for each in ids]
    return np.array(hashes, np.int64)


def _join_great_clusters(
    session: Session,
    graph: Graph,
    rows: dict[int, PageRow],
    numbers: Sequence[int],
    judge: Judge,
    groups: list[list[int]],
) -> None:
    """Put new pages, each with the first page of the cluster that it belongs to, into `groups`.

    A page is in one group only: all that join one cluster stand together.
    """
    group_of = {page: group for group in groups for page in group}
    for number in numbers:
        first = _first_to_join(session, graph, rows, number, set(numbers), judge)
        if first is None:
            groups.append([number])
        elif first in group_of:
            insort(group_of[first], number)
        else:
            group_of[first] = [first, number]
            groups.append(group_of[first])


def _first_to_join(
    session: Session,
    graph: Graph,
    rows: dict[int, PageRow],
    number: int,
    new: set[int],
    judge: Judge,
) -> int | None:
    """The first page of the cluster that a new page joins; None where it stands alone."""
    best = _best_neighbour(graph, rows, number, new)
    if best is None:
        return None
    (first,) = session.firsts_of([rows[best].cluster]).values()
    rows |= session.pages([first])
    verdict = judge([number], [first])[0]
    return first if _similarity((number, first), verdict, graph.joins, graph.said) >= 0 else None


def _best_neighbour(
    graph: Graph, rows: Mapping[int, PageRow], number: int, new: set[int]
) -> int | None:
    """The most similar stored page."""
    found = [
        (-(edge.similarity or 1.0), other)
        for edge in graph.edges([number])
        for other in (edge.a, edge.b)
        if other not in new and other in rows
    ]
    return min(found)[1] if found else None


def said_of(session: Session, changed: Mapping[int, PageRow]) -> Said:
    """What people said of pairs of pages that are here."""
    told = session.feedback()
    if not told:
        return Said(set(), set())
    ids = {page for each in told for page in (each.a, each.b)}
    numbers = {page: row.number for page, row in session.known(sorted(ids)).items()}
    numbers |= {row.id: number for number, row in changed.items() if row.id in ids}
    together: Pairs = set()
    apart: Pairs = set()
    for each in told:
        if each.a in numbers and each.b in numbers:
            a, b = sorted((numbers[each.a], numbers[each.b]))
            (together if each.duplicate else apart).add((a, b))
    return Said(together, apart)
