"""The Spark engine compared with the local one on the same pages.

The pages of `bench.growth`: 20,000 and 200,000, and with --full 2,000,000. Both engines run as the
whole `neardup dedup` in a separate process, Spark on two cores of this machine (`local[2]`).
Processor seconds count all processes, including the JVM and the Python workers; wall-clock seconds
show whether the machine was busy with other work. The longest task is listed with the median of its
stage. In the skewed pages, a tenth share a banner and a third are on one host.

Pages of 8 KB in one compressed file, 20,000 (with --full 200,000), run with 6 GB and with 1 GB of
memory. The extreme ones, with 1 GB, have a third on one host, a line that all share, and one page
of 40 MB. The start is measured with a run over one page.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count as count_from
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from bench.growth import COLUMNS, SIZES, write_pages, write_sizes
from bench.timing import dedup_command, run_command
from neardup.evaluation.synth import synth
from neardup.local.run import default_workers

MOST, MOST_GROWTH = 4, 12
BECOME_SUBREAPER = 36  # for prctl: orphans of a child become our children, to wait for
LARGE_PAGE = 40_000_000
BANNER = "<div>" + "<p>This site keeps cookies on your device to remember what you read.</p>" * 3
HEAP = "3g"
LOOK = 0.5  # seconds between looks at workers
WORK = 0.1  # least seconds of a task that has work to do


def main(*, full: bool) -> dict[str, object]:
    """Seconds of both engines at each size, ratios, growth, and the longest task."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        files = write_sizes(work, full=full)
        smallest = files[SIZES[0]]
        run_local(smallest, work / "out")  # compiles the kernels
        runs = {f"{size:,}": compared(path, work) for size, path in files.items()}
        skewed = work / "skewed.parquet"
        write_pages(skewed, with_banner_and_host(smallest))
        return {
            "sizes": runs,
            "growth": growth(runs),
            f"skewed, {SIZES[0]:,}": run_spark(skewed, work / "out"),
            "pages of 8 KB": of_8_kb(SIZES[-1] if full else SIZES[0], work),
            "start": start(work),
        }


def of_8_kb(count: int, work: Path) -> dict[str, Any]:
    """Pages of 8 KB with 6 GB of memory and with 1 GB."""
    pages, extreme = work / "8k.jsonl.zst", work / "extreme.jsonl.zst"
    write_lines(pages, ({"url": url, "html": html} for url, html in normal_pages(count)))
    write_lines(extreme, extreme_pages(count))
    most = ["--max-page-size", "64MB"]
    return {
        f"{count:,} local": run_local(pages, work / "out"),
        f"{count:,} with 6 GB": run_spark(pages, work / "out", "6g"),
        f"{count:,} with 1 GB": run_spark(pages, work / "out", "1g"),
        f"{count:,} extreme with 1 GB": run_spark(extreme, work / "out", "1g", *most),
    }


def normal_pages(count: int) -> Iterator[tuple[str, str]]:
    """URL and HTML of generated pages of 8 KB."""
    for batch in synth(count, 7, workers=default_workers()):
        yield from zip(batch["url"].to_pylist(), batch["content"].to_pylist(), strict=True)


def extreme_pages(count: int) -> Iterator[dict[str, str]]:
    """Pages of which a third are on one host, all share a line, and one has 40 MB."""
    line = "<body><p>The same line stands on every page of this crawl.</p>"
    for number, (url, html) in enumerate(normal_pages(count)):
        host = f"http://www.large.example/{number}" if number % 3 == 0 else url
        yield {"url": host, "html": html.replace("<body>", line, 1)}
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


def start(work: Path) -> dict[str, float]:
    """The fixed cost: a run over one page, and the time until that page is parsed."""
    page = work / "one.jsonl"
    page.write_text(json.dumps({"html": f"<p>{BANNER}"}) + "\n")
    began = time.time()
    run = run_spark(page, work / "out")
    return {
        "processor_seconds": run["processor_seconds"],
        "wall_seconds": run["wall_seconds"],
        "seconds_to_the_first_page": round(run["first_step_at"] - began, 1),
    }


def compared(path: Path, work: Path) -> dict[str, Any]:
    """Both engines on one file; an error if their counts differ."""
    local, spark = run_local(path, work / "local"), run_spark(path, work / "spark")
    counts = [
        json.loads((work / each / "summary.json").read_text())["counts"]
        for each in ("local", "spark")
    ]
    if counts[0] != counts[1]:
        raise RuntimeError(f"the engines differ: {counts}")
    times = {
        f"{clock} seconds, Spark / local (at most {MOST})": round(
            spark[f"{clock}_seconds"] / local[f"{clock}_seconds"], 2
        )
        for clock in ("processor", "wall")
    }
    return {"local": local, "spark": spark, **times}


def growth(runs: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Growth of the Spark engine's time from each size to the next."""
    return {
        f"{clock} seconds, {smaller} to {larger} (at most {MOST_GROWTH})": round(
            runs[larger]["spark"][f"{clock}_seconds"] / runs[smaller]["spark"][f"{clock}_seconds"],
            2,
        )
        for smaller, larger in pairwise(runs)
        for clock in ("processor", "wall")
    }


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
    found, new = {root}, {root}
    while new := {child for each in new for child in children(each)} - found:
        found |= new
    return found


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
