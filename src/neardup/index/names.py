"""Stable names: which cluster each group of pages becomes, and the events that follow.

A group keeps the name that most of its pages have. A cluster whose pages have all gone elsewhere
stays as a name that leads to where most of them went, so a name once given can always be followed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from neardup.stores.records import ClusterRow, EventRow, PageRow
from neardup.stores.session import Session

NONE = 0  # the cluster of a page without one


@dataclass
class Naming:
    """The changes to clusters that are to be written."""

    at: int
    clusters: dict[int, int] = field(default_factory=dict)  # by page number
    new: list[ClusterRow] = field(default_factory=list)
    events: list[EventRow] = field(default_factory=list)
    changed: dict[int, int] = field(default_factory=dict)  # the growth of clusters
    moved_to: dict[int, Counter[int]] = field(default_factory=dict)

    def apply(self, session: Session, placed: Set[int] = frozenset()) -> None:
        """Write the changes. The pages are stored already; those in `placed` with their cluster."""
        session.put_clusters(self.new)
        session.assign(
            (cluster, page) for page, cluster in self.clusters.items() if page not in placed
        )
        new = {row.cluster for row in self.new}
        changed = session.clusters(sorted(self.changed.keys() - new))
        session.update_clusters([self._resized(row) for row in changed])
        session.put_events(self.events)

    def _resized(self, row: ClusterRow) -> ClusterRow:
        size, moved_to = row.size + self.changed[row.cluster], None
        if size == 0 and self.moved_to.get(row.cluster):
            moved_to = _most(self.moved_to[row.cluster])
            self.events.append(EventRow(self.at, row.cluster, "merged", "", moved_to))
        return row._replace(size=size, changed=self.at, moved_to=moved_to)


def name_groups(
    groups: Sequence[Sequence[int]],
    pages: Mapping[int, PageRow],
    at: int,
    next_names: Callable[[int], int],
) -> Naming:
    """A cluster for each group; `next_names(count)` returns the first of `count` new numbers."""
    names = _kept_names(groups, pages)
    nameless = [place for place in range(len(groups)) if place not in names]
    nameless.sort(key=lambda place: groups[place][0])
    first = next_names(len(nameless))
    names |= {place: first + offset for offset, place in enumerate(nameless)}
    naming = Naming(at)
    for place in nameless:
        _found(naming, names[place], groups[place], pages)
    for place, group in enumerate(groups):
        for page in group:
            _move(naming, pages[page], names[place], founder=group[0])
    return naming


def name_clusters(
    session: Session, groups: Sequence[Sequence[int]], pages: Mapping[int, PageRow], at: int
) -> Naming:
    """A cluster for each group, with new numbers from the store."""
    return name_groups(groups, pages, at, lambda count: session.take_numbers("cluster", count))


def _kept_names(groups: Sequence[Sequence[int]], pages: Mapping[int, PageRow]) -> dict[int, int]:
    claims = [
        (-count, cluster, place)
        for place, group in enumerate(groups)
        for cluster, count in Counter(pages[page].cluster for page in group).items()
        if cluster != NONE
    ]
    names: dict[int, int] = {}
    taken: set[int] = set()
    for _, cluster, place in sorted(claims):
        if cluster not in taken and place not in names:
            names[place] = cluster
            taken.add(cluster)
    return names


def _found(
    naming: Naming, cluster: int, group: Sequence[int], pages: Mapping[int, PageRow]
) -> None:
    naming.new.append(ClusterRow(cluster, len(group), naming.at, naming.at, None))
    origins = Counter(pages[page].cluster for page in group if pages[page].cluster != NONE)
    founder = pages[group[0]].id
    if origins:
        naming.events.append(EventRow(naming.at, cluster, "split", founder, _most(origins)))
    else:
        naming.events.append(EventRow(naming.at, cluster, "created", founder, None))


def _move(naming: Naming, page: PageRow, cluster: int, founder: int) -> None:
    if page.cluster == cluster:
        return
    naming.clusters[page.number] = cluster
    naming.changed[cluster] = naming.changed.get(cluster, 0) + 1
    if page.cluster != NONE:
        naming.changed[page.cluster] = naming.changed.get(page.cluster, 0) - 1
        naming.moved_to.setdefault(page.cluster, Counter())[cluster] += 1
        naming.events.append(EventRow(naming.at, page.cluster, "left", page.id, cluster))
    if page.number != founder or page.cluster != NONE:
        origin = page.cluster or None
        naming.events.append(EventRow(naming.at, cluster, "joined", page.id, origin))


def _most(counted: Counter[int]) -> int:
    return min(counted, key=lambda cluster: (-counted[cluster], cluster))
