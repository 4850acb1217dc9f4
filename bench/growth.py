"""Ten times the pages: how much more time, and how much memory, under `--memory 2GB`.

    python -m bench.growth [--full | --texts]

Short generated pages, English and Chinese, eight to a host, half of them reprints: 20,000 and
200,000, and with --full 2,000,000. The two million are the 200,000 in ten disguises (other letters
for the letters, other characters for the characters, other hosts), because the generator would
take longer than the run. Pages are known by their URLs, so their order is not that of the file.
Each run is the whole `neardup dedup`, a process of its own. The ratio that counts is that of the
stages: start-up is the same for any size, and would hide growth in the small run. Stages are timed
by the wall clock; compare the command's processor and wall-clock seconds to see whether the machine
was busy with other work.

With --texts instead: 2,000,000 and 10,000,000 short texts (in ten and fifty disguises) under
`--memory 3GB`. It needs 20 GB of disk and about an hour.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
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

from neardup.evaluation.synth import synth
from neardup.local.run import default_workers

SIZES = [20_000, 200_000]
FULL_SIZE, DISGUISES = 2_000_000, 10
MOST_TIME, MOST_MEMORY = 11, 2_500_000_000
TEXT_DISGUISES, TEXT_MEMORY = [10, 50], "3GB"
MOST_TEXT_TIME, MOST_TEXT_MEMORY = 5.5, 3_600_000_000
COLUMNS = pa.schema([("url", pa.string()), ("html", pa.string())])
TEXTS = pa.schema([("url", pa.string()), ("text", pa.string())])
HAN, HAN_COUNT = 0x4E00, 20_902


def main(data: Path | None = None, *, full: bool = False) -> dict[str, object]:
    """Seconds and peak memory at each size, and the ratios from each to the next."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        files = {size: work / f"{size}.parquet" for size in SIZES}
        for size, path in files.items():
            write_pages(path, generated(size))
        if full:
            files[FULL_SIZE] = work / "full.parquet"
            write_pages(files[FULL_SIZE], disguised(files[SIZES[-1]]))
        run_dedup(files[SIZES[0]], work / "out")  # compiles the kernels
        measured = {size: run_dedup(path, work / "out") for size, path in files.items()}
    return {"sizes": measured, "ratios": ratios(measured)}


def texts() -> dict[str, object]:
    """The same for millions of short texts."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        few = work / "few.parquet"
        write_pages(few, generated(SIZES[-1], as_texts=True), TEXTS)
        run_dedup(few, work / "out")  # compiles the kernels
        measured = {}
        for count in TEXT_DISGUISES:
            path = work / "texts.parquet"
            write_pages(path, disguised(few, count), TEXTS)
            measured[count * SIZES[-1]] = run_dedup(path, work / "out", TEXT_MEMORY)
    return {"sizes": measured, "ratios": ratios(measured, MOST_TEXT_TIME, MOST_TEXT_MEMORY)}


def ratios(
    measured: dict[int, dict[str, Any]],
    most_time: float = MOST_TIME,
    most_memory: int = MOST_MEMORY,
) -> dict[str, object]:
    """Time from each size to the next, and whether memory kept its bound."""
    times = {}
    for smaller, larger in pairwise(measured):
        stages = [sum(measured[size]["seconds"].values()) for size in (larger, smaller)]
        command = [measured[size]["processor_seconds"] for size in (larger, smaller)]
        step = f"{smaller:,} to {larger:,}"
        times[f"stages, {step} (at most {most_time})"] = round(stages[0] / stages[1], 2)
        times[f"whole command with start-up, {step}"] = round(command[0] / command[1], 2)
    peak = max(figures["peak_memory_mb"] for figures in measured.values())
    return {**times, f"peak memory MB (under {most_memory // 1_000_000:,})": peak}


def generated(count: int, *, as_texts: bool = False) -> Iterator[pa.RecordBatch]:
    """Pages of the generator."""
    schema, workers = TEXTS if as_texts else COLUMNS, default_workers()
    for batch in synth(
        count, 1, profile="2026-11", length="short", texts=as_texts, workers=workers
    ):
        yield pa.record_batch([batch["url"], batch["content"]], schema=schema)


def disguised(path: Path, disguises: int = DISGUISES) -> Iterator[pa.RecordBatch]:
    """The pages of a file as often as there are disguises, and no two of a text."""
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
    """Other letters and other Han characters outside tags and character references."""
    out = data.copy()
    until = 0  # the byte that ends what is left alone
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
    """A Parquet file of pages without ids."""
    with pq.ParquetWriter(path, schema, compression="zstd", compression_level=1) as writer:
        for batch in batches:
            writer.write_batch(batch)


def run_dedup(path: Path, out: Path, memory: str = "2GB") -> dict[str, Any]:
    """What one run of the command takes."""
    command = [sys.executable, "-m", "neardup", "dedup", str(path), "--out", str(out), "--force"]
    started = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--memory", memory], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{' '.join(command)} ended with status {status}")
    summary = json.loads((out / "summary.json").read_text())
    return {
        "processor_seconds": round(used.ru_utime + used.ru_stime, 1),
        "wall_seconds": round(time.perf_counter() - started, 1),
        "peak_memory_mb": round(used.ru_maxrss * 1024 / 1e6),
        "judged_pairs": summary["counts"]["pairs"] + summary["counts"]["rejected"],
        "seconds": {
            stage: spent for stage, spent in summary["run"]["seconds"].items() if stage != "report"
        },
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="two million pages, too")
    parser.add_argument("--texts", action="store_true", help="ten million short texts")
    chosen = parser.parse_args()
    print(json.dumps(texts() if chosen.texts else main(full=chosen.full), indent=2))
