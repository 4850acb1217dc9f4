"""Reclusters the components of changed pages, by the same rule as a batch run.

A component of up to `Bounds.component` pages is reclustered from scratch: the result is a function
of its pages and pairs, so neither the order of arrival nor the batches matter.

In a large component (a mirror, a crawl trap) that would cost more with every page. There, arriving
pages are placed one after another, in order of arrival: each joins the cluster of its most similar
earlier neighbour, stored or of the same batch. So batches do not matter there either. A page is
never merged through a chain: if the method clusters around centres, the page is judged against the
first page of the cluster.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import xxhash

from neardup.arrays import Numbers
from neardup.index.candidates import Bounds
from neardup.index.components import (
    Component,
    Components,
    Graph,
    in_large_clusters,
    stated_constraints,
)
from neardup.methods.base import Joining, Method
from neardup.model import Relation
from neardup.rules.clusters import APART, Rows, Similarities, cluster_pairs
from neardup.stores.records import Edge, PageRow
from neardup.stores.session import Session

NOTHING: Mapping[tuple[int, int], float] = {}
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
    bounds: Bounds,
    unstored: Sequence[int] = (),
) -> tuple[list[list[int]], dict[int, PageRow]]:
    """The new groups of changed pages and of the pages connected with them, and the rows of all
    pages in these groups.

    `edges` are the pairs of the changed pages. The stored pairs of pages in `void` are out of date;
    pages in `gone` are removed, and those in `unstored` new. Stored pages of large components
    stay where they are unless they are in `changed`.
    """
    old = session.edges(sorted(void)) if void else []
    seeds = {*changed, *(end for edge in old for end in (edge.a, edge.b))} - gone
    near = {end for edge in edges for end in (edge.a, edge.b)}
    rows = {**session.pages(sorted((near | seeds) - changed.keys())), **changed}
    joins = frozenset(str(relation) for relation in method.joins)
    constraints = stated_constraints(session, changed)
    graph = Graph(session, joins, edges, void, constraints, bounds.component, frozenset(unstored))
    large = in_large_clusters(session, rows, bounds.component)
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
    """The groups so far, each in order of arrival, and what is needed to extend them."""

    method: Method
    session: Session
    graph: Graph
    rows: dict[int, PageRow]
    judge: Judge
    groups: list[list[int]] = field(default_factory=list)
    group_of: dict[int, list[int]] = field(default_factory=dict)

    def cluster_anew(self, components: Sequence[Component]) -> None:
        """Recluster all pages of these components."""
        pages = {page for each in components for page in each.pages}
        self.rows |= self.session.pages(sorted(pages - self.rows.keys()))
        groups: list[list[int]] = []
        rest: list[Component] = []
        for each in components:
            # Nearly all pages of a crawl: alone, or with copies each of which is one of the others.
            count = len(each.pages)
            complete = 2 * len(each.edges) == count * (count - 1) and not self.graph.constraints
            if count == 1 or complete:
                groups.append(sorted(each.pages))
            else:
                rest.append(each)
        if rest:
            groups += self._clustered(rest)
        for group in sorted(groups, key=lambda group: min(self.rows[page].id for page in group)):
            self.add(group)

    def _clustered(self, components: Sequence[Component]) -> list[list[int]]:
        """The clusters of some components, by the rule of a batch run."""
        pages = {page for each in components for page in each.pages}
        numbers = np.array(sorted(pages, key=lambda page: self.rows[page].id), np.int64)
        rows = [self.rows[number] for number in numbers.tolist()]
        place = {row.number: position for position, row in enumerate(rows)}
        edges = [edge for each in components for _, edge in sorted(each.edges.items())]
        known = {(edge.a, edge.b): edge.closeness for edge in edges}
        ends = np.array([(place[edge.a], place[edge.b]) for edge in edges], np.int64).reshape(-1, 2)
        same_host_group = None
        if self.method.joining is Joining.CENTRES:
            same_host_group = np.array([row.sister for row in rows], np.int64).view(np.uint64)
        labels = cluster_pairs(
            len(rows),
            ends.min(axis=1),
            ends.max(axis=1),
            np.array([edge.closeness for edge in edges], np.float64),
            lambda one, other: self.closeness(numbers[one], numbers[other], known),
            same_host_group=same_host_group,
            constraints=self.graph.constraints.among(place),
            numbers=_by_id([row.id for row in rows]),
        )
        groups: dict[int, list[int]] = {}
        for row, label in zip(rows, labels.tolist(), strict=True):
            groups.setdefault(label, []).append(row.number)
        return [sorted(group) for group in groups.values()]

    def closeness(
        self, one: Rows, other: Rows, known: Mapping[tuple[int, int], float] = NOTHING
    ) -> Similarities:
        """How similar pages are, by number; `APART` where the method does not join them.

        The closeness in `known`, by pair, need not be judged again.
        """
        pairs = [(min(p), max(p)) for p in zip(one.tolist(), other.tolist(), strict=True)]
        near = [known.get(pair, np.nan) for pair in pairs]
        if unknown := [place for place, pair in enumerate(pairs) if pair not in known]:
            left, right = one[unknown].tolist(), other[unknown].tolist()
            for place, (relation, similarity) in zip(unknown, self.judge(left, right), strict=True):
                joins = relation in self.graph.joins
                near[place] = APART if not joins else 1.0 if similarity is None else similarity
        return np.array(near, np.float64)

    def add(self, group: list[int]) -> None:
        self.groups.append(group)
        self.group_of |= dict.fromkeys(group, group)

    def put(self, page: int, first: int) -> None:
        """Add a page to the group of another page, the first of its cluster."""
        if first not in self.group_of:
            self.add([first])
        insort(self.group_of[first], page)
        self.group_of[page] = self.group_of[first]


def _place_in_order(
    grouping: _Grouping, arriving: Sequence[int], large: set[int], gone: set[int]
) -> None:
    """Place the arriving pages of large components, each as if it had arrived alone.

    Arriving alone, a page would have its component reclustered as long as that is small. Here this
    is done once, at the last moment: when the component becomes part of a large one.
    """
    new = set(arriving)
    edges_of: dict[int, list[Edge]] = {page: [] for page in arriving}  # with earlier pages
    for edge in grouping.graph.edges(new):
        edges_of[max({edge.a, edge.b} & new)].append(edge)
    ends = {end for edges in edges_of.values() for edge in edges for end in (edge.a, edge.b)}
    grouping.rows |= grouping.session.pages(sorted(ends - grouping.rows.keys()))
    components = Components(grouping.graph, large, without=new)
    components.explore(ends - new)
    places = _LargeClusters(grouping, new, gone)
    places.judge_likely_pairs(edges_of)
    for page, edges in edges_of.items():
        own = components.enter(page)
        beside = list({id(c): c for c in (components[e.other(page)] for e in edges)}.values())
        if components.are_large([own, *beside]):
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
        """Add a page to the cluster of the closest neighbour it fits, or to one of its own."""
        refused = {self._first(other) for other in self._told_apart(page)}
        for edge in sorted(edges, key=lambda edge: _closest_first(edge, page)):
            first = self._first(edge.other(page))
            if first not in refused and self._fits(page, first, edge):
                self._grouping.put(page, first)
                return
        self._leave(page)

    def judge_likely_pairs(self, edges_of: Mapping[int, Sequence[Edge]]) -> None:
        """Judge in one call the pairs that `place` will most likely need: with the first page of
        the closest neighbour's cluster, assuming that all earlier pages join too.
        """
        if not self._around_centres:
            return
        likely: dict[int, int] = {}
        for page, edges in edges_of.items():
            if edges:
                closest = min(edges, key=lambda edge: _closest_first(edge, page))
                other = closest.other(page)
                likely[page] = likely.get(other) or self._first(other)
        self._judge([(page, first) for page, first in likely.items() if page != first])

    def _fits(self, page: int, first: int, edge: Edge) -> bool:
        """Whether a page belongs to the cluster of its neighbour in this pair.

        A page with the same text as a member fits as well as that member does.
        """
        if not self._around_centres or edge.relation == Relation.SAME or page == first:
            return True
        if (page, first) not in self._verdicts:
            self._judge([(page, first)])
        return self._verdicts[page, first]

    def _judge(self, pairs: Sequence[tuple[int, int]]) -> None:
        if not pairs:
            return
        closeness = self._grouping.graph.constraints.over(self._grouping.closeness)
        near = closeness(*np.array(pairs, np.int64).T) >= 0
        self._verdicts |= zip(pairs, near.tolist(), strict=True)

    def _first(self, page: int) -> int:
        """The first page of a page's cluster; the page itself if it has none yet."""
        group_of = self._grouping.group_of
        if page not in group_of and page not in self._arriving:
            page = self._first_stored(page) or page
        return group_of[page][0] if page in group_of else page

    def _first_stored(self, page: int) -> int | None:
        """The first page that stays in the cluster of a stored page."""
        grouping, cluster = self._grouping, self._grouping.rows[page].cluster
        if cluster not in self._firsts:
            first = grouping.session.firsts_of([cluster], without=self._leaving)
            grouping.rows |= grouping.session.pages(sorted(first.values() - grouping.rows.keys()))
            self._firsts[cluster] = first.get(cluster)
        return self._firsts[cluster]

    def _told_apart(self, page: int) -> list[int]:
        apart = self._grouping.graph.constraints.apart
        others = set(apart[(apart == page).any(axis=1)].ravel().tolist()) - {page}
        grouping = self._grouping
        grouping.rows |= grouping.session.pages(sorted(others - grouping.rows.keys()))
        return sorted(others)

    def _leave(self, page: int) -> None:
        """Give a page a group of its own; the rest of its cluster keeps the cluster's name."""
        if self._grouping.rows[page].cluster:
            behind = self._first_stored(page)
            if behind is not None and behind not in self._grouping.group_of:
                self._grouping.add([behind])
        self._grouping.add([page])


def _closest_first(edge: Edge, page: int) -> tuple[float, bool, int]:
    return -edge.closeness, edge.relation != Relation.SAME, edge.other(page)


def _by_id(ids: Sequence[str]) -> Numbers:
    """Numbers that depend on the ids of the pages alone, not on which other pages there are."""
    hashes = [xxhash.xxh3_64_intdigest(each.encode()) >> 1 for each in ids]
    return np.array(hashes, np.int64)
