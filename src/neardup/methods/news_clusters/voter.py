"""The Voter (section 2, step 4): elects the head of a new cluster.

The title's fingerprint is the head; without one, the first of the others, which is that of the
longest paragraph. The cluster itself is named after the page that founds it, because two stories
may have one title.
"""

from __future__ import annotations

from neardup.methods.news_clusters.page import NewsPage


def elect(page: NewsPage) -> str:
    """The head: the fingerprints stand with the title's first. Empty for a page without any."""
    return f"{page.fingerprints[0]:016x}" if page.fingerprints else ""
