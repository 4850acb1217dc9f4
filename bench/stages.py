"""Times of the stages of one run in a separate process: `run_stages`.

Processor time is that of all threads. Loading the kernels, which happens once per process, counts
as "start".
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from bench.timing import in_process
from neardup.api import dedup
from neardup.local.outcome import peak_memory


class StageClock:
    """A `Progress` that records when each stage begins."""

    def __init__(self) -> None:
        self._began = [("start", time.perf_counter(), time.process_time())]

    def stage(self, name: str, total: int | None = None) -> None:
        self._began.append((name, time.perf_counter(), time.process_time()))

    def advance(self, count: int, size: int = 0) -> None:
        """Not needed here."""

    def seconds(self) -> dict[str, dict[str, float]]:
        """Wall-clock and processor seconds of each stage; the last one ends now."""
        self.stage("end")
        return {
            name: {"wall": round(until - wall, 3), "processor": round(end - processor, 3)}
            for (name, wall, processor), (_, until, end) in zip(
                self._began, self._began[1:], strict=False
            )
        }


def run_stages(method: str, inputs: list[Path], out: Path) -> dict[str, Any]:
    """Seconds by stage, peak memory and counts of a run."""
    return in_process("stages", method, out, *inputs)


def main() -> None:
    """Run in this process and print the figures: the command of `run_stages`."""
    method, out, *inputs = sys.argv[1:]
    clock = StageClock()
    result = dedup(inputs, out, method=method, force=True, progress=clock)
    figures = {"seconds": clock.seconds(), "peak_memory_bytes": peak_memory()}
    print(json.dumps({**figures, "counts": result.summary["counts"]}))


if __name__ == "__main__":
    main()
