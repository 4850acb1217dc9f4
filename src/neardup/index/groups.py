"""Clusters around the pages that have changed, by the same rule as in a batch run.

A component of up to `MOST_PAGES` pages is clustered anew: the result is a function of its pages
and pairs, so neither their order nor the batches they came in matter.

In a large component (a mirror, a crawl trap) that would cost more with each page. There, pages
that arrive are placed one after another, in the order of arrival: each joins the cluster of its
most similar neighbour among the pages before it, whether that one is stored or came in the same
batch. So the batches do not matter there either. A page is never merged through a chain: where
the method clusters around centres, it is judged against the first page of the cluster.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import xxhash
from numpy.typing import NDArray

from neardup.index.components import (
    Component,
    Components,
    Graph,
    Said,
    in_large_clusters,
    said_of,
)
from neardup.kernels.grouping import connected_components
from neardup.methods.base import Joining, Method
from neardup.model import Relation
from neardup.rules.clusters import APART, centred_clusters
from neardup.stores.records import Edge, PageRow
from neardup.stores.session import Session

Judge = Callable[[Sequence[int], Sequence[int]], list[tuple[str, float | None]]]


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
    """The groups that changed pages, and the pages connected with them, fall into.

    `edges` are the pairs of the changed pages. The stored pairs of pages in `void` do not hold
    any more; pages in `gone` are removed. The rows of all pages in the groups come along. Pages of
    large components that were stored before, and are not in `changed`, stay where they are.
    """
    old = session.edges(sorted(void)) if void else []
    seeds = {*changed, *(end for edge in old for end in (edge.a, edge.b))} - gone
    near = {end for edge in edges for end in (edge.a, edge.b)}
    rows = {**session.pages(sorted((near | seeds) - changed.keys())), **changed}
    joins = frozenset(str(relation) for relation in method.joins)
    graph = Graph(session, joins, edges, void, said_of(session, changed))
    large = in_large_clusters(session, rows)
    components = Components(graph, large)
    components.explore(seeds)
    grouping = _Grouping(method, session, graph, rows, judge)
    grouping.cluster_anew([each for each in components.every() if not each.large])
    arriving = [page for page in sorted(changed.keys() - void) if components[page].large]
    if arriving:
        _place_in_order(grouping, arriving, large, gone)
    return grouping.groups, {page: rows[page] for group in grouping.groups for page in group}


@dataclass
class _Grouping:
    """The groups so far, each in the order of arrival, and what it takes to extend them."""

    method: Method
    session: Session
    graph: Graph
    rows: dict[int, PageRow]
    judge: Judge
    groups: list[list[int]] = field(default_factory=list)
    group_of: dict[int, list[int]] = field(default_factory=dict)

    def cluster_anew(self, components: Sequence[Component]) -> None:
        """Cluster all pages of these components by their pairs."""
        numbers = {page for each in components for page in each.pages}
        self.rows |= self.session.pages(sorted(numbers - self.rows.keys()))
        edges = [edge for each in components for _, edge in sorted(each.edges.items())]
        for group in cluster(
            self.method,
            {number: self.rows[number] for number in numbers},
            edges,
            self.judge,
            self.graph.joins,
            self.graph.said,
            numbered=_by_id,
        ):
            self.add(group)

    def add(self, group: list[int]) -> None:
        """One more group."""
        self.groups.append(group)
        self.group_of |= dict.fromkeys(group, group)

    def put(self, page: int, first: int) -> None:
        """Put a page into the group of another, which is the first of its cluster."""
        if first not in self.group_of:
            self.add([first])
        insort(self.group_of[first], page)
        self.group_of[page] = self.group_of[first]


def _place_in_order(
    grouping: _Grouping, arriving: Sequence[int], large: set[int], gone: set[int]
) -> None:
    """Place the pages that arrive in large components, each as if it came alone.

    Coming alone, a page of a component that is still small would have it clustered anew. Here
    that is done once, at the last moment: when the component becomes part of a large one.
    """
    new = set(arriving)
    edges_of: dict[int, list[Edge]] = {page: [] for page in arriving}  # with pages before it
    for edge in grouping.graph.edges(new):
        edges_of[max({edge.a, edge.b} & new)].append(edge)
    ends = {end for edges in edges_of.values() for edge in edges for end in (edge.a, edge.b)}
    grouping.rows |= grouping.session.pages(sorted(ends - grouping.rows.keys()))
    components = Components(grouping.graph, large, without=new)
    components.explore(ends - new)
    places = _LargeClusters(grouping, new, gone)
    places.judge_likely_pairs(edges_of)
    for page, edges in edges_of.items():
        component = components.enter(page)
        beside = list({id(c): c for c in (components[_other(e, page)] for e in edges)}.values())
        if component.would_be_large(beside):
            unsettled = [each for each in beside if each.pages & new - grouping.group_of.keys()]
            if unsettled:
                grouping.cluster_anew(unsettled)
            places.place(page, edges)
        for edge in edges:
            components.join(edge)


class _LargeClusters:
    """Finds the cluster that a page joins in a large component."""

    def __init__(self, grouping: _Grouping, arriving: set[int], gone: set[int]) -> None:
        self._grouping = grouping
        self._arriving = arriving
        stored = {page for page in arriving if grouping.rows[page].cluster}
        self._leaving = sorted(stored | gone)
        self._around_centres = grouping.method.joining is Joining.CENTRES
        self._firsts: dict[int, int | None] = {}  # by cluster
        self._verdicts: dict[tuple[int, int], bool] = {}

    def place(self, page: int, edges: Sequence[Edge]) -> None:
        """Put a page into the cluster of its closest neighbour that it fits into, or by itself."""
        refused = {self._first(other) for other in self._told_apart(page)}
        for edge in sorted(edges, key=lambda edge: _closest_first(edge, page)):
            first = self._first(_other(edge, page))
            if first not in refused and self._fits(page, first, edge):
                self._grouping.put(page, first)
                return
        self._leave(page)

    def judge_likely_pairs(self, edges_of: Mapping[int, Sequence[Edge]]) -> None:
        """Judge at once the pairs that `place` will most likely ask about: those with the first
        page of the cluster of the closest neighbour, if all before it join as well.
        """
        if not self._around_centres:
            return
        likely: dict[int, int] = {}
        for page, edges in edges_of.items():
            if edges:
                closest = min(edges, key=lambda edge: _closest_first(edge, page))
                other = _other(closest, page)
                likely[page] = likely.get(other) or self._first(other)
        self._judge([(page, first) for page, first in likely.items() if page != first])

    def _fits(self, page: int, first: int, edge: Edge) -> bool:
        """Whether a page belongs to the cluster that its neighbour, by this pair, is in.

        A page with the very text of a member fits as well as that member does.
        """
        if not self._around_centres or edge.relation == Relation.SAME or page == first:
            return True
        if (page, first) not in self._verdicts:
            self._judge([(page, first)])
        return self._verdicts[page, first]

    def _judge(self, pairs: Sequence[tuple[int, int]]) -> None:
        if not pairs:
            return
        verdicts = self._grouping.judge([a for a, _ in pairs], [b for _, b in pairs])
        joins, said = self._grouping.graph.joins, self._grouping.graph.said
        for pair, verdict in zip(pairs, verdicts, strict=True):
            self._verdicts[pair] = _similarity(pair, verdict, joins, said) >= 0

    def _first(self, page: int) -> int:
        """The first page of the cluster that a page is in; itself for one that is in none yet."""
        group_of = self._grouping.group_of
        if page not in group_of and page not in self._arriving:
            page = self._first_stored(page) or page
        return group_of[page][0] if page in group_of else page

    def _first_stored(self, page: int) -> int | None:
        """The first page that is in the cluster of a stored page and stays there."""
        grouping, cluster = self._grouping, self._grouping.rows[page].cluster
        if cluster not in self._firsts:
            first = grouping.session.firsts_of([cluster], without=self._leaving)
            grouping.rows |= grouping.session.pages(sorted(first.values() - grouping.rows.keys()))
            self._firsts[cluster] = first.get(cluster)
        return self._firsts[cluster]

    def _told_apart(self, page: int) -> list[int]:
        apart = self._grouping.graph.said.apart
        others = {a if b == page else b for a, b in apart if page in (a, b)}
        grouping = self._grouping
        grouping.rows |= grouping.session.pages(sorted(others - grouping.rows.keys()))
        return sorted(others)

    def _leave(self, page: int) -> None:
        """A group of its own. What a stored page leaves behind keeps the name of its cluster."""
        if self._grouping.rows[page].cluster:
            behind = self._first_stored(page)
            if behind is not None and behind not in self._grouping.group_of:
                self._grouping.add([behind])
        self._grouping.add([page])


def _other(edge: Edge, page: int) -> int:
    return edge.b if edge.a == page else edge.a


def _closest_first(edge: Edge, page: int) -> tuple[float, bool, int]:
    similarity = 1.0 if edge.similarity is None else edge.similarity
    return -similarity, edge.relation != Relation.SAME, _other(edge, page)


def _by_id(ids: Sequence[str]) -> NDArray[np.int64]:
    """Numbers that go by nothing but the pages' ids, whatever other pages there are."""
    hashes = [xxhash.xxh3_64_intdigest(each.encode()) >> 1 for each in ids]
    return np.array(hashes, np.int64)


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
    if method.joining is Joining.COMPONENTS:
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
