"""The Spark engine: time, growth, memory and skew, beside the local engine on the same pages.

Both engines run as the whole `neardup dedup` in a separate process, Spark on two cores of this
machine (`local[2]`). Processor seconds count all processes, including the JVM and the Python
workers; wall-clock seconds show whether the machine was busy with other work. The longest task is
listed with the median of its stage.

* short pages: those of `bench.growth`, 20,000, 200,000 and 2,000,000, with 3 GB of memory for Java;
* skewed: the 20,000, of which a tenth share a banner and a third are on one host;
* 200,000 pages of 8 KB in one compressed file, with 6 GB and with 1 GB;
* extreme: the first 20,000 of these with a third on one host, a line that all share, and one page
  of 40 MB, with 1 GB;
* start: one page.

It takes about 25 minutes on two idle cores and 40 GB of disk in the folder of temporary files
(TMPDIR). Figures are printed as they are known; a part that fails says so, and the others still
run. `python -m bench.spark PART...` runs some parts (`PARTS`) only.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count as count_from
from itertools import islice
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from bench.growth import COLUMNS, FULL_SIZE, SIZES, disguised, generated, write_pages
from bench.timing import dedup_command, run_command
from neardup.evaluation.synth import synth
from neardup.local.run import default_workers

BECOME_SUBREAPER = 36  # for prctl: orphans of a child become our children, to wait for
LARGE_PAGE = 40_000_000
BANNER = "<div>" + "<p>This site keeps cookies on your device to remember what you read.</p>" * 3
HEAP = "3g"
LOOK = 0.5  # seconds between looks at workers
WORK = 0.1  # least seconds of a task that has work to do


Figures = dict[str, Any]


def main() -> dict[str, object]:
    """The figures of every part, and those that have a target."""
    return measure(list(PARTS))


def measure(parts: Sequence[str]) -> dict[str, object]:
    """The figures of some parts. One that fails is reported, and the others still run."""
    with tempfile.TemporaryDirectory() as folder:
        pages = Pages(Path(folder))
        figures: Figures = {}
        for name in parts:
            began = time.perf_counter()
            try:
                figures[name] = PARTS[name](pages)
            except (RuntimeError, OSError, KeyError, ValueError) as error:
                figures[name] = {"failed": f"{type(error).__name__}: {error}"}
            took = round(time.perf_counter() - began)
            print(f"-- {name} ({took} s)", json.dumps(figures[name]), flush=True)
    return {"targets": targets(figures), **figures}


def targets(figures: Figures) -> Figures:
    """The figures that have a target; null if their part has failed or has not run."""

    def figure(part: str, name: str) -> float | None:
        known: float | None = figures.get(part, {}).get("spark", {}).get(name)
        return known

    def growth(smaller: int, larger: int) -> float | None:
        parts = [short_name(each) for each in (smaller, larger)]
        seconds = [figure(part, "processor_seconds") for part in parts]
        if seconds[0] is None or seconds[1] is None:
            return None
        return round(1000 * (seconds[1] - seconds[0]) / (larger - smaller), 3)

    uneven = "longest / median where tasks have work"
    return {
        "200,000 pages of 8 KB with 1 GB, wall seconds (finishes)": figure(LITTLE, "wall_seconds"),
        "extreme pages with 1 GB, wall seconds (finishes)": figure(EXTREME, "wall_seconds"),
        "200,000 pages of 8 KB with 6 GB, wall seconds (at most 130)": figure(
            LARGE, "wall_seconds"
        ),
        "processor ms a page, 20,000 to 200,000": growth(*SIZES),
        "processor ms a page, 200,000 to 2,000,000 (at most 0.3)": growth(SIZES[-1], FULL_SIZE),
        "start, processor seconds (at most 40)": figure(START, "processor_seconds"),
        "seconds to the first page (at most 12)": figure(START, "seconds_to_the_first_page"),
        f"{uneven}, skewed (under 5)": figure(SKEWED, uneven),
        f"{uneven}, 200,000 (under 5)": figure(short_name(SIZES[-1]), uneven),
    }


class Pages:
    """The sets of pages, each made when it is first used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def short(self, count: int) -> Path:
        """So many short pages; the two million are the 200,000 in ten disguises."""
        path = self.folder / f"{count}.parquet"
        if not path.exists():
            many = disguised(self.short(SIZES[-1])) if count == FULL_SIZE else generated(count)
            write_pages(path, many)
        return path

    def of_8_kb(self) -> Path:
        """Pages of 8 KB in one file."""
        path = self.folder / "8k.jsonl.zst"
        if not path.exists():
            pages = normal_pages(SIZES[-1])
            write_lines(path, ({"url": url, "html": html} for url, html in pages))
        return path


def run_short(count: int) -> Callable[[Pages], Figures]:
    """Both engines on short pages; the local one not on two million."""

    def run(pages: Pages) -> Figures:
        path, out = pages.short(count), pages.folder / "out"
        if count == FULL_SIZE:
            figures = {"spark": run_spark(path, out)}
            path.unlink()
            return figures
        run_local(pages.short(SIZES[0]), out)  # compiles the kernels
        return compared(path, pages.folder)

    return run


