"""From verified pairs to clusters.

Joining pairs into connected components lets a cluster drift: a is near b, b near c, and so on to a
page that has nothing to do with a. `centred_clusters` makes clusters that do not stretch: every
member is close to one page, the centre, which is the member with the most verified neighbours. A
member that is not its neighbour yet is judged against it; those that fail leave, and are clustered
among themselves in the same way.

Pages of one host may share a cluster only if they are close to each other: a third page that is
close to both must not join what was judged to be apart. And a page that has a closer neighbour than
the centre goes where that neighbour goes.

`join_repository` is how most papers decide: each page against the pages kept so far.

Feedback on pairs (`Constraints`) overrides the verdicts. New pages join existing clusters without
renaming or merging them (`join_earlier`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from neardup.arrays import Mask
from neardup.kernels.grouping import connected_components

Rows = NDArray[np.int64]
Similarities = NDArray[np.float64]
Closeness = Callable[[Rows, Rows], Similarities]
Name = TypeVar("Name", bound=Hashable)

PAGES_AT_ONCE = 1 << 17  # that are clustered at a time, about: each takes some 200 bytes
APART = -1.0  # the similarity of two pages that do not belong together


@dataclass(frozen=True)
class Constraints:
    """Feedback on pairs of pages: one row per pair of page numbers, the smaller first."""

    together: Rows
    apart: Rows

    def __bool__(self) -> bool:
        return bool(self.together.size or self.apart.size)

    def apply(
        self, left: Rows, right: Rows, similarity: Similarities
    ) -> tuple[Rows, Rows, Similarities]:
        """The pairs without those that must be apart, and with those that must be together."""
        pairs = np.column_stack([left, right])
        stays = self.joined(pairs, np.ones(len(pairs), bool))
        pairs, similarity = pairs[stays], similarity[stays]
        added = self.missing(pairs)
        every = np.concatenate([pairs, added])
        return every[:, 0], every[:, 1], np.append(similarity, np.ones(len(added)))

    def joined(self, pairs: Rows, joins: Mask) -> Mask:
        """Which pairs join, where `joins` is the method's verdict on them."""
        return joins & ~is_among(pairs, self.apart) | is_among(pairs, self.together)

    def missing(self, pairs: Rows) -> Rows:
        """The pairs that must be together and are not among these."""
        return self.together[~is_among(self.together, pairs)]

    def among(self, rows: Mapping[int, int]) -> Constraints:
        """The constraints on pairs of pages in `rows`, which maps page numbers to new ones."""
        return Constraints(
            numbered_pairs(self.together.tolist(), rows), numbered_pairs(self.apart.tolist(), rows)
        )

    def over(self, closeness: Closeness) -> Closeness:
        """`closeness`, overridden by the constraints."""

        def constrained(one: Rows, other: Rows) -> Similarities:
            pairs = np.sort(np.column_stack([one, other]), axis=1)
            close = closeness(one, other).copy()
            close[is_among(pairs, self.apart)] = APART
            close[is_among(pairs, self.together)] = 1.0
            return close

        return constrained

    def leaving(self, labels: Rows, left: Rows, right: Rows, similarity: Similarities) -> Rows:
        """Of each two pages that must be apart and are together: the one with the weaker ties."""
        rivals = self.apart[labels[self.apart[:, 0]] == labels[self.apart[:, 1]]]
        ties = np.zeros(labels.size)
        np.add.at(ties, left, similarity)
        np.add.at(ties, right, similarity)
        leaving: set[int] = set()
        for a, b in rivals.tolist():
            if not {a, b} & leaving:
                leaving.add(min((a, b), key=lambda page: (ties[page], -page)))
        return np.array(sorted(leaving), np.int64)


NO_PAIRS = np.empty((0, 2), np.int64)
UNCONSTRAINED = Constraints(NO_PAIRS, NO_PAIRS)


def numbered_pairs(pairs: Iterable[tuple[Name, Name]], numbers: Mapping[Name, int]) -> Rows:
    """The pairs whose pages both have a number, by number, the smaller first."""
    known = [(numbers[a], numbers[b]) for a, b in pairs if a in numbers and b in numbers]
    return np.sort(np.array(known, np.int64).reshape(-1, 2), axis=1)


def is_among(pairs: Rows, others: Rows) -> Mask:
    """Which pairs of page numbers are among others."""
    return np.isin(pairs[:, 0] << 32 | pairs[:, 1], others[:, 0] << 32 | others[:, 1])


