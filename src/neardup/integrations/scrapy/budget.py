"""How many pages of a cluster pass as if they were new."""

from __future__ import annotations

from neardup.index import Answer, Index

REMEMBERED = 100_000  # full clusters


class Budget:
    """The first `pages` pages of each cluster pass, whichever crawl brought them."""

    def __init__(self, index: Index, pages: int) -> None:
        self._index = index
        self._pages = pages
        self._full: dict[str, frozenset[str]] = {}  # who passes in full clusters, some of them

    def allows(self, answer: Answer) -> bool:
        """Whether a page passes."""
        if not answer.duplicate:
            return True
        if self._pages == 1 or answer.cluster is None:
            return False
        passing = self._full.get(answer.cluster)
        if passing is None:
            passing = self._first_of(answer.cluster)
        return answer.id in passing

    def _first_of(self, name: str) -> frozenset[str]:
        cluster = self._index.cluster(name)
        members = cluster.members if cluster else ()
        passing = frozenset(members[: self._pages])
        if len(passing) == self._pages:
            self._full[name] = passing  # a cluster that is full stays so: not read again
            if len(self._full) > REMEMBERED:
                del self._full[next(iter(self._full))]
        return passing
