"""The devices at work over the stores of one state: steps 2 to 5 for a page."""

from __future__ import annotations

from typing import NamedTuple

from neardup.methods.base import State
from neardup.methods.news_clusters.comparer import Comparer
from neardup.methods.news_clusters.options import NewsClustersOptions
from neardup.methods.news_clusters.page import Found, NewsPage
from neardup.methods.news_clusters.selector import Selector
from neardup.methods.news_clusters.stores import DocumentMap, FingerprintMap, InvertedTable
from neardup.methods.news_clusters.updater import Updater
from neardup.methods.news_clusters.voter import elect
from neardup.model import Relation


class Placed(NamedTuple):
    """Where a page went: the earlier page that stands for its cluster, and the verdict on both."""

    match: str | None
    relation: Relation
    similarity: float | None
    evidence: dict[str, object]


UNDECIDED = Placed(None, Relation.UNDECIDED, None, {"why": "too little text to tell"})


class Newsroom:
    """All devices and stores."""

    def __init__(self, state: State, options: NewsClustersOptions) -> None:
        self.options = options
        self.fingerprints = FingerprintMap(state)
        self.documents = DocumentMap(state)
        self.table = InvertedTable(state)
        self.selector = Selector(self.fingerprints, self.documents, options)
        self.comparer = Comparer(self.documents, self.table, options)
        self.updater = Updater(self.fingerprints, self.documents, self.table, options)

    def place(self, page: NewsPage) -> Placed:
        """The page joins the cluster that Selector or Comparer finds, or founds its own."""
        found = self.selector.select(page) or self.comparer.compare(page)
        if found is None:
            return self._found_cluster(page)
        self.updater.update(page, found.cluster, self.documents[found.cluster].head)
        return Placed(found.match, self._relation(page, found), found.similarity, found.evidence)

    def _found_cluster(self, page: NewsPage) -> Placed:
        head = elect(page)
        self.updater.update(page, page.id, head)
        why = "no cluster has enough of its fingerprints, and no recent page is like it"
        evidence: dict[str, object] = {"why": why, "device": "Voter", "head": head}
        return Placed(None, Relation.DIFFERENT, None, evidence)

    def _relation(self, page: NewsPage, found: Found) -> Relation:
        same = self.documents[found.match].digest == page.digest
        return Relation.SAME if same else Relation.NEAR