def cluster_pairs(
    count: int,
    left: Rows,
    right: Rows,
    similarity: Similarities,
    closeness: Closeness,
    *,
    same_host_group: NDArray[np.uint64] | None,
    constraints: Constraints,
    numbers: Rows | None = None,
) -> Rows:
    """For each of `count` pages the smallest page of its cluster, from the pairs that join.

    Clusters around centres where there are groups (see `centred_clusters`), components otherwise.
    """
    if constraints:
        left, right, similarity = constraints.apply(left, right, similarity)
        closeness = constraints.over(closeness)
    while True:
        if same_host_group is None:
            labels = connected_components(count, left, right)
        else:
            labels = centred_clusters(same_host_group, left, right, similarity, closeness, numbers)
        leaving = constraints.leaving(labels, left, right, similarity)
        if not leaving.size:
            return labels
        stays = ~(np.isin(left, leaving) | np.isin(right, leaving))
        left, right, similarity = left[stays], right[stays], similarity[stays]


def centred_clusters(
    same_host_group: NDArray[np.uint64],
    left: Rows,
    right: Rows,
    similarity: Similarities,
    closeness: Closeness,
    numbers: Rows | None = None,
) -> Rows:
    """For each page the smallest page of its cluster.

    `left` and `right` are verified pairs with their `similarity`; `closeness` judges further pairs:
    their similarity, or `APART`. Pages with the same number in `same_host_group` are made alike; 0
    is alike with none. Each round takes one cluster out of every component at once. Ties between
    centres go to the smallest mixed number: an order that follows nothing in the pages, so that a
    long chain falls apart in few rounds. `numbers` are the pages' own numbers, ascending, where the
    rows given here are some pages of many.
    """
    cluster = np.arange(same_host_group.size)
    components = connected_components(cluster.size, left, right)
    # No cluster reaches beyond its component.
    for pages, here in in_ranges(components, left, right, PAGES_AT_ONCE):
        cluster[pages] = pages[
            _clusters_of_components(
                same_host_group[pages],
                np.searchsorted(pages, left[here]),
                np.searchsorted(pages, right[here]),
                similarity[here],
                _among(pages, closeness),
                mixed_numbers(pages if numbers is None else numbers[pages]),
            )
        ]
    return cluster


def _among(pages: Rows, closeness: Closeness) -> Closeness:
    """The same for pages known by their places among some."""
    return lambda one, other: closeness(pages[one], pages[other])


def in_ranges(groups: Rows, left: Rows, right: Rows, most: int) -> Iterator[tuple[Rows, Rows]]:
    """The pages of groups of several, and the places of the pairs inside of these groups, both
    ascending: of whole groups, at most `most` pages at a time unless one group has more. What is
    decided within groups takes no more memory then. `groups` has the group of each page."""
    pages = np.flatnonzero(np.bincount(groups, minlength=groups.size)[groups] > 1)
    pages = pages[np.argsort(groups[pages], kind="stable")]
    pairs = np.flatnonzero(groups[left] == groups[right])
    pairs = pairs[np.argsort(groups[left[pairs]], kind="stable")]
    of_page, of_pair = groups[pages], groups[left[pairs]]
    first, first_pair = 0, 0
    while first < pages.size:
        # Up to the start of the group that goes beyond; a large group is a range of its own.
        end = min(first + most, pages.size)
        if end < pages.size:
            start = int(np.searchsorted(of_page, of_page[end]))
            end = start if start > first else int(np.searchsorted(of_page, of_page[end], "right"))
        last_pair = int(np.searchsorted(of_pair, of_page[end - 1], "right"))
        yield np.sort(pages[first:end]), np.sort(pairs[first_pair:last_pair])
        first, first_pair = end, last_pair


def _clusters_of_components(
    same_host_group: NDArray[np.uint64],
    left: Rows,
    right: Rows,
    similarity: Similarities,
    closeness: Closeness,
    mixed: NDArray[np.uint64],
) -> Rows:
    """`centred_clusters` of some components with all their pages."""
    count = same_host_group.size
    cluster = np.arange(count)
    while left.size:
        component = connected_components(count, left, right)
        centre = _centres(component, left, right, mixed)
        near = _similarity_to_centre(centre, left, right, similarity, closeness)
        taken = _without_host_rivals(
            np.flatnonzero(near >= 0), centre, near, same_host_group, closeness
        )
        taken = _without_closer_outside(taken, near, left, right, similarity)
        cluster[taken] = centre[taken]
        free = np.ones(count, bool)
        free[taken] = False
        remaining = free[left] & free[right]
        left, right, similarity = left[remaining], right[remaining], similarity[remaining]
    return named_by_smallest(cluster)


def _centres(component: Rows, left: Rows, right: Rows, mixed: NDArray[np.uint64]) -> Rows:
    """For each page the centre of its component; -1 for a page without a pair."""
    degree = np.bincount(left, minlength=component.size)
    degree += np.bincount(right, minlength=component.size)
    paired = np.flatnonzero(degree)
    best_first = paired[np.lexsort((mixed[paired], -degree[paired], component[paired]))]
    heads = best_first[np.diff(component[best_first], prepend=-1) != 0]
    centre_of = np.full(component.size, -1)
    centre_of[component[heads]] = heads
    centre = np.full(component.size, -1)
    centre[paired] = centre_of[component[paired]]
    return centre


