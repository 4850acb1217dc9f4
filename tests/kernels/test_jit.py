"""The cache of compiled kernels."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np
import pytest

import neardup
from neardup.kernels import compiled
from neardup.kernels.compiler import KernelCache
from neardup.kernels.jit import kernel

# Prints what a kernel gives, and how many were compiled for it.
CALL = """
import numpy as np
from neardup.kernels.jit import when_compiling
compiled = []
when_compiling(compiled.append)
from neardup.kernels.shingles import mix_all
print(mix_all(np.array([5], np.uint64))[0], sum(name in ("mix_all", "mix") for name in compiled))
"""


def answer(package: Path, **more: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(package.parent), **more}
    if "NUMBA_CACHE_DIR" not in more:
        environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", CALL], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, without compiled kernels."""
    ignore = shutil.ignore_patterns("__pycache__", "demo_pages", "shipped")
    shutil.copytree(Path(neardup.__file__).parent, tmp_path / "neardup", ignore=ignore)
    return tmp_path / "neardup"


@pytest.fixture
def fresh() -> Iterator[None]:
    """Nothing remembered of where kernels are kept, before and after."""
    functions = (
        compiled.writable,
        compiled.shipped_fit,
        compiled._features,
        compiled._processor,
    )
    for function in functions:
        function.cache_clear()
    yield
    for function in functions:
        function.cache_clear()


@pytest.mark.slow
def test_a_change_in_a_kernel_that_another_calls_is_seen(package: Path) -> None:
    """Numba alone looks at the file of a kernel, not at those of the kernels it calls."""
    caches = package / "kernels" / "__pycache__" / "compiled"
    number, _ = answer(package).split()
    assert len(list(caches.glob("shingles-*"))) == 1
    assert answer(package) == f"{number} 0\n"
    assert len(list(caches.glob("shingles-*"))) == 1
    # The kernel is compiled by `jit`, has nothing of `utf8`, and does not depend on where it lies.
    for other, folders in (("utf8", 1), ("compiled", 1), ("jit", 2)):
        with (package / "kernels" / f"{other}.py").open("a") as file:
            file.write("# changed\n")
        assert answer(package).split()[0] == number
        assert len(list(caches.glob("shingles-*"))) == folders


# Calls a kernel, which is loaded from disk, and then one that is compiled and calls the other.
LOAD = """
import sys
import numpy as np
from neardup.kernels.jit import kernel
from neardup.kernels.shingles import mix_all
numbers = np.array([5], np.uint64)
first = mix_all(numbers)[0]
print(*(name in sys.modules for name in ("numba", "scipy")))

@kernel
def mix_twice(numbers):
    return mix_all(mix_all(numbers))

assert mix_twice(numbers)[0] == mix_all(mix_all(numbers))[0]
"""


@pytest.mark.slow
def test_a_kernel_on_disk_is_loaded_without_the_compiler_and_others_can_call_it(
    tmp_path: Path,
) -> None:
    script = tmp_path / "load.py"
    script.write_text(LOAD)
    source = str(Path(neardup.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    for is_compiled in (True, False):
        done = subprocess.run(
            [sys.executable, str(script)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(str(is_compiled))
        for file in (tmp_path / "kernels").glob("load-*/*.nbc"):
            file.unlink()
    assert done.stdout == "False False\n"


@pytest.mark.slow
@pytest.mark.skipif(compiled.baseline() is None, reason="no kernels are shipped for this machine")
def test_shipped_kernels_are_used_where_they_fit(package: Path, tmp_path: Path) -> None:
    oldest = compiled.baseline()
    assert oldest is not None
    portable = {"NUMBA_CPU_NAME": oldest.cpu, "NUMBA_CPU_FEATURES": ""}
    shipped = package / "kernels" / "shipped"
    number, count = answer(package, NUMBA_CACHE_DIR=str(shipped), **portable).split()
    assert int(count) > 0
    # No kernel is compiled, and nothing is written.
    assert answer(package) == f"{number} 0\n"
    assert not (package / "kernels" / "__pycache__" / "compiled").exists()
    # For another processor they are compiled afresh, and give the same.
    own = str(tmp_path / "own")
    assert answer(package, NUMBA_CACHE_DIR=own, NUMBA_CPU_NAME="generic") == f"{number} {count}\n"
    # So they are when the sources are others than those that were compiled.
    with (package / "kernels" / "jit.py").open("a") as file:
        file.write("# changed\n")
    assert answer(package) == f"{number} {count}\n"


def test_shipped_kernels_need_the_features_of_their_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None
) -> None:
    oldest = compiled.Baseline("some-cpu", frozenset(["avx2", "fma"]))
    monkeypatch.setattr(compiled, "baseline", lambda: oldest)
    monkeypatch.setattr(compiled, "SHIPPED", tmp_path)
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    for features, fit in (({"avx2", "fma", "avx512f"}, True), ({"avx2"}, False)):
        compiled.shipped_fit.cache_clear()
        monkeypatch.setattr(compiled, "_features", lambda some=features: frozenset(some))
        assert compiled.shipped_fit() is fit


def test_where_nothing_can_be_written_kernels_go_to_a_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(compiled, "HERE", tmp_path / "installed")
    assert compiled.writable() == tmp_path / "installed" / "__pycache__" / "compiled"
    refused = {tmp_path / "installed" / "__pycache__" / "compiled"}
    monkeypatch.setattr(compiled, "_can_be_written", lambda folder: folder not in refused)
    compiled.writable.cache_clear()
    assert compiled.writable() == tmp_path / "home" / "neardup"
    refused.add(tmp_path / "home" / "neardup")
    compiled.writable.cache_clear()
    own = compiled.writable()
    assert own == tmp_path / f"neardup-{os.getuid()}"
    assert own.stat().st_mode & 0o777 == 0o700
    # One that others can write to may hold anything: it is not used.
    own.chmod(0o777)
    compiled.writable.cache_clear()
    assert compiled.writable() not in (own, *refused)


def test_a_folder_below_one_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert compiled._can_be_written(tmp_path / "new" / "folder")
    assert not compiled._can_be_written(tmp_path / "file" / "folder")
    assert not compiled._can_be_written(Path("/proc/self/folder"))


def test_a_full_disk_or_a_damaged_file_costs_only_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    (tmp_path / "kernels").touch()  # no folder can be made there

    @kernel
    def twice(number: int) -> int:
        return 2 * number

    assert twice(4) == 8
    assert "cannot keep a compiled kernel" in caplog.text
    (tmp_path / "kernels").unlink()
    assert twice(4.5) == 9.0  # type: ignore[arg-type]
    [file] = (tmp_path / "kernels").glob("*/*.nbc")
    file.write_bytes(file.read_bytes()[:100])
    again = kernel(twice.py_func)  # type: ignore[attr-defined]
    assert again(4.5) == 9.0
    assert len(file.read_bytes()) > 100


def test_a_kernel_that_cannot_be_kept_is_refused() -> None:
    table = np.arange(1_000_000)

    @kernel
    def looked_up(place: int) -> int:
        return int(table[place])

    with pytest.raises(TypeError, match="cannot be kept on disk"):
        looked_up(5)


def test_other_functions_keep_the_cache_of_numba() -> None:
    @numba.njit(cache=True)
    def thrice(number: int) -> int:
        return 3 * number

    assert not isinstance(vars(thrice)["_cache"], KernelCache)
