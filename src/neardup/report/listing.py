"""The list of clusters, column by column, within a number of bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neardup.engines.clustering import Clustering
from neardup.engines.features import Rows
from neardup.engines.parsing import Spilled
from neardup.model import Relation
from neardup.report.page_notes import Hosts, read_column
from neardup.report.sample import listed_members
from neardup.report.visible import shortened

LISTING_BYTES = 9_000_000
LONGEST_NAME = 400  # characters of an id or a URL
LONGEST_TITLE = 160
RELATIONS = [str(relation) for relation in Relation]
PAGE_COLUMNS = ["id", "url", "title", "bytes", "relation", "similarity"]
NUMBERS_BYTES = 20  # what the columns of numbers take a page


@dataclass
class Listing:
    """The listed clusters. `pages` run along `count`, and the first of each cluster is kept.

    A page's `url` is null when it is its id, and its `title` when it is that of the kept page;
    its `relation` to the kept page is a place in `RELATIONS`.
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
    pages = np.concatenate(clusters)
    columns = _page_columns(spilled, clustering, pages)
    sizes, saved, on_hosts = _totals(spilled, clustering, hosts)
    first, room = 0, LISTING_BYTES
    for members in clusters:
        rows = range(first, first + members.size)
        first += members.size
        _leave_out_repeats(columns, rows)
        room -= sum(_weight(columns, row) for row in rows)
        if room < 0:
            break
        label = int(clustering.labels[members[0]])
        listing.labels.append(label)
        listing.count.append(int(members.size))
        for column, totals in (("size", sizes), ("saved", saved), ("hosts", on_hosts)):
            getattr(listing, column).append(int(totals[label]))
        for name, values in columns.items():
            listing.pages[name].extend(values[rows.start : rows.stop])
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
        "similarity": _but_for(kept, map(_rounded, to_kept["similarity"].to_pylist())),
    }


def _but_for(kept: list[bool], values: Any) -> list[Any]:
    return [None if is_kept else value for is_kept, value in zip(kept, values, strict=True)]


def _rounded(similarity: float | None) -> float | None:
    return None if similarity is None else round(similarity, 4)


def _leave_out_repeats(columns: dict[str, list[Any]], rows: range) -> None:
    title = columns["title"][rows.start]
    for row in rows:
        if columns["url"][row] == columns["id"][row]:
            columns["url"][row] = None
        if row != rows.start and columns["title"][row] == title:
            columns["title"][row] = None


def _weight(columns: dict[str, list[Any]], row: int) -> int:
    """About the bytes that a page takes in the file."""
    texts = (columns[name][row] or "" for name in ("id", "url", "title"))
    return NUMBERS_BYTES + sum(len(text.encode()) + 3 for text in texts)


def _totals(spilled: Spilled, clustering: Clustering, hosts: Hosts) -> tuple[Rows, Rows, Rows]:
    """By cluster: pages, bytes that the duplicates take, hosts."""
    labels, count = clustering.labels, clustering.labels.size
    bytes_ = np.where(clustering.is_kept, 0, spilled.pages["size"].to_numpy())
    named = np.array([bool(name) for name in hosts.names])[hosts.of_page]
    on_host = np.unique((labels * len(hosts.names) + hosts.of_page)[named]) // len(hosts.names)
    return (
        np.bincount(labels, minlength=count),
        np.bincount(labels, weights=bytes_, minlength=count).astype(np.int64),
        np.bincount(on_host, minlength=count),
    )
