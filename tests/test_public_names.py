"""The public surface: exactly these names, each with a docstring, and importing them is cheap."""

from __future__ import annotations

import subprocess
import sys

import pytest

import neardup

NAMES = [
    "Answer",
    "Block",
    "BlockKind",
    "Cluster",
    "Duplicates",
    "Evaluation",
    "Index",
    "InputError",
    "Method",
    "MissingExtraError",
    "NeardupError",
    "OutputError",
    "Page",
    "RawPage",
    "Region",
    "Relation",
    "Result",
    "StoreError",
    "UsageError",
    "Verdict",
    "compare",
    "dedup",
    "drop_duplicates",
    "evaluate",
    "find_duplicates",
    "html_page",
    "read_pages",
    "recluster",
    "text_page",
]

HEAVY = ["numba", "numpy", "pyarrow", "fastwarc", "resiliparse", "rich", "typer", "fsspec"]


def test_these_are_the_public_names() -> None:
    """A name that comes or goes changes what users may rely on: CHANGELOG.md says so."""
    assert neardup.__all__ == NAMES
    assert dir(neardup) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_a_docstring_of_its_own(name: str) -> None:
    docstring = getattr(neardup, name).__doc__
    assert docstring
    assert not docstring.startswith(f"{name}(")  # what a dataclass writes where nobody has


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(neardup, "nothing_of_the_kind")


def test_importing_neardup_loads_nothing_heavy() -> None:
    code = f"import sys, neardup; print([m for m in {HEAVY} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom neardup.cli.main import app\n"
        f"print([m for m in {HEAVY[:5]} if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