def run_skewed(pages: Pages) -> Figures:
    """Short pages with a banner and a large host."""
    skewed = pages.folder / "skewed.parquet"
    write_pages(skewed, with_banner_and_host(pages.short(SIZES[0])))
    return {"spark": run_spark(skewed, pages.folder / "out")}


def run_large(pages: Pages) -> Figures:
    """Both engines on pages of 8 KB, with 6 GB of memory."""
    return compared(pages.of_8_kb(), pages.folder, "6g")


def run_with_little_memory(pages: Pages) -> Figures:
    """The same pages with 1 GB."""
    return {"spark": run_spark(pages.of_8_kb(), pages.folder / "out", "1g")}


def run_extreme(pages: Pages) -> Figures:
    """What is hardest to bound, with 1 GB."""
    path = pages.folder / "extreme.jsonl.zst"
    write_lines(path, extreme_pages(pages.of_8_kb(), SIZES[0]))
    most = ["--max-page-size", "64MB"]
    return {"spark": run_spark(path, pages.folder / "out", "1g", *most)}


def run_start(pages: Pages) -> Figures:
    """The fixed cost: a run over one page, and the time until that page is parsed."""
    page = pages.folder / "one.jsonl"
    page.write_text(json.dumps({"html": f"<p>{BANNER}"}) + "\n")
    began = time.time()
    run = run_spark(page, pages.folder / "out")
    return {"spark": {**run, "seconds_to_the_first_page": round(run["first_step_at"] - began, 1)}}


def short_name(count: int) -> str:
    return f"{count:,} short pages"


START, SKEWED = "start", "skewed"
LARGE, LITTLE, EXTREME = "8 KB with 6 GB", "8 KB with 1 GB", "extreme with 1 GB"
# In the order of running; the first one also warms the caches of the machine.
PARTS: dict[str, Callable[[Pages], Figures]] = {
    short_name(SIZES[0]): run_short(SIZES[0]),
    START: run_start,
    SKEWED: run_skewed,
    short_name(SIZES[1]): run_short(SIZES[1]),
    short_name(FULL_SIZE): run_short(FULL_SIZE),
    LARGE: run_large,
    LITTLE: run_with_little_memory,
    EXTREME: run_extreme,
}


def normal_pages(count: int) -> Iterator[tuple[str, str]]:
    """URL and HTML of generated pages of 8 KB."""
    for batch in synth(count, 7, workers=default_workers()):
        yield from zip(batch["url"].to_pylist(), batch["content"].to_pylist(), strict=True)


def extreme_pages(path: Path, count: int) -> Iterator[dict[str, str]]:
    """Pages of which a third are on one host, all share a line, and one has 40 MB."""
    line = "<body><p>The same line stands on every page of this crawl.</p>"
    with zstandard.open(path, "rt", encoding="utf-8") as file:
        for number, record in enumerate(map(json.loads, islice(file, count))):
            host = f"http://www.large.example/{number}" if number % 3 == 0 else record["url"]
            yield {"url": host, "html": record["html"].replace("<body>", line, 1)}
    lines = (f"<p>Entry {number} of a register that goes on for long." for number in count_from(0))
    size, page = 0, []
    while size < LARGE_PAGE:
        page.append(next(lines))
        size += len(page[-1])
    yield {"url": "http://register.example/", "html": "".join(page)}


def write_lines(path: Path, records: Iterable[dict[str, str]]) -> None:
    """Write JSON lines to one compressed file."""
    with zstandard.open(path, "wt", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def compared(path: Path, work: Path, heap: str = HEAP) -> Figures:
    """Both engines on one file; an error if their counts differ."""
    local, spark = run_local(path, work / "local"), run_spark(path, work / "spark", heap)
    counts = [
        json.loads((work / each / "summary.json").read_text())["counts"]
        for each in ("local", "spark")
    ]
    if counts[0] != counts[1]:
        raise RuntimeError(f"the engines differ: {counts}")
    ratios = {
        f"{clock} seconds, Spark / local": round(
            spark[f"{clock}_seconds"] / local[f"{clock}_seconds"], 2
        )
        for clock in ("processor", "wall")
    }
    return {"local": local, "spark": spark, **ratios}


def with_banner_and_host(path: Path) -> Iterator[pa.RecordBatch]:
    """The pages, with a banner on a tenth of them and a third moved to one host."""
    number = 0
    for batch in pq.ParquetFile(path).iter_batches(10_000):
        rows = list(zip(batch["url"].to_pylist(), batch["html"].to_pylist(), strict=True))
        urls, pages = [], []
        for url, html in rows:
            tail = url.partition("://")[2].partition("/")[2]
            urls.append(f"http://www.large.example/{number}/{tail}" if number % 3 == 0 else url)
            pages.append(html.replace("</body>", f"{BANNER}</body>") if number % 10 == 0 else html)
            number += 1
        yield pa.record_batch([pa.array(urls), pa.array(pages)], schema=COLUMNS)


def run_local(path: Path, out: Path) -> dict[str, Any]:
    """The cost of a run with the local engine."""
    return timed(dedup_command(path, out, "--format", "parquet"), out, os.environ)


def run_spark(path: Path, out: Path, heap: str = HEAP, *more: str) -> dict[str, Any]:
    """The cost of a run with the Spark engine, and its longest task."""
    with tempfile.TemporaryDirectory() as events:
        settings = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events,
            "spark.eventLog.compress": "false",
            "spark.ui.enabled": "false",
        }
        options = " ".join(f"--conf {name}={value}" for name, value in settings.items())
        arguments = f"--driver-memory {heap} {options} pyspark-shell"
        command = dedup_command(path, out, "--engine", "spark", "--master", "local[2]", *more)
        run = timed(command, out, {**os.environ, "PYSPARK_SUBMIT_ARGS": arguments})
        return {**run, **tasks(Path(events))}


