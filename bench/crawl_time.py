"""How well pages are judged one by one, as they arrive: `python -m bench.crawl_time SET...`.

Each labelled set is added to an empty SQLite store page by page, in three random orders. Of the
pages with an earlier copy, how many were reported as duplicates on arrival; of all pages, how many
were reported as duplicates of a page that is not one; F1 of the clusters at the end, and after
`recheck`, which must give the clusters of `dedup`.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from neardup import Index, RawPage
from neardup.api import dedup
from neardup.evaluation.metrics import score
from neardup.evaluation.runs import clusters_of
from neardup.evaluation.sets import ClusterTruth, read_set
from neardup.pages import Limits, read_records

ORDERS = (1, 2, 3)


class Arrivals(NamedTuple):
    """One order of arrival, measured."""

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
    """The pages of a set in each order."""
    labelled = read_set(folder)
    assert isinstance(labelled.truth, ClusterTruth)
    pages = [
        page for page in read_records([str(labelled.pages)], Limits()) if isinstance(page, RawPage)
    ]
    with tempfile.TemporaryDirectory() as work:
        result = dedup(str(labelled.pages), Path(work) / "batch")
        batch = {frozenset(cluster.members) for cluster in result.clusters()}
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
    pages = sorted(pages, key=lambda page: page.id)
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
        groups = {frozenset(each.members) for each in index.clusters()}
        same = {each for each in groups if len(each) > 1} == {
            each for each in batch if len(each) > 1
        }
        return Arrivals(reported / with_copy, wrong / len(pages), f1, _f1(index, truth), same)


def _with_copies(clusters: set[frozenset[str]]) -> set[frozenset[str]]:
    return {cluster for cluster in clusters if len(cluster) > 1}


def _f1(index: Index, truth: ClusterTruth) -> float:
    clusters = {page: each.name for each in index.clusters() for page in each.members}
    return float(score(truth, clusters)["f1"])


if __name__ == "__main__":
    main(sys.argv[1:])
