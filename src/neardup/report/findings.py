"""What was found, in numbers: cluster sizes, similarities, hosts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.engines.clustering import Clustering
from neardup.engines.parsing import Spilled
from neardup.report.page_notes import Hosts

HOSTS_SHOWN = 100
SIZE_BOUNDS = [2, 3, 4, 5, 10, 20, 50, 100, 1_000, 10_000]


@dataclass(frozen=True)
class SizeClass:
    """The clusters of `least` to `most` pages."""

    least: int
    most: int
    clusters: int
    pages: int


@dataclass(frozen=True)
class HostFindings:
    """The pages of one host and what dropping its duplicates saves."""

    name: str
    pages: int
    duplicates: int
    bytes: int
    duplicate_bytes: int


@dataclass(frozen=True)
class Spread:
    """Where the duplicates are."""

    hosts: list[HostFindings]  # those with most duplicates first
    all_hosts: int
    within_host: int  # duplicates of a page on their own host
    across_hosts: int


def cluster_sizes(clustering: Clustering) -> list[SizeClass]:
    """How many clusters there are of each size, up to the largest there is."""
    sizes = np.bincount(clustering.labels)
    largest = int(sizes.max(initial=0))
    bounds = [bound for bound in SIZE_BOUNDS if bound <= largest]
    ends = [*(bound - 1 for bound in bounds[1:]), largest]
    return [_size_class(sizes, *limits) for limits in zip(bounds, ends, strict=False)]


def _size_class(sizes: NDArray[np.int64], least: int, most: int) -> SizeClass:
    here = sizes[(sizes >= least) & (sizes <= most)]
    return SizeClass(least, most, int(here.size), int(here.sum()))


def spread_over_hosts(spilled: Spilled, clustering: Clustering, hosts: Hosts) -> Spread:
    """Duplicates by host; empty when no page has a URL."""
    duplicate = ~clustering.is_kept
    own = hosts.of_page == hosts.of_page[clustering.kept]
    named = np.array([bool(name) for name in hosts.names])
    known = duplicate & named[hosts.of_page]
    return Spread(
        _hosts_with_duplicates(spilled, duplicate, hosts),
        int(named.sum()),
        int((known & own).sum()),
        int((known & ~own).sum()),
    )


def _hosts_with_duplicates(
    spilled: Spilled, duplicate: NDArray[np.bool_], hosts: Hosts
) -> list[HostFindings]:
    bytes_ = spilled.pages["size"].to_numpy()
    weights = [np.ones(bytes_.size), duplicate, bytes_, bytes_ * duplicate]
    count = len(hosts.names)
    columns = [np.bincount(hosts.of_page, each, count).astype(np.int64) for each in weights]
    order = np.lexsort((-columns[0], -columns[3], -columns[1])).tolist()
    return [
        HostFindings(hosts.names[host], *(int(column[host]) for column in columns))
        for host in order
        if hosts.names[host] and columns[1][host]
    ][:HOSTS_SHOWN]
