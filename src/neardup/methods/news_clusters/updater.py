"""The Updater (section 2, step 5): tells the stores where a page went.

For each fingerprint: (A) unseen, bind it to the cluster with weight a0; (B) bound to another
cluster, lower the weight, and unbind it at 0; (C) bound to this cluster, raise the weight. An
unbound fingerprint, or one whose binding has expired, is free to bind anew.
"""

from __future__ import annotations

from neardup.methods.news_clusters.options import NewsClustersOptions
from neardup.methods.news_clusters.page import NewsPage
from neardup.methods.news_clusters.selector import has_expired
from neardup.methods.news_clusters.stores import (
    Binding,
    Document,
    DocumentMap,
    FingerprintMap,
    InvertedTable,
)


class Updater:
    def __init__(
        self,
        fingerprints: FingerprintMap,
        documents: DocumentMap,
        table: InvertedTable,
        options: NewsClustersOptions,
    ) -> None:
        self._fingerprints = fingerprints
        self._documents = documents
        self._table = table
        self._options = options

    def update(self, page: NewsPage, cluster: str, head: str) -> None:
        """Bind the fingerprints, store the page and its head, and list its words."""
        for fingerprint in page.fingerprints:
            binding = self._bound(self._fingerprints.get(fingerprint), cluster, page.time)
            self._fingerprints.put(fingerprint, binding)
        document = Document(head, cluster, page.time, page.digest, page.content)
        self._documents[page.id] = document
        searched = self._options.candidates == "search"
        self._table.add(page.id, page.time, page.text_words if searched else page.title_words)

    def _bound(self, old: Binding | None, cluster: str, time: int) -> Binding:
        seen = self._seen(old, cluster)
        if old is None or not old.cluster or has_expired(old, time, self._options):
            return Binding(cluster, self._options.a0, time, seen)  # (A)
        if old.cluster == cluster:
            return Binding(cluster, old.weight + 1, old.time, seen)  # (C)
        weight = old.weight - 1  # (B)
        return Binding(old.cluster if weight > 0 else "", weight, old.time, seen)

    def _seen(self, old: Binding | None, cluster: str) -> list[str]:
        """The clusters a fingerprint was seen in; one more than the guard asks for is enough."""
        known = old.seen if old else []
        if cluster in known or len(known) > self._options.common:
            return known
        return [*known, cluster]
