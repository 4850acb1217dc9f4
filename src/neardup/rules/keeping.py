"""Which page of a cluster is kept.

A policy orders the members of a cluster; the first is kept. What a policy leaves open is decided
by the id, so the choice never depends on the order of input. Pages are numbered in the order of
their ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.errors import UsageError
from neardup.pages.urls import canonicalise

Order = NDArray[np.float64] | NDArray[np.int64]


def choose_kept(policy: str, pages: pa.Table, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each page the page that its cluster keeps.

    `labels` names each page's cluster by its smallest member; `pages` has the columns length,
    time, url and canonical_url, in the order of ids.
    """
    order = policy_order(policy)(pages, labels)
    best_first = np.lexsort((order, labels))  # stable: equal ones stay in the order of ids
    heads = np.flatnonzero(np.diff(labels[best_first], prepend=-1))
    kept = np.empty(labels.size, np.int64)
    kept[labels[best_first[heads]]] = best_first[heads]
    return kept[labels]


def policy_order(policy: str) -> Callable[[pa.Table, NDArray[np.int64]], Order]:
    """The policy of that name, or an error that lists them."""
    try:
        return POLICIES[policy]
    except KeyError:
        raise UsageError(
            f"unknown keep policy {policy!r}; there are: {', '.join(POLICIES)}"
        ) from None


def _longest(pages: pa.Table, _: NDArray[np.int64]) -> Order:
    lengths: Order = pages["length"].to_numpy()
    return -lengths


def _first(pages: pa.Table, _: NDArray[np.int64]) -> Order:
    return np.zeros(pages.num_rows)


def _newest(pages: pa.Table, _: NDArray[np.int64]) -> Order:
    return -_seconds(pages, missing=-np.inf)


def _oldest(pages: pa.Table, _: NDArray[np.int64]) -> Order:
    return _seconds(pages, missing=np.inf)


def _seconds(pages: pa.Table, missing: float) -> NDArray[np.float64]:
    micros = pages["time"].cast(pa.int64()).cast(pa.float64())
    return np.asarray(pc.fill_null(micros, missing).to_numpy(), np.float64)


def _canonical(pages: pa.Table, labels: NDArray[np.int64]) -> Order:
    """The page whose URL most members name as canonical, then the shortest URL."""
    order = np.zeros(pages.num_rows)
    crowded = np.flatnonzero(np.bincount(labels, minlength=labels.size)[labels] > 1)
    urls = pages["url"].take(pa.array(crowded)).to_pylist()
    named = pages["canonical_url"].take(pa.array(crowded)).to_pylist()
    members = list(zip(labels[crowded].tolist(), urls, named, strict=True))
    votes = Counter((label, target) for label, _, target in members if target)
    for row, (label, url, _) in zip(crowded, members, strict=True):
        wins = votes[label, canonicalise(url)] if url else -1
        order[row] = -wins * 1e6 + min(len(url), 999_999)
    return order


POLICIES: Mapping[str, Callable[[pa.Table, NDArray[np.int64]], Order]] = {
    "longest": _longest,  # the most text
    "first": _first,  # the smallest id
    "newest": _newest,  # pages without a time last
    "oldest": _oldest,
    "canonical": _canonical,
}
