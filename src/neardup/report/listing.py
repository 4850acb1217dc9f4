"""The list of clusters, column by column, within a number of bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neardup.engines.clustering import Clustering
from neardup.engines.features import Rows
from neardup.engines.parsing import Spilled
from neardup.model import Relation
from neardup.report.document import script_safe_json
from neardup.report.page_notes import Hosts, read_column
from neardup.report.sample import listed_members
from neardup.report.shared_ends import against
from neardup.report.visible import shortened

LISTING_BYTES = 9_500_000
LONGEST_NAME = 400  # characters of an id or a URL
LONGEST_TITLE = 160
RELATIONS = [str(relation) for relation in Relation]
PAGE_COLUMNS = ["id", "url", "title", "bytes", "relation", "similarity"]


@dataclass
class Listing:
    """The listed clusters. `pages` run along `count`, and the first of each cluster is kept.

    Ids and titles are written against those of the kept page, URLs against the page's id (see
    `shared_ends`); `relation` is a place in `RELATIONS`.
    """

    labels: list[int] = field(default_factory=list)
    count: list[int] = field(default_factory=list)  # of the pages listed
    size: list[int] = field(default_factory=list)  # of all pages
    hosts: list[int] = field(default_factory=list)
    saved: list[int] = field(default_factory=list)  # bytes
    pages: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in PAGE_COLUMNS})


def list_clusters(spilled: Spilled, clustering: Clustering, hosts: Hosts) -> Listing:
    """The largest clusters that fit."""
    listing = Listing()
    clusters = listed_members(clustering)
    if not clusters:
        return listing
    columns = _page_columns(spilled, clustering, np.concatenate(clusters))
    totals = _totals(spilled, clustering, hosts)
    first, room = 0, LISTING_BYTES
    for members in clusters:
        here = slice(first, first + members.size)
        first = here.stop
        pages = _briefly({name: values[here] for name, values in columns.items()})
        room -= len(script_safe_json([*pages.values()]).encode())
        if room < 0:
            break
        label = int(clustering.labels[members[0]])
        listing.labels.append(label)
        listing.count.append(int(members.size))
        for name, total in totals.items():
            getattr(listing, name).append(int(total[label]))
        for name, values in pages.items():
            listing.pages[name].extend(values)
    return listing


def _page_columns(spilled: Spilled, clustering: Clustering, pages: Rows) -> dict[str, list[Any]]:
    titles = read_column(spilled, "title", pages, 4 * LONGEST_TITLE)
    ids = [shortened(id_, LONGEST_NAME) for id_ in spilled.ids.take(pages).to_pylist()]
    urls = spilled.pages["url"].take(pages).to_pylist()
    member = np.cumsum(~clustering.is_kept) - 1  # its row in `to_kept`
    to_kept = clustering.to_kept.take(np.maximum(member[pages], 0))
    kept = clustering.is_kept[pages].tolist()
    return {
        "id": ids,
        "url": [shortened(url, LONGEST_NAME) for url in urls],
        "title": [shortened(titles.get(page, ""), LONGEST_TITLE) for page in pages.tolist()],
        "bytes": spilled.pages["size"].take(pages).to_pylist(),
        "relation": _but_for(kept, map(RELATIONS.index, to_kept["relation"].to_pylist())),
        "similarity": _but_for(kept, map(rounded, to_kept["similarity"].to_pylist())),
    }


def _but_for(kept: list[bool], values: Any) -> list[Any]:
    return [None if is_kept else value for is_kept, value in zip(kept, values, strict=True)]


def rounded(similarity: float | None) -> float | None:
    """A similarity with as many digits as anyone reads."""
    return None if similarity is None else round(similarity, 4)


def _briefly(pages: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The pages of one cluster: ids and titles against the kept page's, URLs against the id."""
    ids, titles = pages["id"], pages["title"]
    return {
        **pages,
        "id": [ids[0], *(against(id_, ids[0]) for id_ in ids[1:])],
        "url": [against(url, id_) for url, id_ in zip(pages["url"], ids, strict=True)],
        "title": [titles[0], *(against(title, titles[0]) for title in titles[1:])],
    }


def _totals(spilled: Spilled, clustering: Clustering, hosts: Hosts) -> dict[str, Rows]:
    """By cluster: pages, bytes that the duplicates take, hosts."""
    labels, count = clustering.labels, clustering.labels.size
    bytes_ = np.where(clustering.is_kept, 0, spilled.pages["size"].to_numpy())
    named = np.array([bool(name) for name in hosts.names])[hosts.of_page]
    on_host = np.unique((labels * len(hosts.names) + hosts.of_page)[named]) // len(hosts.names)
    return {
        "size": np.bincount(labels, minlength=count),
        "saved": np.bincount(labels, weights=bytes_, minlength=count).astype(np.int64),
        "hosts": np.bincount(on_host, minlength=count),
    }
