"""Runs killed at a random moment and resumed: do they write the same bytes?

Runs over generated pages, with so little memory that their parts go to files, are killed with
SIGKILL and finished with `--resume`, until twenty were killed before they were done. Every file of
each result is compared with that of an undisturbed run, except for the times in the summary.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.timing import dedup_command, run_command
from neardup.evaluation.synth import write_set

KILLS, PAGES = 20, 40_000
MEMORY = "--memory", "800MB"


def main() -> dict[str, object]:
    """How many of the resumed runs wrote the bytes of the undisturbed one."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        pages = write_set(work / "set", PAGES, 1, profile="2026-11", length="short")
        command = dedup_command(pages, work / "whole", *MEMORY)
        run_command(command)  # compiles the kernels
        seconds = run_command(command).wall
        expected = contents(work / "whole")
        same: list[bool] = []
        started_runs = 0
        while len(same) < KILLS:
            killed, result = kill_and_resume(pages, work / "out", seconds, started_runs)
            started_runs += 1
            if killed:
                same.append(result == expected)
    return {
        "pages": PAGES,
        "kills": KILLS,
        "runs started": started_runs,
        "same bytes after resuming": sum(same),
        "files compared": sorted(expected),
    }


def kill_and_resume(
    pages: Path, out: Path, seconds: float, seed: int
) -> tuple[bool, dict[str, Any]]:
    """Whether the run was still alive when killed, and the result after resuming."""
    command = dedup_command(pages, out, *MEMORY)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(random.Random(seed).uniform(0.1, 1.0) * seconds)
    killed = process.poll() is None
    process.kill()
    process.wait()
    run_command([*command, "--resume"])
    result = contents(out)
    shutil.rmtree(out)
    return killed, result


def contents(out: Path) -> dict[str, Any]:
    """Every file of a result, and of the summary what does not differ from run to run."""
    files: dict[str, Any] = {
        str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*.*")
    }
    summary = json.loads(files["summary.json"])
    del summary["run"]
    return {**files, "summary.json": summary}
