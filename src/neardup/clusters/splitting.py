"""Clusters that do not stretch.

Joining verified pairs into connected components lets a cluster drift: a is near b, b near c, and
so on to a page that has nothing to do with a. Here every member of a cluster is close to one page,
its centre: the member with the most verified neighbours. A member that is not its neighbour yet
is judged against it; those that fail leave, and are clustered among themselves in the same way.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.union_find import connected_components

Rows = NDArray[np.int64]
Closeness = Callable[[Rows, Rows], NDArray[np.bool_]]


def centred_clusters(count: int, left: Rows, right: Rows, close: Closeness) -> Rows:
    """For each of `count` pages the smallest page of its cluster.

    `left` and `right` are verified pairs; `close` judges further pairs. Each round takes one
    cluster out of every component at once. Ties between centres go to the smallest mixed number:
    an order that follows nothing in the pages, so that a long chain falls apart in few rounds.
    """
    cluster = np.arange(count)
    while left.size:
        component = connected_components(count, left, right)
        centre = _centres(component, left, right)
        member = np.flatnonzero(centre >= 0)
        taken = _near_centre(member, centre, left, right, close)
        cluster[taken] = centre[taken]
        free = np.ones(count, bool)
        free[taken] = False
        remaining = free[left] & free[right]
        left, right = left[remaining], right[remaining]
    return _named_by_smallest(cluster)


def _centres(component: Rows, left: Rows, right: Rows) -> Rows:
    """For each page in a pair the centre of its component; -1 for a page in none."""
    degree = np.bincount(left, minlength=component.size)
    degree += np.bincount(right, minlength=component.size)
    paired = np.flatnonzero(degree)
    best_first = paired[np.lexsort((_mixed(paired), -degree[paired], component[paired]))]
    heads = best_first[np.diff(component[best_first], prepend=-1) != 0]
    centre_of = np.full(component.size, -1)
    centre_of[component[heads]] = heads
    centre = np.full(component.size, -1)
    centre[paired] = centre_of[component[paired]]
    return centre


def _near_centre(member: Rows, centre: Rows, left: Rows, right: Rows, close: Closeness) -> Rows:
    """The members that are the centre, its verified neighbours, or judged close to it now."""
    near = np.zeros(centre.size, bool)
    near[left[right == centre[left]]] = True
    near[right[left == centre[right]]] = True
    near[member[centre[member] == member]] = True
    unknown = member[~near[member]]
    if unknown.size:
        near[unknown] = close(unknown, centre[unknown])
    return member[near[member]]


def _mixed(numbers: Rows) -> NDArray[np.uint64]:
    """Numbers in an order of no meaning (the finaliser of SplitMix64)."""
    mixed = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _named_by_smallest(cluster: Rows) -> Rows:
    smallest = np.full(cluster.size, cluster.size)
    np.minimum.at(smallest, cluster, np.arange(cluster.size))
    return smallest[cluster]
