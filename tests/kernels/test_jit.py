"""The cache of compiled kernels."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import pytest

import neardup
from neardup.kernels.jit import kernel

pytestmark = pytest.mark.slow

CALL = (
    "import numpy as np; from neardup.kernels.shingles import mix_all; "
    "print(mix_all(np.array([5], np.uint64))[0])"
)


def answer(package: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", CALL], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_change_in_a_kernel_that_another_calls_is_seen(tmp_path: Path) -> None:
    """Numba alone looks at the file of a kernel, not at those of the kernels it calls."""
    package = tmp_path / "neardup"
    ignore = shutil.ignore_patterns("__pycache__", "demo_pages")
    shutil.copytree(Path(neardup.__file__).parent, package, ignore=ignore)
    caches = package / "kernels" / "__pycache__" / "compiled"
    before = answer(package)
    assert len(list(caches.glob("shingles-*"))) == 1
    assert answer(package) == before
    assert len(list(caches.glob("shingles-*"))) == 1
    for other in (
        "utf8",
        "jit",
    ):  # the kernel is compiled by the second and has nothing of the first
        with (package / "kernels" / f"{other}.py").open("a") as file:
            file.write("# changed\n")
        assert answer(package) == before
    assert len(list(caches.glob("shingles-*"))) == 2


def test_the_setting_of_numba_is_left_as_it_was() -> None:
    config: Any = numba.config
    setting = config.CACHE_LOCATOR_CLASSES

    @kernel
    def twice(number: int) -> int:
        return 2 * number

    assert setting == config.CACHE_LOCATOR_CLASSES
    assert twice(4) == 8
