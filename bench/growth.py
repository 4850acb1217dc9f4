"""Time and memory for ten times the pages, with `--memory 2GB`.

Short generated pages in English and Chinese, eight per host, half of them reprints: 20,000 and
200,000, and with --full 2,000,000. The two million are the 200,000 in ten disguises (with letters,
Chinese characters and hosts replaced), because generating them would take longer than the run.
Pages are identified by URL, so their order is not that of the file. Each run is the whole
`neardup dedup` in a separate process. Compare the ratio of the stages: start-up takes as long at
any size and hides growth in the small run. Stages are timed by the wall clock; the command's
processor and wall-clock seconds show whether the machine was busy with other work.

`python -m bench.growth` instead runs 2,000,000 and 10,000,000 short texts (in ten and fifty
disguises) with `--memory 3GB`. It needs 70 GB of disk and about half an hour.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bench.timing import dedup_command, run_command
from neardup.evaluation.synth import synth
from neardup.local.run import default_workers

SIZES = [20_000, 200_000]
FULL_SIZE, DISGUISES = 2_000_000, 10
MOST_TIME, MOST_MEMORY = 11, 2_400_000_000
TEXT_DISGUISES, TEXT_MEMORY = [10, 50], "3GB"
MOST_TEXT_TIME, MOST_TEXT_MEMORY = 5.5, 3_600_000_000
COLUMNS = pa.schema([("url", pa.string()), ("html", pa.string())])
TEXTS = pa.schema([("url", pa.string()), ("text", pa.string())])
HAN, HAN_COUNT = 0x4E00, 20_902


def main(*, full: bool) -> dict[str, object]:
    """Seconds and peak memory at each size, and the ratios from each to the next."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        files = write_sizes(work, full=full)
        run_dedup(files[SIZES[0]], work / "out")  # compiles the kernels
        runs = {size: run_dedup(path, work / "out") for size, path in files.items()}
    return {"sizes": runs, "ratios": ratios(runs, MOST_TIME, MOST_MEMORY)}


def write_sizes(work: Path, *, full: bool) -> dict[int, Path]:
    """The pages of each size, by size."""
    files = {size: work / f"{size}.parquet" for size in SIZES}
    for size, path in files.items():
        write_pages(path, generated(size))
    if full:
        files[FULL_SIZE] = work / "full.parquet"
        write_pages(files[FULL_SIZE], disguised(files[SIZES[-1]]))
    return files


def texts() -> dict[str, object]:
    """Seconds and peak memory for millions of short texts."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        plain, path = work / "plain.parquet", work / "texts.parquet"
        write_pages(plain, generated(SIZES[-1], as_texts=True), TEXTS)
        run_dedup(plain, work / "out")  # compiles the kernels
        runs = {}
        for count in TEXT_DISGUISES:
            write_pages(path, disguised(plain, count), TEXTS)
            shutil.rmtree(work / "out")
            runs[count * SIZES[-1]] = run_dedup(path, work / "out", TEXT_MEMORY)
    return {"sizes": runs, "ratios": ratios(runs, MOST_TEXT_TIME, MOST_TEXT_MEMORY)}


def ratios(
    runs: dict[int, dict[str, Any]], most_time: float, most_memory: int
) -> dict[str, object]:
    """Growth of time from each size to the next, and peak memory, with their targets."""
    times = {}
    for smaller, larger in pairwise(runs):
        stages = [sum(runs[size]["seconds"].values()) for size in (larger, smaller)]
        command = [runs[size]["processor_seconds"] for size in (larger, smaller)]
        step = f"{smaller:,} to {larger:,}"
        times[f"stages, {step} (at most {most_time})"] = round(stages[0] / stages[1], 2)
        times[f"whole command with start-up, {step}"] = round(command[0] / command[1], 2)
    peak = max(figures["peak_memory_mb"] for figures in runs.values())
    return {**times, f"peak memory MB (under {most_memory // 1_000_000:,})": peak}


def generated(count: int, *, as_texts: bool = False) -> Iterator[pa.RecordBatch]:
    """URLs and contents from the generator."""
    schema, workers = TEXTS if as_texts else COLUMNS, default_workers()
    for batch in synth(
        count, 1, profile="2026-11", length="short", texts=as_texts, workers=workers
    ):
        yield pa.record_batch([batch["url"], batch["content"]], schema=schema)


def disguised(path: Path, disguises: int = DISGUISES) -> Iterator[pa.RecordBatch]:
    """The pages of a file in each disguise: no text of one occurs in another."""
    for number in range(disguises):
        letters = np.arange(256, dtype=np.uint8)
        order = np.random.default_rng(number).permutation(26).astype(np.uint8)
        letters[ord("a") : ord("z") + 1] = order + ord("a")
        letters[ord("A") : ord("Z") + 1] = order + ord("A")
        for batch in pq.ParquetFile(path).iter_batches(10_000):
            html = batch[1]
            _, offsets, data = html.buffers()
            text = disguise(np.frombuffer(data, np.uint8), letters, 1_999 * number)
            html = pa.StringArray.from_buffers(len(html), offsets, pa.py_buffer(text))
            url = pc.replace_substring(batch["url"], "http://www.", f"http://www{number}.")
            yield pa.record_batch([url, html], schema=batch.schema)


@numba.njit(cache=True)
def disguise(data: NDArray[np.uint8], letters: NDArray[np.uint8], shift: int) -> NDArray[np.uint8]:
    """Replace letters and Han characters outside tags and character references."""
    out = data.copy()
    until = 0  # inside a tag or reference: the byte that ends it
    for at in range(len(data)):
        byte = data[at]
        if until:
            if byte == until:
                until = 0
        elif byte == ord("<"):
            until = ord(">")
        elif byte == ord("&"):
            until = ord(";")
        elif byte < 0x80:
            out[at] = letters[byte]
        elif 0xE4 <= byte <= 0xE9 and at + 2 < len(data):
            code = (byte & 0x0F) << 12 | (data[at + 1] & 0x3F) << 6 | data[at + 2] & 0x3F
            if HAN <= code < HAN + HAN_COUNT:
                code = HAN + (code - HAN + shift) % HAN_COUNT
                out[at] = 0xE0 | code >> 12
                out[at + 1] = 0x80 | code >> 6 & 0x3F
                out[at + 2] = 0x80 | code & 0x3F
    return out


def write_pages(path: Path, batches: Iterator[pa.RecordBatch], schema: pa.Schema = COLUMNS) -> None:
    """Write a Parquet file of pages without ids."""
    with pq.ParquetWriter(path, schema, compression="zstd", compression_level=1) as writer:
        for batch in batches:
            writer.write_batch(batch)


def run_dedup(path: Path, out: Path, memory: str = "2GB") -> dict[str, Any]:
    """The cost of one run of the command, and its seconds by stage."""
    cost = run_command(dedup_command(path, out, "--memory", memory))
    summary = json.loads((out / "summary.json").read_text())
    return {
        "processor_seconds": round(cost.processor, 1),
        "wall_seconds": round(cost.wall, 1),
        "peak_memory_mb": round(cost.peak_mb),
        "judged_pairs": summary["counts"]["pairs"] + summary["counts"]["rejected"],
        "seconds": {
            stage: spent for stage, spent in summary["run"]["seconds"].items() if stage != "report"
        },
    }


if __name__ == "__main__":
    print(json.dumps(texts(), indent=2))
