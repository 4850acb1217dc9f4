"""From texts to clusters against other libraries, one thread each, English and Chinese.

    python -m bench.clusters_from_text [--full]

20,000 generated documents of each language, and with --full 200,000, read from a Parquet file
before the clock starts. Four figures are ours, all of public functions on one thread:
"find_duplicates" of a list of strings, which is what the peers take, "find_duplicates of a column"
of the same texts as an Arrow column, and "dedup", the whole run from a Parquet file to a result
folder; "command" is the same as a command of its own, with start-up. Kernels are compiled before
the clock starts. Ratios are of processor time, because other work on the machine must not count;
wall-clock seconds are told as well. Of up to three runs that take ten seconds together the quickest
counts, ours and theirs.

Peers that another Python has are found there: NEARDUP_PEERS=/path/to/python[:/another] (text-dedup
wants other versions of our own dependencies). `bench/peers.py` says how each is used. The large
size is for those that have a target.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.peers import PEERS, timed
from neardup import dedup, find_duplicates

SIZE, FULL_SIZE, WARM_UP = 20_000, 200_000, 1_024
# At least so many times the processor time of ours: of a column, of strings (at the large size), of
# the whole command.
TARGETS: dict[str, dict[str, float]] = {
    "find_duplicates of a column": {"rensa": 8, "gaoya": 10, "text_dedup": 50},
    "find_duplicates": {"rensa": 5, "gaoya": 8, "text_dedup": 35},
    "command": {"rensa": 4},
}
SMALL = {"rensa": 8, "gaoya": 10, "text_dedup": 50}  # of strings, at the small size
TEXTS = pa.schema([("id", pa.string()), ("text", pa.string())])
ONE_THREAD = {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def main(data: Path | None = None, *, full: bool = False) -> dict[str, object]:
    """Figures by language and size."""
    pa.set_cpu_count(1)
    sizes = [SIZE, FULL_SIZE] if full else [SIZE]
    with tempfile.TemporaryDirectory() as folder:
        return {
            f"{language}, {size:,} documents": measure_all(Path(folder), language, size)
            for size in sizes
            for language in ("en", "zh")
        }


def measure_all(work: Path, language: str, size: int) -> dict[str, object]:
    """Everyone on the same documents."""
    path = work / f"{language}-{size}.parquet"
    write_texts(path, language, size)
    texts = pq.read_table(path, columns=["text"])["text"].combine_chunks()
    strings = texts.to_pylist()
    count_clusters(strings[:WARM_UP])  # compiles the kernels
    ours = {
        "find_duplicates": timed(lambda: count_clusters(strings)),
        "find_duplicates of a column": timed(lambda: count_clusters(texts)),
        "dedup": timed(lambda: whole_run(path, work / "out")),
        "command": whole_command(path, work / "out"),
    }
    peers = {
        name: run_peer(name, path, language) for name in PEERS if size == SIZE or name in SMALL
    }
    return {
        "megabytes": round(pc.sum(pc.binary_length(texts)).as_py() / 1e6, 1),
        **ours,
        **peers,
        "ratios of processor time": {
            f"{name} / {way}" + _target(name, way, size): round(
                figures["processor_seconds"] / ours[way]["processor_seconds"], 2
            )
            for way in TARGETS
            for name, figures in peers.items()
            if "processor_seconds" in figures
        },
    }


def _target(name: str, way: str, size: int) -> str:
    targets = SMALL if way == "find_duplicates" and size == SIZE else TARGETS[way]
    return f" (at least {targets[name]})" if name in targets else ""


def write_texts(path: Path, language: str, size: int) -> None:
    """Generated texts without hosts: documents, not pages."""
    from neardup.evaluation.synth import synth  # noqa: PLC0415 - its tables take a while

    with pq.ParquetWriter(path, TEXTS, compression="zstd") as writer:
        for batch in synth(
            size, 1, profile="2026-11", language=language, texts=True, lookalikes=False
        ):
            writer.write_batch(pa.record_batch([batch["id"], batch["content"]], schema=TEXTS))


def count_clusters(texts: list[str] | pa.Array) -> int:
    """The number of clusters of texts in memory, on one thread."""
    return int(find_duplicates(texts, workers=1).keep.sum())


def whole_run(path: Path, out: Path) -> int:
    """The number of clusters of a run from file to folder, on one thread."""
    shutil.rmtree(out, ignore_errors=True)
    found: int = dedup(str(path), out, workers=1).summary["counts"]["clusters"]
    return found


def whole_command(path: Path, out: Path) -> dict[str, Any]:
    """`neardup dedup`, with start-up and result folder, on one thread; the second of two runs."""
    command = [sys.executable, "-m", "neardup", "dedup", str(path), "--out", str(out), "--force"]
    measured: dict[str, Any] = {}
    for _ in range(2):
        started = time.perf_counter()
        process = subprocess.Popen(
            [*command, "--workers", "1", "--quiet"], stdout=subprocess.DEVNULL
        )
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise RuntimeError(f"{' '.join(command)} ended with status {status}")
        measured = {
            "processor_seconds": round(used.ru_utime + used.ru_stime, 3),
            "wall_seconds": round(time.perf_counter() - started, 3),
        }
    return measured


def run_peer(name: str, path: Path, language: str) -> dict[str, Any]:
    """A peer in the first Python that has it."""
    script = str(Path(__file__).with_name("peers.py"))
    more = ["--characters"] if language == "zh" else []
    reason = ""
    for python in [sys.executable, *filter(None, os.environ.get("NEARDUP_PEERS", "").split(":"))]:
        done = subprocess.run(
            [python, script, name, str(path), *more],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **ONE_THREAD},
        )
        if done.returncode == 0:
            measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
            return measured
        reason = done.stderr.strip().splitlines()[-1]
    return {"not measured": reason}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="200,000 documents, too")
    print(json.dumps(main(full=parser.parse_args().full), indent=2, ensure_ascii=False))
