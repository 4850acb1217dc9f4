"""One run of the engine in a process of its own: what each stage took.

    python -m bench.stages METHOD OUT INPUT... [--workers N]

Prints JSON. Processor time is that of all threads: other work on the machine does not count.
The first run in a process also loads the kernels, which is counted under "start".
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from neardup.api import dedup
from neardup.local.outcome import peak_memory


class StageClock:
    """Told of each stage, as a `Progress` is; remembers when it began."""

    def __init__(self) -> None:
        self._began = [("start", time.perf_counter(), time.process_time())]

    def stage(self, name: str, total: int | None = None) -> None:
        """A stage begins."""
        self._began.append((name, time.perf_counter(), time.process_time()))

    def advance(self, count: int, size: int = 0) -> None:
        """Of no interest here."""

    def seconds(self) -> dict[str, dict[str, float]]:
        """Of each stage so far, up to now."""
        self.stage("end")
        return {
            name: {"wall": round(until - wall, 3), "processor": round(end - processor, 3)}
            for (name, wall, processor), (_, until, end) in zip(
                self._began, self._began[1:], strict=False
            )
        }


def run_stages(
    method: str, inputs: list[Path], out: Path, *, workers: int | None = None
) -> dict[str, Any]:
    """The figures of such a process."""
    command = [sys.executable, "-m", "bench.stages", method, str(out), *map(str, inputs)]
    more = [] if workers is None else ["--workers", str(workers)]
    root = Path(__file__).parents[1]
    done = subprocess.run([*command, *more], check=True, stdout=subprocess.PIPE, cwd=root)
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("method")
    parser.add_argument("out")
    parser.add_argument("inputs", nargs="+")
    parser.add_argument("--workers", type=int)
    chosen = parser.parse_args()
    clock = StageClock()
    result = dedup(
        chosen.inputs,
        chosen.out,
        method=chosen.method,
        workers=chosen.workers,
        force=True,
        progress=clock,
    )
    told = {"seconds": clock.seconds(), "peak_memory_bytes": peak_memory()}
    print(json.dumps({**told, "counts": result.summary["counts"]}))


if __name__ == "__main__":
    main()
