"""The tables of a result, from page numbers and verdicts, some rows at a time.

`summary.json`: what was read, what was found, with which options and versions.

Everything that differs from run to run over the same input (seconds, memory, workers) is under
the key "run"; the rest is the same bytes for the same input.
"""

from __future__ import annotations

import dataclasses
import json
import platform
import resource
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.local import result
from neardup.local.corpus import Spilled
from neardup.local.features import Features
from neardup.local.pipeline import Clustering, Judged
from neardup.local.prior import write_remembered
from neardup.local.survey import decidable_pages
from neardup.local.work import Run
from neardup.methods.base import Method
from neardup.model import Relation, Skip
from neardup.pages import Limits
from neardup.schemas import FORMAT, VERDICTS

ROWS_AT_ONCE = 65_536
REJECTED = [str(Relation.DIFFERENT), str(Relation.UNDECIDED)]


def write_result(
    folder: Path,
    format: result.Format,  # noqa: A002 - the name of the command-line option
    method: Method,
    spilled: Spilled,
    features: Features,
    judged: Judged,
    clustering: Clustering,
    run: Run,
) -> None:
    """The tables of the result, in a folder that is not in its place yet."""
    tables = {
        "clusters": (result.CLUSTERS, clusters_rows(method, spilled, features, clustering)),
        "pairs": (result.PAIRS, pairs_rows(spilled.ids, judged, rejected=False)),
        "rejected": (result.PAIRS, pairs_rows(spilled.ids, judged, rejected=True)),
        "skipped": (result.SKIPPED, skipped_rows(spilled.skips)),
    }
    result.make_empty(folder)
    with run.stages("write") as stage:
        for name, (schema, rows) in tables.items():
            result.write_rows(folder / name, schema, rows, format, stage)
        write_remembered(folder, spilled, features)


def clusters_rows(
    method: Method, spilled: Spilled, features: Features, clustering: Clustering
) -> Iterator[pa.RecordBatch]:
    """Every page once: its cluster, and what it is to the page that is kept."""
    member = np.cumsum(~clustering.is_kept) - 1  # its row in `to_kept`
    decidable = decidable_pages(method, features)
    for start in range(0, len(spilled.ids), ROWS_AT_ONCE):
        here = slice(start, start + ROWS_AT_ONCE)
        is_kept = clustering.is_kept[here]
        verdict = pa.array(member[here], mask=is_kept)
        columns = {
            "id": spilled.ids[here],
            "url": spilled.pages["url"][here].combine_chunks(),
            "cluster": spilled.ids.take(pa.array(clustering.labels[here])),
            "kept": pa.array(is_kept),
            "duplicate_of": spilled.ids.take(pa.array(clustering.kept[here], mask=is_kept)),
            "similarity": _one(clustering.to_kept["similarity"].take(verdict)),
            "relation": pc.coalesce(
                _one(clustering.to_kept["relation"].take(verdict)),
                _alone(pa.array(decidable[here])),
            ),
        }
        yield pa.record_batch(columns, schema=result.CLUSTERS)


def _alone(decidable: pa.BooleanArray) -> pa.Array:
    return pc.if_else(decidable, pa.scalar(None, pa.string()), str(Relation.UNDECIDED))


def _one(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    return found if isinstance(found, pa.Array) else found.chunk(0)


def pairs_rows(ids: pa.Array, judged: Judged, *, rejected: bool) -> Iterator[pa.RecordBatch]:
    """The judged pairs that have something in common, or those that were rejected."""
    for left, right, verdicts in judged.each():
        failed = pc.is_in(verdicts["relation"], pa.array(REJECTED))
        columns = {
            "a": ids.take(pa.array(left)),
            "b": ids.take(pa.array(right)),
            **{name: verdicts[name] for name in VERDICTS.names},
        }
        batch = pa.record_batch(columns, schema=result.PAIRS)
        yield batch.filter(failed if rejected else pc.invert(failed))


def skipped_rows(skips: Sequence[Skip]) -> Iterator[pa.RecordBatch]:
    """Every record that did not become a page, by place."""
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


LIBRARIES = ["neardup", "numpy", "numba", "pyarrow", "resiliparse"]


def summarise(
    inputs: Sequence[str],
    method: Method,
    settings: Mapping[str, object],
    spilled: Spilled,
    features: Features,
    judged: Judged,
    clustering: Clustering,
    run: Run,
) -> dict[str, Any]:
    """The summary as plain data."""
    relations = _tally(judged.relations)
    return {
        "inputs": sorted(set(inputs)),
        **settings,
        "options": dataclasses.asdict(method.options),
        "format": FORMAT,
        "counts": {
            **_page_counts(spilled, clustering),
            "undecided": int((~decidable_pages(method, features)).sum()),
            "pairs": sum(n for name, n in relations.items() if name not in REJECTED),
            "rejected": sum(n for name, n in relations.items() if name in REJECTED),
        },
        "skipped_by_reason": _tally(str(skip.reason) for skip in spilled.skips),
        "pairs_by_relation": relations,
        "bytes": {stage.name: stage.size for stage in run.stages.done if stage.size},
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in LIBRARIES},
        },
        "run": measured(run),
    }


def measured(run: Run) -> dict[str, Any]:
    """What differs from run to run, so far."""
    return {
        "workers": run.workers,
        "memory": run.memory,
        "peak_memory_bytes": peak_memory(),
        "seconds": {stage.name: round(stage.seconds, 3) for stage in run.stages.done},
    }


def _page_counts(spilled: Spilled, clustering: Clustering) -> dict[str, int]:
    """Records, pages, clusters and what dropping the duplicates would save."""
    sizes = np.bincount(clustering.labels)
    bytes_ = spilled.pages["size"].to_numpy()
    kept = int(clustering.is_kept.sum())
    return {
        "records": len(spilled.ids) + len(spilled.skips),
        "pages": len(spilled.ids),
        "skipped": len(spilled.skips),
        "clusters": int((sizes > 0).sum()),
        "clusters_with_duplicates": int((sizes > 1).sum()),
        "largest_cluster": int(sizes.max(initial=0)),
        "kept": kept,
        "duplicates": len(spilled.ids) - kept,
        "bytes": int(bytes_.sum()),
        "duplicate_bytes": int(bytes_[~clustering.is_kept].sum()),
    }


def _tally(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def describe_run(
    inputs: Sequence[str], limits: Limits, method: Method, against: str | Path | None
) -> str:
    """What decides the stages of a run: only a run that says the same is taken up again."""
    said = {
        "neardup": version("neardup"),
        "inputs": sorted(set(inputs)),
        "files": sorted(_stamp(Path(name)) for name in set(inputs) if Path(name).is_file()),
        "limits": dataclasses.asdict(limits),
        "against": None if against is None else _stamp(Path(against) / "summary.json"),
        "method": method.name,
        "options": dataclasses.asdict(method.options),
        "format": FORMAT,
    }
    return json.dumps(said, ensure_ascii=False, sort_keys=True)


def _stamp(path: Path) -> list[object]:
    status = path.stat()
    return [str(path), status.st_size, status.st_mtime_ns]


def peak_memory() -> int:
    """The most memory this process has held, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
