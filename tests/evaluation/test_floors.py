"""No method falls below its floor (floors.toml), on a generated set and on the labelled sets.

When methods get better, this writes the higher floors (lowering one takes a reason in the file):

    neardup synth --pages 1000 --seed 1 --out made/generated
    neardup evaluate made/generated ../shared/data/{reprints,versions}-{en,zh} \\
        --out made/measured --floors tests/evaluation/floors.toml --raise-floors
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from neardup.evaluation.floors import broken, read_floors
from neardup.evaluation.metrics import score
from neardup.evaluation.runs import clusters_of
from neardup.evaluation.sets import read_set
from neardup.evaluation.synth import write_set
from neardup.local.runs import dedup
from neardup.methods.base import REGISTRY

FLOORS = read_floors(Path(__file__).with_name("floors.toml"))
DATA = Path(__file__).parents[3] / "shared" / "data"
GENERATED = "generated"


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small set, the same one every time."""
    folder = tmp_path_factory.mktemp("floors") / GENERATED
    write_set(folder, 1000, 1, workers=1)
    return folder


@pytest.mark.parametrize(("name", "method"), sorted(FLOORS))
def test_no_method_is_below_its_floor(
    name: str, method: str, generated: Path, tmp_path: Path
) -> None:
    folder = generated if name == GENERATED else DATA / name
    if not folder.is_dir():
        pytest.skip(f"the labelled set {name} is not here")
    labelled = read_set(folder)
    base, _, preset = method.partition(":")
    out = tmp_path / "result"
    result = dedup(str(labelled.pages), out, method=base, preset=preset or "default")
    scores: dict[str, Any] = score(labelled.truth, clusters_of(result))
    assert broken({(name, method): FLOORS[name, method]}, {name: {method: scores}}) == []


def test_every_method_has_a_floor_on_the_generated_set() -> None:
    assert {method for name, method in FLOORS if name == GENERATED} >= set(REGISTRY)
