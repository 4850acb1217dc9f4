"""The Selector (section 2, step 2): the cluster that X of a page's fingerprints point to.

With a precision p of a single fingerprint, X of them have 1 - (1 - p)^X: from 90 % to 99 % with
two. When several clusters reach X, the one with more votes wins, then with more weight, then the
older.
"""

from __future__ import annotations

from collections import defaultdict

from neardup.methods.news_clusters.options import NewsClustersOptions
from neardup.methods.news_clusters.page import Found, NewsPage
from neardup.methods.news_clusters.stores import (
    DAY,
    Binding,
    DocumentMap,
    FingerprintMap,
)


class Selector:
    def __init__(
        self, fingerprints: FingerprintMap, documents: DocumentMap, options: NewsClustersOptions
    ) -> None:
        self._fingerprints = fingerprints
        self._documents = documents
        self._options = options

    def select(self, page: NewsPage) -> Found | None:
        """The cluster with at least X votes, if there is one."""
        votes: defaultdict[str, list[int]] = defaultdict(list)
        for fingerprint in page.fingerprints:
            binding = self._fingerprints.get(fingerprint)
            if binding and may_vote(binding, page.time, self._options):
                votes[binding.cluster].append(binding.weight)
        elected = [name for name, weights in votes.items() if len(weights) >= self._options.x]
        if not elected:
            return None
        best = min(elected, key=lambda name: self._rank(name, votes[name]))
        return self._found(page, best, votes[best])

    def _rank(self, cluster: str, weights: list[int]) -> tuple[int, int, int, str]:
        founder = self._documents[cluster]
        return -len(weights), -sum(weights), founder.time, cluster

    def _found(self, page: NewsPage, cluster: str, weights: list[int]) -> Found:
        count, total = len(weights), len(page.fingerprints)
        evidence: dict[str, object] = {
            "why": f"{count} of {total} fingerprints point to the cluster of {cluster}",
            "device": "Selector",
            "votes": count,
            "fingerprints": total,
            "weight": sum(weights),
        }
        return Found(cluster, cluster, count / total, evidence)


def may_vote(binding: Binding, time: int, options: NewsClustersOptions) -> bool:
    """Whether a binding holds at a time, and is none of boilerplate."""
    is_common = options.common and len(binding.seen) > options.common
    return bool(binding.cluster) and not is_common and not has_expired(binding, time, options)


def has_expired(binding: Binding, time: int, options: NewsClustersOptions) -> bool:
    """Whether a binding is older than bindings may be (section 3, point 4)."""
    return options.expiry > 0 and time - binding.time > options.expiry * DAY
