"""The public surface: what is exported, and that importing it is cheap."""

from __future__ import annotations

import subprocess
import sys

import neardup

HEAVY = ["numba", "numpy", "pyarrow", "fastwarc", "resiliparse", "rich", "typer", "fsspec"]


def test_every_public_name_is_there() -> None:
    for name in neardup.__all__:
        assert getattr(neardup, name) is not None
    assert sorted(neardup.__all__) == neardup.__all__


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
