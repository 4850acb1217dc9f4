"""One method on one set, in a process of its own: its memory is its own, its crash too."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neardup.engines.output import make_empty
from neardup.engines.result import Result
from neardup.errors import UsageError
from neardup.methods.base import make_method


@dataclass(frozen=True)
class Contender:
    """A method as it is asked for: `name`, `name:paper` (the paper's rule as printed), and
    options, as in `feature-code:paper:index=exact`."""

    name: str
    method: str
    preset: str = "default"
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def named(cls, text: str) -> Contender:
        """From the command line; an unknown method, preset or option is told at once."""
        method, *rest = text.strip().split(":")
        options = dict(part.split("=", 1) for part in rest if "=" in part)
        presets = [part for part in rest if "=" not in part]
        if len(presets) > 1:
            raise UsageError(f"{text}: one preset at most, not {' and '.join(presets)}")
        preset = presets[0] if presets else "default"
        make_method(method, options, preset=preset)
        return cls(text.strip(), method, preset, options)

    @property
    def folder(self) -> str:
        """Its name as a folder's."""
        return self.name.replace(":", "-")


@dataclass(frozen=True)
class Outcome:
    """What a run left: a result, or why there is none."""

    result: Result | None
    seconds: float  # of the stages of the run; without starting Python, and without the report
    peak_memory: int  # bytes
    error: str = ""


def contenders(names: list[str]) -> list[Contender]:
    """Each once, in the order named."""
    if not names:
        raise UsageError("name at least one method")
    return [Contender.named(name) for name in dict.fromkeys(names)]


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """An empty folder for some time; what a killed run has left there goes."""
    make_empty(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_alone(pages: Path, contender: Contender, out: Path, workers: int | None = None) -> Outcome:
    """`neardup dedup` over the pages in a new process; the result is left in `out`."""
    command = [sys.executable, "-m", "neardup", "dedup", str(pages), "--out", str(out)]
    command += ["--method", contender.method, "--preset", contender.preset]
    command += [f"--workers={workers}"] if workers else []
    for name, value in contender.options.items():
        command += ["--set", f"{name}={value}"]
    started = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as told:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=told, check=False
        )
        told.seek(0)
        lines = told.read().splitlines()
    if done.returncode:
        last = lines[-1] if lines else f"ended with code {done.returncode}"
        return Outcome(None, time.monotonic() - started, 0, last.removeprefix("neardup: "))
    result = Result(out)
    measured: Mapping[str, Any] = result.summary["run"]
    spent = sum(some for stage, some in measured["seconds"].items() if stage != "report")
    return Outcome(result, spent, measured["peak_memory_bytes"])
