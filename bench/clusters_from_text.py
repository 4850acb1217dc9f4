"""From texts to clusters, compared with other libraries, on one thread, in English and Chinese.

20,000 generated documents in each language, and with --full 200,000, are read from a Parquet file
before the clock starts, and kernels are compiled. We measure ourselves in four ways:
"find_duplicates" takes a list of strings, as the peers do; "find_duplicates of a column" takes the
same texts as an Arrow column; "dedup" is the whole run from a Parquet file to a result directory;
"command" is the same run as a shell command, with start-up. Ratios are of processor time, which
other work on the machine does not affect; wall-clock seconds are listed too. Each job runs up to
three times within ten seconds, ours and theirs, and the fastest run counts. Bytecode is kept, as
Python does by default.

At the large size, in English, `neardup dedup` with two workers is also compared with the whole
commands of text-dedup and datatrove with two workers, from Parquet files to files with the result.

A peer may live in another Python: NEARDUP_PEERS=/path/to/python[:/another] (text-dedup needs other
versions of our dependencies; the whole run of datatrove needs tokenizers, and xxhash below 4).
`bench/peers.py` shows how each peer is used. Only peers with a target run at the large size.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.peers import PEERS, WORKERS, timed
from bench.timing import Cost, dedup_command, kept_bytecode, run_command
from neardup import dedup, find_duplicates

SIZE, FULL_SIZE, WARM_UP = 20_000, 200_000, 1_024
# A peer must take at least this many times our processor time. SMALL replaces the targets of
# "find_duplicates" at the small size.
TARGETS: dict[str, dict[str, float]] = {
    "find_duplicates of a column": {"rensa": 8, "gaoya": 10, "text_dedup": 50},
    "find_duplicates": {"rensa": 5, "gaoya": 8, "text_dedup": 35},
    "command": {"rensa": 4},
}
SMALL = {"rensa": 8, "gaoya": 10, "text_dedup": 50}
TEXTS = pa.schema([("id", pa.string()), ("text", pa.string())])
ONE_THREAD = {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def main(*, full: bool) -> dict[str, object]:
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
    """Our figures and those of all peers on the same documents."""
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
    commands = whole_commands(path, work) if language == "en" and size > SIZE else {}
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
        **commands,
    }


def _target(name: str, way: str, size: int) -> str:
    targets = SMALL if way == "find_duplicates" and size == SIZE else TARGETS[way]
    return f" (at least {targets[name]})" if name in targets else ""


def write_texts(path: Path, language: str, size: int) -> None:
    """Write generated texts without URLs: documents, not pages."""
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
    clusters: int = dedup(str(path), out, workers=1).summary["counts"]["clusters"]
    return clusters


def whole_command(path: Path, out: Path, workers: int = 1) -> dict[str, Any]:
    """`neardup dedup` with start-up; the second of two runs, the first of which keeps bytecode."""
    command = dedup_command(path, out, "--workers", str(workers), "--quiet")
    environment = kept_bytecode(out.with_name("bytecode"))
    run_command(command, environment)
    return _figures(run_command(command, environment))


def _figures(cost: Cost) -> dict[str, Any]:
    return {"processor_seconds": round(cost.processor, 3), "wall_seconds": round(cost.wall, 3)}


def whole_commands(path: Path, work: Path) -> dict[str, Any]:
    """Whole commands with two workers: ours, and those of peers that are there, with ratios."""
    halves = work / "halves"  # datatrove gives each worker a file
    halves.mkdir(exist_ok=True)
    table = pq.read_table(path)
    for number in range(WORKERS):
        rows = len(table) // WORKERS
        pq.write_table(table.slice(number * rows, rows), halves / f"{number}.parquet")
    ours = whole_command(path, work / "out", WORKERS)
    found: dict[str, Any] = {"command, two workers": ours}
    for name in ("datatrove", "text_dedup"):
        theirs = _peer_command(name, path, halves, work / name)
        found |= {f"{name}, two workers": theirs}
        if "processor_seconds" in theirs:
            ratio = round(theirs["processor_seconds"] / ours["processor_seconds"], 2)
            found |= {f"{name} / command, two workers (at least 15)": ratio}
    return found


def _peer_command(name: str, path: Path, halves: Path, work: Path) -> dict[str, Any]:
    """The figures of a peer's whole command, from the first Python that has it."""
    text_dedup = (
        f"-m text_dedup.minhash --path parquet --data_files {path} --split train --column text "
        f"--output {work}/out --cache_dir {work}/cache --num_proc {WORKERS} --ngram 5 "
        "--num_perm 128 --threshold 0.7 --hash_func xxh3 --use_auth_token false"
    ).split()
    peers = str(Path(__file__).with_name("peers.py"))
    arguments = {
        "datatrove": [peers, "datatrove_command", str(halves), str(work)],
        "text_dedup": text_dedup,
    }
    for python in _pythons():
        shutil.rmtree(work, ignore_errors=True)
        try:
            return _figures(run_command([python, *arguments[name]], {**os.environ, **ONE_THREAD}))
        except RuntimeError as error:
            reason = str(error)
    return {"not measured": reason}


def _pythons() -> list[str]:
    return [sys.executable, *filter(None, os.environ.get("NEARDUP_PEERS", "").split(":"))]


def run_peer(name: str, path: Path, language: str) -> dict[str, Any]:
    """The figures of a peer, from the first Python that has it."""
    script = str(Path(__file__).with_name("peers.py"))
    options = ["--characters"] if language == "zh" else []
    reason = ""
    for python in _pythons():
        done = subprocess.run(
            [python, script, name, str(path), *options],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **ONE_THREAD},
        )
        if done.returncode == 0:
            figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
            return figures
        reason = done.stderr.strip().splitlines()[-1]
    return {"not measured": reason}
