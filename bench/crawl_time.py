"""The quality of decisions made as pages arrive: `python -m bench.crawl_time SET...`.

The pages of each labelled set are added one by one to an empty SQLite store, in three random
orders. The table shows the share of pages with an earlier copy that were reported as duplicates on
arrival, the share of all pages reported as a duplicate of the wrong page, and F1 of the clusters
at the end and after `recheck`, which must give the clusters of `dedup`.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.documents import read_pages
from neardup import Index, RawPage
from neardup.api import dedup
from neardup.evaluation.metrics import score
from neardup.evaluation.runs import clusters_of
from neardup.evaluation.sets import ClusterTruth, read_set

ORDERS = (1, 2, 3)


class Arrivals(NamedTuple):
    """The figures of one order of arrival."""

    reported: float  # of the pages with an earlier copy
    wrong: float  # of all pages
    f1: float
    f1_rechecked: float
    as_dedup: bool


def main(sets: Sequence[str]) -> None:
    """Print a row for each set and order."""
    print("set | order | reported | wrong | F1 | F1 after recheck | clusters of dedup")
    for folder in sets:
        for order, row in zip(ORDERS, measure_set(Path(folder)), strict=True):
            print(
                f"{Path(folder).name} | {order} | {row.reported:.4f} | {row.wrong:.4f} | "
                f"{row.f1:.4f} | {row.f1_rechecked:.4f} | {row.as_dedup}",
                flush=True,
            )


def measure_set(folder: Path) -> list[Arrivals]:
    """Add the pages of a set in each order."""
    labelled = read_set(folder)
    assert isinstance(labelled.truth, ClusterTruth)
    pages = sorted(read_pages(labelled.pages), key=lambda page: page.id)
    with tempfile.TemporaryDirectory() as work:
        result = dedup(str(labelled.pages), Path(work) / "batch")
        batch = {frozenset(each.members) for each in result.clusters() if len(each.members) > 1}
        print(f"{folder.name} | batch | | | {score(labelled.truth, clusters_of(result))['f1']:.4f}")
        return [
            _measure_order(pages, labelled.truth, batch, Path(work) / f"{seed}.db", seed)
            for seed in ORDERS
        ]


def _measure_order(
    pages: list[RawPage],
    truth: ClusterTruth,
    batch: set[frozenset[str]],
    store: Path,
    seed: int,
) -> Arrivals:
    pages = list(pages)
    random.Random(seed).shuffle(pages)
    article = {page: truth.articles[page] for page in truth.judged}
    earlier: set[str] = set()
    with_copy = reported = wrong = 0
    with Index.open(f"sqlite:///{store}") as index:
        for page in pages:
            answer = index.add(page)
            label = article.get(page.id)
            if label is None:
                continue
            has_copy = label in earlier
            with_copy += has_copy
            reported += has_copy and answer.duplicate
            wrong += answer.duplicate and article.get(answer.of or "") != label
            earlier.add(label)
        f1 = _f1(index, truth)
        index.recheck()
        groups = {frozenset(each.members) for each in index.clusters() if len(each.members) > 1}
        return Arrivals(
            reported / with_copy, wrong / len(pages), f1, _f1(index, truth), groups == batch
        )


def _f1(index: Index, truth: ClusterTruth) -> float:
    clusters = {page: each.name for each in index.clusters() for page in each.members}
    return float(score(truth, clusters)["f1"])


if __name__ == "__main__":
    main(sys.argv[1:])
