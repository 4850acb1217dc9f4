"""Reading and parsing, and the whole run, compared with the scanner kernel alone; the second core.

20,000 generated pages of 8 KB in JSONL.zst (with --full 200,000). The scanner alone runs over the
same bytes, already decoded, in memory. Each run is a separate process; its figure is the processor
time of all its threads without start-up, the best of three runs that alternate with the scanner.
One worker is one thread. The serial share is measured with two workers: the share of processor time
spent outside the items they process. It determines the speed-up with more cores (Amdahl's law). The
ratio by the wall clock needs an idle machine, and so does the most that this machine can give: the
same ratio for the scanner alone, with half of the pages in each of two threads.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from bench.stages import StageClock
from bench.timing import best_seconds, dedup_command, in_process, kept_bytecode, run_command
from neardup.api import dedup
from neardup.arrays import string_buffers
from neardup.evaluation.synth import write_set
from neardup.kernels.scan import Scanner
from neardup.local import features, outcome, pipeline, prior, run, work
from neardup.pages.readers import read
from neardup.text.charset import Bodies, bodies_to_utf8

PAGES, FULL_PAGES = 20_000, 200_000
ROUNDS = 3


def main(*, full: bool) -> dict[str, object]:
    """Ratios, seconds by stage, and the gain from a second core."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        pages = write_set(work / "set", FULL_PAGES if full else PAGES)
        small = write_set(work / "small", 50)
        in_process("reading", "run", small, small, work / "warm", 1)
        scans, ones, twos = [], [], []
        for number in range(ROUNDS):
            scans.append(in_process("reading", "scan", pages))
            ones.append(in_process("reading", "run", pages, small, work / f"one-{number}", 1))
            twos.append(in_process("reading", "run", pages, small, work / f"two-{number}", 2))
        report = in_process("reading", "run", pages, small, work / "report", 1, "report")
        again = small_runs(small, work)
    scan = min(each["processor"] for each in scans)
    one = min(ones, key=lambda each: float(each["processor"]))
    two = min(twos, key=lambda each: float(each["wall"]))
    parse = min(each["seconds"]["parse"]["processor"] for each in ones)
    serial = 1 - two["in items"] / two["processor"]
    return {
        "pages": scans[0]["pages"],
        "megabytes": scans[0]["megabytes"],
        "processor seconds": {
            "scanner alone": scan,
            **{name: each["processor"] for name, each in one["seconds"].items()},
        },
        "reading and parsing / scanner alone (at most 3)": round(parse / scan, 2),
        "whole run without report / scanner alone (at most 7)": round(one["processor"] / scan, 2),
        "two workers against one, by the clock (at least 1.85)": round(
            min(each["wall"] for each in ones) / two["wall"], 2
        ),
        "two threads of the scanner alone against one, by the clock": round(
            min(each["one thread"] for each in scans) / min(each["two threads"] for each in scans),
            2,
        ),
        "serial share (at most 0.04)": round(serial, 3),
        "speed-up by the serial share": {
            f"{cores} cores": round(1 / (serial + (1 - serial) / cores), 1) for cores in (2, 16, 64)
        },
        "report / run (under 0.1)": round(
            report["seconds"]["report"]["processor"] / report["processor"], 3
        ),
        "the same small run again, processor seconds (under 0.8)": again,
    }


def small_runs(pages: Path, work: Path) -> float:
    """Processor seconds of `neardup dedup` over fifty pages, the best of three."""
    environment = kept_bytecode(work / "bytecode")
    command = dedup_command(pages, work / "again", "--no-report")
    costs = [  # the first run writes the bytecode
        run_command(command, environment).processor for _ in range(ROUNDS + 1)
    ]
    return round(min(costs), 2)


def measure_scan(path: Path) -> dict[str, Any]:
    """The scanner alone over the pages of a file."""
    batches = [batch.pages for batch in read([str(path)])]
    bodies = [
        bodies_to_utf8(*string_buffers(each["body"]), each["charset"].to_pylist().__getitem__)
        for each in batches
    ]

    def scan(some: Sequence[Bodies]) -> None:
        for data, ends, _ in some:
            scanner = Scanner(len(ends) - 1, int(ends[-1]))
            while scanner.scan_pages(data, ends, np.ones(len(ends) - 1, np.bool_)):
                pass
            scanner.result()

    def scan_halves() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(scan, (bodies[::2], bodies[1::2])))

    jobs = {"one": lambda: scan(bodies), "two": scan_halves}
    clock = best_seconds(jobs, ROUNDS, time.perf_counter)
    return {
        "pages": sum(each.num_rows for each in batches),
        "megabytes": round(sum(int(each.ends[-1]) for each in bodies) / 1e6, 1),
        "processor": round(best_seconds({"scan": jobs["one"]}, ROUNDS)["scan"], 3),
        "one thread": clock["one"],
        "two threads": clock["two"],
    }


class Counted:
    """Sums up the processor time that several workers spend on their items."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock = threading.Lock()

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with its time counted."""

        def timed(*arguments: Any) -> Any:
            started = time.thread_time()
            try:
                return function(*arguments)
            finally:
                with self._lock:
                    self.seconds += time.thread_time() - started

        return timed

    def map(self, function: Callable[..., Any], items: Any, workers: int) -> Iterator[Any]:
        """`ordered_map`; with one worker the time is serial."""
        return run.ordered_map(self.wrap(function) if workers > 1 else function, items, workers)

    def side_by_side(self, sources: Any, function: Callable[..., Any], workers: int) -> None:
        """`work_side_by_side`; taking a block from a file counts as a worker's time."""
        if workers == 1:
            run.work_side_by_side(sources, function, workers)
            return
        taken = [self.taking(source) for source in sources]
        run.work_side_by_side(taken, self.wrap(function), workers)

    def taking(self, source: Iterator[Any]) -> Iterator[Any]:
        """The items of a source, with the time for taking them counted."""
        take = self.wrap(lambda: next(source, None))
        while (item := take()) is not None:
            yield item


def measure_run(path: Path, small: Path, out: Path, workers: int, *, report: bool) -> Any:
    """One run in this process, after a run over a few pages that loads the kernels."""
    counted = Counted()
    with tempfile.TemporaryDirectory() as folder:
        dedup(str(small), Path(folder) / "out", workers=workers, report=report)
    for module in (features, outcome, pipeline, prior, work):
        setattr(module, "ordered_map", counted.map)  # noqa: B010 - not theirs to export
    setattr(work, "work_side_by_side", counted.side_by_side)  # noqa: B010
    clock = StageClock()
    started, wall = time.process_time(), time.perf_counter()
    dedup(str(path), out, workers=workers, report=report, progress=clock)
    processor, wall = time.process_time() - started, time.perf_counter() - wall
    return {
        "seconds": clock.seconds(),
        "processor": round(processor, 3),
        "wall": round(wall, 3),
        "in items": round(counted.seconds, 3),
    }


if __name__ == "__main__":
    kind, source, *rest = sys.argv[1:]
    if kind == "scan":
        print(json.dumps(measure_scan(Path(source))))
    else:
        few, target, threads, *more = rest
        figures = measure_run(
            Path(source), Path(few), Path(target), int(threads), report=bool(more)
        )
        print(json.dumps(figures))
