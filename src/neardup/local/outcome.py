"""Writes an outcome: the tables of a result, the data for later runs, and the summary.

What differs from run to run over the same input (seconds, memory, workers) is in the summary under
the key "run"; the rest is the same bytes for the same input, on any engine.
"""

from __future__ import annotations

import dataclasses
import json
import platform
import re
import resource
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import Mask, Numbers
from neardup.local import result
from neardup.local.corpus import PageRows
from neardup.local.pipeline import Judged, Outcome
from neardup.local.prior import survey_files, write_features, write_pages, write_survey
from neardup.local.run import ordered_map
from neardup.local.work import Run
from neardup.methods.base import Method
from neardup.methods.registry import reference
from neardup.model import Relation, Skip
from neardup.pages import Limits
from neardup.pages.urls import host
from neardup.schemas import FORMAT, VERDICTS

ROWS_AT_ONCE = 65_536
SHELL_HOSTS = 20  # that the summary names
PARTS = 4  # how inputs and pairs are cut into parts; goes up when they are cut in another way


def write_result(
    folder: Path,
    outcome: Outcome,
    format: result.Format,  # noqa: A002 - the name of the command-line option
    run: Run,
) -> None:
    """Write the tables of the result and the data for later runs to a temporary directory."""
    corpus, judged = outcome.corpus, outcome.judged
    result.make_empty(folder)
    with run.stages("write") as stage:
        jobs = [  # the longest first
            partial(write_features, folder, judged.features, run.workers),
            partial(write_pages, folder, corpus, judged.features),
        ]
        for name, file in survey_files(judged.method).items():
            if name in judged.surveys.counts:
                jobs.append(
                    partial(write_survey, folder / file, judged.surveys.counts[name].each())
                )
        for name, schema, rows in tables_of(outcome):
            jobs.append(partial(result.write_rows, folder / name, schema, rows, format, stage))
        for _ in ordered_map(lambda job: job(), jobs, run.workers):
            pass


def tables_of(outcome: Outcome) -> Iterator[tuple[str, pa.Schema, Iterator[pa.RecordBatch]]]:
    """The tables of a result: name, schema, and rows in batches."""
    pages, judged = outcome.corpus.pages, outcome.judged
    yield "clusters", result.CLUSTERS, cluster_rows(outcome)
    yield "pairs", result.PAIRS, pair_rows(pages, judged, rejected=False)
    yield "rejected", result.PAIRS, pair_rows(pages, judged, rejected=True)
    yield "skipped", result.SKIPPED, skip_rows(outcome.corpus.skips)


def cluster_rows(outcome: Outcome) -> Iterator[pa.RecordBatch]:
    """One row per page: its cluster, and its relation to the kept page."""
    corpus, judged, to_kept = outcome.corpus, outcome.judged, outcome.to_kept
    member = np.cumsum(~outcome.is_kept) - 1  # its row in `to_kept`
    for start in range(0, len(corpus), ROWS_AT_ONCE):
        here = slice(start, start + ROWS_AT_ONCE)
        is_kept = outcome.is_kept[here]
        verdict = pa.array(member[here], mask=is_kept)
        alone = pc.if_else(
            pa.array((judged.decidable | ~outcome.is_alone)[here]),
            pa.scalar(None, pa.string()),
            str(Relation.UNDECIDED),
        )
        pages = corpus.pages.take(np.arange(*here.indices(len(corpus))), ["id", "url"])
        kept_ids = corpus.pages.take(outcome.kept[here], ["id"])["id"]
        columns = {
            "id": pages["id"],
            "url": pages["url"],
            "cluster": corpus.pages.take(outcome.labels[here], ["id"])["id"],
            "kept": pa.array(is_kept),
            "duplicate_of": pc.if_else(pa.array(is_kept), None, kept_ids),
            "similarity": _one_chunk(to_kept["similarity"].take(verdict)),
            "relation": pc.coalesce(_one_chunk(to_kept["relation"].take(verdict)), alone),
        }
        yield pa.record_batch(columns, schema=result.CLUSTERS)


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else combined.chunk(0)


def pair_rows(pages: PageRows, judged: Judged, *, rejected: bool) -> Iterator[pa.RecordBatch]:
    """The judged pairs that have something in common, or those that were rejected."""
    for left, right, verdicts in judged.each():
        failed = pc.is_in(verdicts["relation"], pa.array(REJECTED))
        columns = {
            **{name: pages.take(side, ["id"])["id"] for name, side in (("a", left), ("b", right))},
            **{name: verdicts[name] for name in VERDICTS.names},
        }
        batch = pa.record_batch(columns, schema=result.PAIRS)
        yield batch.filter(failed if rejected else pc.invert(failed))


def skip_rows(skips: Sequence[Skip]) -> Iterator[pa.RecordBatch]:
    """Every record that did not become a page, sorted by source."""
    rows = sorted(
        (skip.source.path, skip.source.record, skip.id, str(skip.reason), skip.detail)
        for skip in skips
    )
    for start in range(0, len(rows), ROWS_AT_ONCE):
        columns = zip(*rows[start : start + ROWS_AT_ONCE], strict=True)
        arrays = [
            pa.array(column, field.type)
            for column, field in zip(columns, result.SKIPPED, strict=True)
        ]
        yield pa.record_batch(arrays, schema=result.SKIPPED)