def timed(command: Sequence[str], out: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    """Seconds of a command with all processes it starts, and of its stages."""
    ctypes.CDLL(None).prctl(BECOME_SUBREAPER, 1)
    ours = children(os.getpid())  # such as the helpers of a pool, which live as long as this one
    with unaccounted() as lost:
        cost = run_command(command, environment)
    summary = json.loads((out / "summary.json").read_text())
    return {
        "processor_seconds": round(cost.processor + orphans_seconds(ours) + sum(lost.values()), 1),
        "wall_seconds": round(cost.wall, 1),
        "pages": summary["counts"]["pages"],
        "judged_pairs": summary["counts"]["pairs"] + summary["counts"]["rejected"],
        "seconds": summary["run"]["seconds"],
    }


def orphans_seconds(ours: set[int]) -> float:
    """Processor seconds of the processes a command has left running, until they end."""
    seconds = 0.0
    while left := children(os.getpid()) - ours:
        _, _, used = os.wait4(left.pop(), 0)
        seconds += used.ru_utime + used.ru_stime
    return seconds


@contextmanager
def unaccounted() -> Iterator[dict[int, float]]:
    """Processor seconds, by process, of those that end while nobody waits for them: Spark ends
    Python workers that are idle for a minute, and their parent ignores it, so that no other process
    is ever told their time. They are looked at every now and then."""
    lost: dict[int, float] = {}
    ended = Event()

    def watch() -> None:
        workers: dict[int, float] = {}
        while not ended.wait(LOOK):
            seen = {
                worker: processor_seconds(worker)
                for parent in descendants(os.getpid())
                if ignores_children(parent)
                for worker in children(parent)
            }
            lost.update({each: workers[each] for each in workers.keys() - seen.keys()})
            workers = seen

    thread = Thread(target=watch)
    thread.start()
    try:
        yield lost
    finally:
        ended.set()
        thread.join()


def children(parent: int) -> set[int]:
    """The processes whose parent this one is, or has become."""
    with suppress(OSError):
        lists = Path(f"/proc/{parent}/task").glob("*/children")
        return {int(child) for each in lists for child in each.read_text().split()}
    return set()


def descendants(root: int) -> set[int]:
    """A process, its children and theirs."""
    known, new = {root}, {root}
    while new := {child for each in new for child in children(each)} - known:
        known |= new
    return known


def ignores_children(process: int) -> bool:
    """Whether the kernel forgets the children of a process when they end."""
    with suppress(OSError):
        status = Path(f"/proc/{process}/status").read_text()
        ignored = int(status.partition("SigIgn:")[2].split()[0], 16)
        return bool(ignored >> (signal.SIGCHLD - 1) & 1)
    return False


def processor_seconds(process: int) -> float:
    """What a process has used so far."""
    with suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def tasks(events: Path) -> dict[str, object]:
    """The longest task with the median of its stage, the bytes shuffled, and when the first step
    (parsing) ended. A stage has work if its median task takes a tenth of a second."""
    by_stage: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
    shuffled, first_step = 0, 0.0
    for log in events.rglob("events_*"):
        for line in log.open(encoding="utf-8"):
            event = json.loads(line)
            if event["Event"].endswith("SQLExecutionEnd"):
                first_step = first_step or event["time"] / 1000
            if event["Event"] != "SparkListenerTaskEnd":
                continue
            about = event["Task Info"]
            seconds = (about["Finish Time"] - about["Launch Time"]) / 1000
            by_stage[log.name, event["Stage ID"]].append(seconds)
            metrics = event.get("Task Metrics") or {}
            shuffled += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
    several = [times for times in by_stage.values() if len(times) >= 4]
    worst = max(several, key=max, default=[0.0])
    working = [times for times in several if statistics.median(times) >= WORK]
    uneven = [max(times) / statistics.median(times) for times in working]
    return {
        "longest_task_seconds": round(max(worst), 2),
        "median_task_of_its_stage": round(statistics.median(worst), 2),
        "tasks_of_its_stage": len(worst),
        "longest / median where tasks have work": round(max(uneven, default=1.0), 1),
        "shuffled_mb": round(shuffled / 1e6),
        "first_step_at": first_step,
    }


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1:] or list(PARTS)), indent=2))
