"""Kernels are compiled before a command starts, in processes, and only once."""

from __future__ import annotations

import errno
import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from neardup.cli import messages, warm_up
from neardup.cli.options import METHODS
from neardup.errors import OutputError, UsageError
from neardup.kernels import compiled

# Stands for a process that compiles: the same words, without the work.
FAKE = """
import sys
for line in sys.stdin:
    if line.strip() == "broken":
        raise SystemExit("failed")
    print("first_kernel\\nsecond_kernel\\ndone", flush=True)
"""


@pytest.fixture
def ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The parts that are compiled; processes are replaced by fakes."""
    monkeypatch.setattr(compiled, "writable", lambda: tmp_path)
    parts: set[str] = set()
    popen = subprocess.Popen

    def start(command: list[str], **options: object) -> subprocess.Popen[str]:
        assert command == [sys.executable, "-P", "-m", "neardup.cli.warm_up"]
        return popen([sys.executable, "-c", FAKE], **options)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr("subprocess.Popen", start)
    monkeypatch.setattr(warm_up, "is_ready", parts.__contains__)
    monkeypatch.setattr(warm_up, "note_ready", parts.add)
    return parts


def test_parts_are_compiled_once_and_told_at_once(
    ready: set[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert warm_up.prepare("pages", "own-text") == 4
    assert ready == {"pages", "own-text"}
    assert "compiling kernels for this machine" in capfd.readouterr().err
    assert warm_up.prepare("pages", "own-text") == 0
    assert capfd.readouterr().err == ""


def test_one_command_waits_while_another_compiles(ready: set[str]) -> None:
    counts: list[int] = []
    with compiled.compiling_alone():
        waiting = threading.Thread(target=lambda: counts.append(warm_up.prepare("pages")))
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
        ready.add("pages")
    waiting.join()
    assert counts == [0]


def test_quiet_says_nothing(
    ready: set[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(messages, "quiet", True)
    warm_up.prepare("pages")
    assert capfd.readouterr().err == ""


def test_a_part_that_fails_is_left_to_the_command(ready: set[str]) -> None:
    warm_up.prepare("broken", "pages", "own-text")
    others = {"pages", "own-text"} if len(os.sched_getaffinity(0)) > 1 else set()
    assert ready == others


def test_a_run_needs_pages_and_its_method(ready: set[str]) -> None:
    warm_up.prepare_run("exact")
    assert ready == {"pages", "exact"}
    warm_up.prepare_run("my_module:MyMethod")
    assert ready == {"pages", "exact"}
    warm_up.prepare_run("all")
    assert ready == {"pages", *METHODS}


def test_warm_up_compiles_everything(ready: set[str], capfd: pytest.CaptureFixture[str]) -> None:
    warm_up.warm_up()
    assert ready == {"pages", *METHODS, *(f"run-{name}" for name in METHODS)}
    assert "kernels ready: 54 compiled" in capfd.readouterr().err


@pytest.mark.parametrize("full", ["at once", "later"])
def test_where_nothing_can_be_kept_a_run_goes_on_and_warm_up_fails(
    full: str,
    ready: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def refuse(part: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if full == "at once":  # a folder that cannot be made, as on a full disk
        (tmp_path / "file").touch()
        monkeypatch.setattr(compiled, "writable", lambda: tmp_path / "file" / "kernels")
    else:
        monkeypatch.setattr(warm_up, "note_ready", refuse)
    monkeypatch.setattr(logging.getLogger("neardup"), "filters", [])  # gets one, for the process
    warm_up.prepare_run("exact")
    output = capfd.readouterr().err.splitlines()
    assert output[-1].startswith("neardup: cannot keep compiled kernels in")
    assert "Traceback" not in "".join(output)
    with pytest.raises(OutputError, match="cannot keep compiled kernels in"):
        warm_up.warm_up()


def test_portable_kernels_where_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "pdp11")
    with pytest.raises(UsageError, match="no portable kernels for pdp11"):
        warm_up.warm_up(portable=True)


@pytest.mark.slow
def test_a_first_run_says_at_once_that_it_compiles(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "neardup", "demo", "--out", str(tmp_path / "out")]
    started = time.monotonic()
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    first = process.stderr.readline()
    waited = time.monotonic() - started
    process.terminate()
    process.stderr.read()
    process.wait()
    process.stderr.close()
    assert "compiling kernels for this machine" in first
    assert waited < 10  # a second on an idle machine; loading numba and Arrow takes longer


@pytest.mark.slow
def test_parts_do_what_needs_their_kernels(tmp_path: Path) -> None:
    said: list[str] = []
    warm_up.compile_parts(["pages", "exact", "run-exact"], said.append)
    assert said.count(warm_up.DONE) == 3


@pytest.mark.slow
def test_a_run_does_not_import_pandas() -> None:
    """Arrow would, half a second of it, where pandas is installed; and it can still be imported."""
    pytest.importorskip("pandas")
    program = (
        "import sys\n"
        "from neardup.cli.warm_up import _keep_pandas_out\n"
        "_keep_pandas_out()\n"
        "import pyarrow as pa\n"
        "pa.array(['a list'])\n"
        "assert 'pandas' not in sys.modules\n"
        "import pandas\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