# The summary


def settings_of(method: Method, preset: str, keep: str, contained: bool) -> dict[str, Any]:
    """The settings of a run, as its summary lists them."""
    return {
        "method": reference(method),
        "preset": preset,
        "view": str(method.view),
        "keep": keep,
        "contained": contained,
        "options": dataclasses.asdict(method.options),
    }


def summarise(
    outcome: Outcome, inputs: Sequence[str], settings: Mapping[str, object], run: Run
) -> dict[str, Any]:
    """The summary of a run, as plain data."""
    corpus, judged = outcome.corpus, outcome.judged
    counts = count_pages(
        outcome.labels,
        outcome.is_kept,
        corpus.pages.numbers("size"),
        int((~judged.decidable & outcome.is_alone).sum()),
        len(corpus.skips),
    )
    return build_summary(
        inputs,
        settings,
        counts,
        Counter(judged.relations),
        Counter(str(skip.reason) for skip in corpus.skips),
        {stage.name: stage.size for stage in run.stages.done if stage.size},
        measured(run),
    ) | {"shells": _count_shells(outcome)}


def _count_shells(outcome: Outcome) -> dict[str, Any]:
    """How many pages are shells, and the hosts with most of them."""
    shells = np.flatnonzero(outcome.shells)
    urls = outcome.corpus.pages.take(shells, ["url"])["url"].to_pylist()
    by_host = sorted(Counter(map(host, urls)).items(), key=lambda each: (-each[1], each[0]))
    return {"pages": len(urls), "hosts": dict(by_host[:SHELL_HOSTS])}


def measured(run: Run) -> dict[str, Any]:
    """What differs from run to run: time, memory, workers."""
    return {
        "workers": run.workers,
        "memory": run.memory,
        "peak_memory_bytes": peak_memory(),
        "seconds": {stage.name: round(stage.seconds, 3) for stage in run.stages.done},
    }


def peak_memory() -> int:
    """The peak memory of this process in bytes.

    On Linux, the figure of `getrusage` includes the process that started this one, at that moment;
    the status of the process does not.
    """
    status = Path("/proc/self/status")
    if status.exists() and (own := re.search(r"^VmHWM:\s*(\d+) kB", status.read_text(), re.M)):
        return int(own[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def describe_run(
    inputs: Sequence[str],
    limits: Limits,
    method: Method,
    against: str | Path | None,
    columns: Sequence[str] = (),
) -> str:
    """Everything that the stages depend on: only a run with the same description is resumed."""
    description = {
        "neardup": version("neardup"),
        "inputs": sorted(set(inputs)),
        "files": sorted(_stamp(Path(name)) for name in set(inputs) if Path(name).is_file()),
        "limits": dataclasses.asdict(limits),
        "against": None if against is None else _stamp(Path(against) / "summary.json"),
        "method": reference(method),
        "view": str(method.view),
        "columns": sorted(columns),
        "options": dataclasses.asdict(method.options),
        "format": FORMAT,
        "parts": PARTS,
    }
    return json.dumps(description, ensure_ascii=False, sort_keys=True)


def _stamp(path: Path) -> list[object]:
    status = path.stat()
    return [str(path), status.st_size, status.st_mtime_ns]


LIBRARIES = ["neardup", "numpy", "numba", "pyarrow", "resiliparse"]
REJECTED = [str(Relation.DIFFERENT), str(Relation.UNDECIDED)]  # the verdicts on rejected pairs


def build_summary(
    inputs: Sequence[str],
    settings: Mapping[str, object],
    page_counts: Mapping[str, int],
    relations: Mapping[str, int],
    skips: Mapping[str, int],
    sizes: Mapping[str, int] | None,
    run: Mapping[str, Any],
    libraries: Sequence[str] = LIBRARIES,
) -> dict[str, Any]:
    """The summary as plain data. `relations` counts the judged pairs by verdict, `skips` the
    records that became no page by reason; `sizes` are the bytes that each stage went through."""
    return {
        "inputs": sorted(set(inputs)),
        **settings,
        "format": FORMAT,
        "counts": {
            **page_counts,
            "pairs": sum(count for name, count in relations.items() if name not in REJECTED),
            "rejected": sum(count for name, count in relations.items() if name in REJECTED),
        },
        "skipped_by_reason": dict(sorted(skips.items())),
        "pairs_by_relation": dict(sorted(relations.items())),
        **({} if sizes is None else {"bytes": dict(sizes)}),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in libraries},
        },
        "run": dict(run),
    }


def count_pages(
    labels: Numbers, is_kept: Mask, sizes: Numbers, undecided: int, skipped: int
) -> dict[str, int]:
    """Records, pages, clusters and what dropping the duplicates would save."""
    members = np.bincount(labels)
    kept = int(is_kept.sum())
    return {
        "records": labels.size + skipped,
        "pages": labels.size,
        "skipped": skipped,
        "clusters": int((members > 0).sum()),
        "clusters_with_duplicates": int((members > 1).sum()),
        "largest_cluster": int(members.max(initial=0)),
        "kept": kept,
        "duplicates": labels.size - kept,
        "bytes": int(sizes.sum()),
        "duplicate_bytes": int(sizes[~is_kept].sum()),
        "undecided": undecided,
    }
