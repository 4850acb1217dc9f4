"""A run that is killed twenty times at random moments, and resumed each time: the same bytes?

    python -m bench.kill_and_resume

Runs over generated pages get SIGKILL at a random moment of their life and are taken up with
`--resume`, until twenty were killed in time (one that was done already does not count). Every file
of each result is compared with that of an undisturbed run, the times in the summary apart.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from neardup.evaluation.synth import write_set

KILLS, PAGES = 20, 4_000


def main(data: Path | None = None) -> dict[str, object]:
    """How many of the resumed runs gave the bytes of the undisturbed one."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        pages = write_set(work / "set", PAGES, 1, profile="2026-11", length="short")
        whole = work / "whole"
        subprocess.run(command(pages, whole), check=True, capture_output=True)  # compiles
        started = time.monotonic()
        subprocess.run(command(pages, whole), check=True, capture_output=True)
        seconds = time.monotonic() - started
        expected = contents(whole)
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
    process = subprocess.Popen(
        command(pages, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(random.Random(seed).uniform(0.1, 1.0) * seconds)
    killed = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    subprocess.run([*command(pages, out), "--resume"], check=True, capture_output=True)
    result = contents(out)
    for path in out.iterdir():
        path.unlink()
    out.rmdir()
    return killed, result


def command(pages: Path, out: Path) -> list[str]:
    return [sys.executable, "-m", "neardup", "dedup", str(pages), "--out", str(out), "--force"]


def contents(out: Path) -> dict[str, Any]:
    """Every file of a result; of the summary all but what differs from run to run."""
    files: dict[str, Any] = {path.name: path.read_bytes() for path in out.iterdir()}
    summary = json.loads(files["summary.json"])
    del summary["run"]
    return {**files, "summary.json": summary}


if __name__ == "__main__":
    print(json.dumps(main(), indent=2))
