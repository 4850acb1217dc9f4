"""No method falls below its floor (floors.toml), on a generated set and on the labelled sets.

When methods get better, this writes the higher floors (lowering one takes a reason in the file):

    neardup synth --pages 1000 --seed 1 --profile 2026-11 --out made/generated
    neardup evaluate made/generated ../shared/data/{reprints,versions,copies}-{en,zh} \\
        --out made/measured --floors tests/evaluation/floors.toml --raise-floors
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from neardup.api import dedup
from neardup.evaluation.floors import broken, read_floors
from neardup.evaluation.metrics import score
from neardup.evaluation.runs import clusters_of
from neardup.evaluation.sets import read_set
from neardup.evaluation.synth import write_set
from neardup.methods.registry import BUILT_IN

pytestmark = pytest.mark.slow

FLOORS = read_floors(Path(__file__).with_name("floors.toml"))
DATA = Path(__file__).parents[3] / "shared" / "data"
GENERATED = "generated"

# What this method looks for, copies that differ nowhere, does not occur in these sets. Its F1 is 0,
# and a floor of 0 could not fail: it must say nothing.
FIND_NOTHING = [
    (GENERATED, "exact"),
    ("reprints-en", "exact"),
    ("reprints-zh", "exact"),
    ("versions-zh", "exact"),
]


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small set, the same one every time."""
    folder = tmp_path_factory.mktemp("floors") / GENERATED
    write_set(folder, 1000, 1, profile="2026-11", workers=1)
    return folder


@pytest.fixture
def measured(name: str, method: str, generated: Path, tmp_path: Path) -> dict[str, Any]:
    """The scores of one method on one set."""
    folder = generated if name == GENERATED else DATA / name
    if not folder.is_dir():
        pytest.skip(f"the labelled set {name} is not here")
    labelled = read_set(folder)
    base, _, preset = method.partition(":")
    out = tmp_path / "result"
    result = dedup(str(labelled.pages), out, method=base, preset=preset or "default")
    return score(labelled.truth, clusters_of(result))


@pytest.mark.parametrize(("name", "method"), sorted(FLOORS))
def test_no_method_is_below_its_floor(name: str, method: str, measured: dict[str, Any]) -> None:
    assert broken({(name, method): FLOORS[name, method]}, {name: {method: measured}}) == []


@pytest.mark.parametrize(("name", "method"), FIND_NOTHING)
def test_methods_that_find_nothing_say_nothing(measured: dict[str, Any]) -> None:
    assert measured["said_pairs"] == 0


def test_every_method_has_a_floor_on_every_set() -> None:
    for set_name in {name for name, _ in FLOORS}:
        floored = {method for name, method in FLOORS if name == set_name}
        silent = {method for name, method in FIND_NOTHING if name == set_name}
        assert floored | silent >= set(BUILT_IN), set_name
        assert not floored & silent, set_name
