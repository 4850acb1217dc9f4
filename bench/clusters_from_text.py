"""From texts to clusters against other libraries, one thread each, English and Chinese.

    python -m bench.clusters_from_text [--full]

20,000 generated documents of each language, and with --full 200,000, read from a Parquet file
before the clock starts: as an Arrow column for us, as a list of strings for the peers, which take
such. Four figures are ours: "neardup in memory" goes from texts in memory to clusters in memory, as
the peers do (lines, survey, features, keys, candidates, every candidate judged on exact shingles,
clusters around centres); "neardup in memory, from strings" makes the column of a list, too;
"neardup in memory, parsed" makes full page records of the texts first, as for any page;
"neardup dedup" is the whole run of the engine from a Parquet file to a result folder: reading,
parsing, spilling, evidence in words, writing. Kernels are compiled before the clock starts. Ratios
are of processor time, because other work on the machine must not count; wall-clock seconds are told
as well. Of up to three runs that take ten seconds together the quickest counts, ours and theirs.

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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bench.peers import PEERS, timed
from neardup.api import dedup, text_page
from neardup.arrays import FeatureRows
from neardup.local.candidates import candidates_in_memory
from neardup.local.features import Features, judge_in_steps
from neardup.local.pipeline import joining_relations
from neardup.methods.base import SurveyResults
from neardup.methods.own_text.method import OwnText
from neardup.pages.raw import raw_batch
from neardup.rules.clusters import APART, centred_clusters
from neardup.text.parse import parse
from neardup.text.sites import Survey, add_counts

SIZE, FULL_SIZE, AT_ONCE = 20_000, 200_000, 1_024
TARGETS = {"gaoya": 5, "rensa": 10, "text_dedup": 50, "datatrove": 50}
TEXT_COLUMNS = ["host", "text"]
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
    in_memory(texts[:AT_ONCE])  # compiles the kernels
    measured = {
        "neardup in memory": timed(lambda: in_memory(texts)),
        "neardup in memory, from strings": timed(lambda: in_memory(pa.array(strings))),
        "neardup in memory, parsed": timed(lambda: in_memory(texts, parsed_pages)),
        "neardup dedup": timed(lambda: whole_run(path, work / "out")),
        **{
            name: run_peer(name, path, language)
            for name in PEERS
            if size == SIZE or name in TARGETS
        },
    }
    ours = measured["neardup in memory"]["processor_seconds"]
    return {
        "megabytes": round(pc.sum(pc.binary_length(texts)).as_py() / 1e6, 1),
        **measured,
        "ratios of processor time": {
            f"{name} / neardup in memory" + _target(name): round(
                figures["processor_seconds"] / ours, 2
            )
            for name, figures in measured.items()
            if "processor_seconds" in figures and name != "neardup in memory"
        },
    }


def _target(name: str) -> str:
    return f" (at least {TARGETS[name]})" if name in TARGETS else ""


def write_texts(path: Path, language: str, size: int) -> None:
    """Generated texts without hosts: documents, not pages."""
    from neardup.evaluation.synth import synth  # noqa: PLC0415 - its tables take a while

    with pq.ParquetWriter(path, TEXTS, compression="zstd") as writer:
        for batch in synth(size, 1, language=language, texts=True, forms=False):
            writer.write_batch(pa.record_batch([batch["id"], batch["content"]], schema=TEXTS))


def in_memory(
    texts: pa.StringArray, pages: Callable[[pa.StringArray], pa.RecordBatch] | None = None
) -> int:
    """The number of clusters of own-text over texts, nothing spilled."""
    method = OwnText()
    starts = range(0, len(texts), AT_ONCE)
    batches = [(pages or plain_pages)(texts[start : start + AT_ONCE]) for start in starts]
    counted = method.site_counts
    assert counted is not None
    sums = add_counts([counted.count(batch) for batch in batches])
    surveyed = SurveyResults(sites=Survey.from_counts(len(texts), [sums]))
    made = [method.describe(batch, surveyed) for batch in batches]
    numbers = np.split(np.arange(len(texts)), starts[1:])
    features = Features(method.feature_schema, made, numbers)
    left, right = candidates_in_memory(method, pa.Table.from_batches(made))
    relations = pa.array(joining_relations(method, contained=False))

    def judge(
        rows: FeatureRows, one: NDArray[np.int64], other: NDArray[np.int64]
    ) -> pa.RecordBatch:
        return method.judge(rows, one, other, evidence=False)

    def similarity(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.float64]:
        judged = pa.Table.from_batches(judge_in_steps(judge, features, one, other))
        joins = pc.is_in(judged["relation"], relations).to_numpy()
        return np.where(joins, judged["similarity"], APART)

    near = similarity(left, right)
    joined = near >= 0
    groups = features.gather(method.same_host_group).astype(np.uint64)
    labels = centred_clusters(groups, left[joined], right[joined], near[joined], similarity)
    return np.unique(labels).size


def plain_pages(texts: pa.StringArray) -> pa.RecordBatch:
    """Texts as pages without markup and host: what the method reads of them."""
    return pa.record_batch([pa.repeat("", len(texts)), texts], TEXT_COLUMNS)


def parsed_pages(texts: pa.StringArray) -> pa.RecordBatch:
    """Texts as the engine parses them: charset, language, script and sentences as well."""
    return parse(raw_batch([text_page(text) for text in texts.to_pylist()]))


def whole_run(path: Path, out: Path) -> int:
    """The number of clusters of a run from file to folder, on one thread."""
    shutil.rmtree(out, ignore_errors=True)
    found: int = dedup(str(path), out, workers=1).summary["counts"]["clusters"]
    return found


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