def _similarity_to_centre(
    centre: Rows, left: Rows, right: Rows, similarity: Similarities, closeness: Closeness
) -> Similarities:
    """The similarity of each page to the centre of its component; unknown pairs are judged."""
    near = np.full(centre.size, np.nan)
    to_left, to_right = left == centre[right], right == centre[left]
    near[right[to_left]] = similarity[to_left]
    near[left[to_right]] = similarity[to_right]
    near[centre < 0] = APART
    member = np.flatnonzero(centre >= 0)
    near[member[centre[member] == member]] = np.inf
    unknown = np.flatnonzero(np.isnan(near))
    if unknown.size:
        near[unknown] = closeness(unknown, centre[unknown])
    return near


def _without_host_rivals(
    member: Rows,
    centre: Rows,
    near: Similarities,
    same_host_group: NDArray[np.uint64],
    closeness: Closeness,
) -> Rows:
    """The members that are close to the nearest page of their host in the cluster."""
    best_first = member[
        np.lexsort((member, -near[member], same_host_group[member], centre[member]))
    ]
    new = np.ones(best_first.size, bool)
    new[1:] = (np.diff(centre[best_first]) != 0) | (np.diff(same_host_group[best_first]) != 0)
    nearest = best_first[np.maximum.accumulate(np.where(new, np.arange(new.size), 0))]
    rival = ~new & (same_host_group[best_first] != 0)
    stays = np.ones(best_first.size, bool)
    if rival.any():
        stays[rival] = closeness(best_first[rival], nearest[rival]) >= 0
    return np.sort(best_first[stays])


def _without_closer_outside(
    member: Rows, near: Similarities, left: Rows, right: Rows, similarity: Similarities
) -> Rows:
    """The members that have no neighbour outside the cluster closer than its centre."""
    outside = np.ones(near.size, bool)
    outside[member] = False
    closest = np.full(near.size, APART)
    np.maximum.at(closest, left[outside[right]], similarity[outside[right]])
    np.maximum.at(closest, right[outside[left]], similarity[outside[left]])
    return member[closest[member] <= near[member]]


def mixed_numbers(numbers: Rows) -> NDArray[np.uint64]:
    """Numbers in pseudo-random order (the finaliser of SplitMix64)."""
    mixed = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def named_by_smallest(cluster: Rows) -> Rows:
    """The same clusters, each named by its smallest page."""
    smallest = np.full(cluster.size, cluster.size)
    np.minimum.at(smallest, cluster, np.arange(cluster.size))
    return smallest[cluster]


def join_repository(
    order: Rows, left: Rows, right: Rows, similarity: Similarities, kept: Rows
) -> Rows:
    """For each page the kept page that it duplicates; itself where it is kept.

    Pages come in `order`. Each joins the most similar page among those kept so far that it matches
    (of equally similar ones the earliest), otherwise it is kept. So every page was judged against
    the page that it is dropped for, and nothing is chained. `kept` is what was decided before: a
    page that stands there with another stays with it.
    """
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    swap = rank[left] > rank[right]
    earlier, later = np.where(swap, right, left), np.where(swap, left, right)
    best_first = np.lexsort((rank[earlier], -similarity, rank[later]))
    decided = kept.tolist()
    for page, other in zip(later[best_first].tolist(), earlier[best_first].tolist(), strict=True):
        if decided[page] == page and decided[other] == other:
            decided[page] = other
    return np.array(decided, np.int64)


NEW = -1  # the label and kept page of a page that no earlier run has seen


def join_earlier(
    labels: Rows,
    kept: Rows,
    left: Rows,
    right: Rows,
    similarity: Similarities,
    closeness: Closeness,
) -> Rows:
    """The labels with each new page added that belongs to an earlier cluster.

    Of the earlier pages that a new page is verified to duplicate, the most similar one names the
    cluster, and the page must be close to what that cluster keeps. Earlier clusters are neither
    renamed nor merged, whatever new page lies between them.
    """
    new_left, new_right = labels[left] == NEW, labels[right] == NEW
    mixed = new_left != new_right
    page = np.where(new_left, left, right)[mixed]
    earlier = np.where(new_left, right, left)[mixed]
    best_first = np.lexsort((earlier, -similarity[mixed], page))
    page, earlier = page[best_first], earlier[best_first]
    best = np.diff(page, prepend=-1) != 0
    page, earlier = page[best], earlier[best]
    fits = closeness(page, kept[earlier]) >= 0 if page.size else np.empty(0, bool)
    joined = labels.copy()
    joined[page[fits]] = labels[earlier[fits]]
    return joined
