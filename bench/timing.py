"""Processor time, wall-clock time and peak memory of functions and commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]


class Cost(NamedTuple):
    """What a process took, with the child processes it waited for."""

    processor: float  # seconds
    wall: float  # seconds
    peak_mb: float


def best_seconds(
    jobs: Mapping[str, Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, float]:
    """The best time of each job. Jobs alternate, so that a busy machine slows all of them."""
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(rounds):
        for name, job in jobs.items():
            started = clock()
            job()
            best[name] = min(best[name], clock() - started)
    return best


def in_process(module: str, *arguments: object) -> dict[str, Any]:
    """The figures that `python -m bench.MODULE ...` prints."""
    command = [sys.executable, "-m", f"bench.{module}", *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def dedup_command(pages: Path, out: Path, *options: str) -> list[str]:
    """`neardup dedup` on these pages, with this Python."""
    command = [sys.executable, "-m", "neardup", "dedup", str(pages), "--out", str(out), "--force"]
    return [*command, *options]


def kept_bytecode(folder: Path) -> dict[str, str]:
    """The environment of a command whose bytecode is kept, as Python does by default: compiling the
    libraries again takes 0.8 s more."""
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder)}


def run_command(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Cost:
    """Run a command without its output; an error if it fails."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as messages:
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=messages
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if status:
            messages.seek(0)
            errors = messages.read()[-1000:].decode(errors="replace").strip()
            raise RuntimeError(f"{' '.join(command)} ended with status {status}: {errors}")
    wall = time.perf_counter() - started
    return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * 1024 / 1e6)
