"""Connected components: pages joined by verified pairs, directly or through other pages.

The pairs are those of the store, updated by those of the batch and overridden by feedback.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress

import numpy as np

from neardup.rules.clusters import UNCONSTRAINED, Constraints, numbered_pairs
from neardup.stores.records import Edge, FeedbackRow, PageRow
from neardup.stores.session import Session


@dataclass(frozen=True)
class Graph:
    """The joining pairs: those of the store, updated by those of a batch."""

    session: Session
    joins: frozenset[str]
    new: Sequence[Edge]  # the current pairs of the pages in `void`, and of new pages
    void: set[int]  # pages whose stored pairs are out of date
    constraints: Constraints  # feedback, by page number
    most_pages: int  # in a component that is reclustered
    unstored: frozenset[int] = frozenset()  # new pages: the store has no pairs of them

    @cached_property
    def _new_of(self) -> dict[int, list[Edge]]:
        pairs: dict[int, list[Edge]] = {}
        for edge in self.new:
            pairs.setdefault(edge.a, []).append(edge)
            pairs.setdefault(edge.b, []).append(edge)
        return pairs

    def edges(self, numbers: Iterable[int]) -> list[Edge]:
        """The joining pairs of these pages, without repeats."""
        wanted = set(numbers)
        stored = [
            edge
            for edge in self.session.edges(sorted(wanted - self.unstored))
            if edge.a not in self.void and edge.b not in self.void
        ]
        fresh = {id(edge): edge for number in wanted for edge in self._new_of.get(number, ())}
        joining = self._joining([*stored, *fresh.values()])
        return [edge for edge in joining if edge.a in wanted or edge.b in wanted]

    def _joining(self, edges: Sequence[Edge]) -> list[Edge]:
        """The pairs that feedback joins, and those that the method joins unless feedback separates
        them.
        """
        joins = [edge.relation in self.joins for edge in edges]
        if not self.constraints:
            return list(compress(edges, joins))
        pairs = np.array([(edge.a, edge.b) for edge in edges], np.int64).reshape(-1, 2)
        joined = self.constraints.joined(pairs, np.array(joins, bool))
        missing = self.constraints.missing(pairs[joined]).tolist()
        added = [Edge(a, b, "near", 1.0) for a, b in sorted(missing)]
        return [*compress(edges, joined), *added]


@dataclass
class Component:
    """Pages joined by verified pairs. Not all pages and pairs of a large component are known."""

    pages: set[int]
    edges: dict[tuple[int, int], Edge] = field(default_factory=dict)
    large: bool = False

    def absorb(self, other: Component) -> None:
        """Take over the pages and pairs of another component."""
        self.pages |= other.pages
        self.edges |= other.edges
        self.large |= other.large


class Components:
    """The components of a graph as far as they have been explored, by page.

    Each is explored separately, up to `most_pages` pages, so the result does not depend on what
    else is explored.
    """

    def __init__(self, graph: Graph, large: Set[int], without: Set[int] = frozenset()) -> None:
        """`large` are the pages of clusters known to be large; pages in `without` are ignored."""
        self._graph = graph
        self._large = large
        self._without = without
        self._of: dict[int, Component] = {}

    def __getitem__(self, page: int) -> Component:
        return self._of[page]

    def every(self) -> list[Component]:
        """All components, in the order of their smallest pages."""
        return sorted({id(c): c for c in self._of.values()}.values(), key=lambda c: min(c.pages))

    def explore(self, seeds: Iterable[int]) -> None:
        """Explore the components of these pages."""
        frontier = set(seeds) - self._of.keys()
        for page in frontier:
            self.enter(page)
        while frontier := {page for page in frontier if not self._of[page].large}:
            reached: set[int] = set()
            for edge in self._graph.edges(frontier):
                ends = edge.a, edge.b
                if not self._without.isdisjoint(ends):
                    continue
                for page in ends:
                    if page not in self._of:
                        self.enter(page)
                        reached.add(page)
                self.join(edge)
            frontier = reached

    def join(self, edge: Edge) -> Component:
        """Merge the two components that a pair connects."""
        one, other = self._of[edge.a], self._of[edge.b]
        if (edge.a, edge.b) in one.edges:
            return one  # already seen from its other end
        if one is not other:
            if len(one.pages) < len(other.pages):
                one, other = other, one
            one.absorb(other)
            self._of.update(dict.fromkeys(other.pages, one))
        one.edges[edge.a, edge.b] = edge
        one.large |= len(one.pages) > self._graph.most_pages
        return one

    def are_large(self, some: Sequence[Component]) -> bool:
        """Whether these components would be large if merged."""
        pages = sum(len(each.pages) for each in some)
        return pages > self._graph.most_pages or any(each.large for each in some)

    def enter(self, page: int) -> Component:
        """A new component of one page."""
        self._of[page] = Component({page}, large=page in self._large)
        return self._of[page]


def in_large_clusters(session: Session, rows: Mapping[int, PageRow], most_pages: int) -> set[int]:
    """The pages whose cluster alone makes their component large: it need not be explored."""
    clusters = sorted({row.cluster for row in rows.values() if row.cluster})
    large = {row.cluster for row in session.clusters(clusters) if row.size > most_pages}
    return {number for number, row in rows.items() if row.cluster in large}


def stated_constraints(session: Session, changed: Mapping[int, PageRow]) -> Constraints:
    """The feedback on pairs of stored and changed pages, by page number."""
    feedback = session.feedback()
    if not feedback:
        return UNCONSTRAINED
    ids = {page for each in feedback for page in (each.a, each.b)}
    numbers = {page: row.number for page, row in session.known(sorted(ids)).items()}
    numbers |= {row.id: number for number, row in changed.items() if row.id in ids}
    return constraints_of(feedback, numbers)


def constraints_of(feedback: Sequence[FeedbackRow], numbers: Mapping[str, int]) -> Constraints:
    """The feedback on pairs of pages that have a number."""
    together = numbered_pairs(((each.a, each.b) for each in feedback if each.duplicate), numbers)
    apart = numbered_pairs(((each.a, each.b) for each in feedback if not each.duplicate), numbers)
    return Constraints(together, apart)
