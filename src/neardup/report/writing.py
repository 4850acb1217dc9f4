"""`report.html`: the run's objects in, one file out."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from neardup.local.corpus import Spilled
from neardup.local.features import Rows
from neardup.local.pipeline import Clustering, Judged
from neardup.local.result import Result
from neardup.report import overview
from neardup.report.document import build_document
from neardup.report.figures import plural
from neardup.report.findings import (
    cluster_sizes,
    decisions,
    hosts_of,
    read_pairs,
    sampled_pairs,
    similarity_counts,
    spread_over_hosts,
)
from neardup.report.listing import LONGEST_TEXT, RELATIONS, Listing, list_clusters, show_pairs

FILE = "report.html"


def write_report(folder: Path, spilled: Spilled, judged: Judged, clustering: Clustering) -> None:
    """Write `report.html` into a folder that has its tables and its summary already."""
    summary = Result(folder).summary
    hosts = hosts_of(spilled.pages["url"])
    decided = decisions(judged, clustering)
    listing = list_clusters(spilled, clustering, hosts)
    pairs = read_pairs(judged, decided, sampled_pairs(judged, clustering, decided))
    shown = show_pairs(spilled, pairs, _places(listing, clustering))
    counts = summary["counts"]
    parts = {
        "method": escape(summary["method"]),
        "headline": overview.headline(counts),
        "proportions": overview.kept_and_dropped(counts),
        "tiles": overview.tiles(counts),
        "sizes": overview.sizes_chart(cluster_sizes(clustering)),
        "similarities": overview.similarity_charts(similarity_counts(judged, decided)),
        "hosts": overview.hosts_table(spread_over_hosts(spilled, clustering, hosts)),
        "details": overview.run_details(summary),
        "left_out": _left_out(counts, listing, shown),
    }
    document = build_document(parts, _data(listing, shown))
    (folder / FILE).write_text(document, encoding="utf-8", newline="\n")


def _places(listing: Listing, clustering: Clustering) -> Rows:
    """Where each page's cluster is in the listing, or -1."""
    places = np.full(clustering.labels.size, -1)
    places[listing.labels] = np.arange(len(listing.labels))
    return places[clustering.labels]


def _data(listing: Listing, pairs: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "relations": RELATIONS,
        "clusters": {name: getattr(listing, name) for name in ("count", "size", "hosts", "saved")},
        "pages": listing.pages,
        "pairs": pairs,
        "longest_text": LONGEST_TEXT,
    }


def _left_out(counts: Mapping[str, int], listing: Listing, pairs: list[dict[str, Any]]) -> str:
    """What this file does not hold, so that nobody looks for it here."""
    alone = counts["clusters"] - counts["clusters_with_duplicates"]
    told = [f"{plural(alone, 'page')} without a duplicate"]
    clusters = counts["clusters_with_duplicates"] - len(listing.count)
    if clusters:
        told.append(f"the {plural(clusters, 'smallest cluster')}")
    members = sum(listing.size) - sum(listing.count)
    if members:
        told.append(f"{plural(members, 'page')} of very large clusters")
    all_pairs = counts["pairs"] + counts["rejected"]
    if all_pairs > len(pairs):
        told.append(f"{plural(all_pairs - len(pairs), 'judged pair')}")
    without = sum(pair["rows"] is None for pair in pairs)
    if without:
        told.append(f"the texts of {plural(without, 'listed pair')}")
    return "; ".join(told)
