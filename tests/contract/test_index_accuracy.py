"""Pages added one by one, in any order, are told apart as well as in a batch run."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from index_checks import groups
from neardup import Index, RawPage
from neardup.api import dedup
from neardup.evaluation.metrics import score
from neardup.evaluation.runs import clusters_of
from neardup.evaluation.sets import ClusterTruth, read_set
from neardup.pages import Limits
from neardup.pages.readers import read_records

SETS = ["reprints-en", "reprints-zh", "versions-en", "versions-zh"]
# Of F1, against a batch run. The most is lost on versions-zh (0.0134): the index joins two pairs of
# help pages that differ in one sentence, and pages with just enough own text for a verdict are
# undecided where a host is known by 32 of its pages.
MOST_LOSS = 0.015


@pytest.mark.parametrize("name", SETS)
def test_three_orders(name: str, shared_data: Path, tmp_path: Path) -> None:
    labelled = read_set(shared_data / name)
    assert isinstance(labelled.truth, ClusterTruth)
    result = dedup(str(labelled.pages), tmp_path / "batch")
    batch = score(labelled.truth, clusters_of(result))["f1"]
    pages = [
        page for page in read_records([str(labelled.pages)], Limits()) if isinstance(page, RawPage)
    ]
    for seed in (1, 2, 3):
        random.Random(seed).shuffle(pages)
        with Index.open(f"sqlite:///{tmp_path / f'{seed}.db'}") as index:
            for page in pages:
                index.add(page)
            found = {each: cluster.name for cluster in index.clusters() for each in cluster.members}
            assert score(labelled.truth, found)["f1"] >= batch - MOST_LOSS, f"order {seed}"
            if seed == 1:
                index.recheck()
                assert groups(index) == {frozenset(each.members) for each in result.clusters()}
