"""`summary.json`: what was read, what was found, with which options and versions.

Everything that differs from run to run over the same input (seconds, memory, workers) is under
the key "run"; the rest is the same bytes for the same input.
"""

from __future__ import annotations

import dataclasses
import platform
import resource
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from neardup.engines.stages import Stages
from neardup.methods.base import Method

LIBRARIES = ["neardup", "numpy", "numba", "pyarrow", "resiliparse", "fastwarc"]


def summarise(
    inputs: Sequence[str],
    method: Method,
    settings: Mapping[str, object],
    tables: Mapping[str, pa.Table],
    pages: pa.Table,
    stages: Stages,
    workers: int,
) -> dict[str, Any]:
    """The summary as plain data."""
    return {
        "inputs": sorted(set(inputs)),
        **settings,
        "options": dataclasses.asdict(method.options),
        "counts": counts(tables, pages),
        "skipped_by_reason": _tally(tables["skipped"], "reason"),
        "pairs_by_relation": _tally(tables["pairs"], "relation"),
        "rejected_by_relation": _tally(tables["rejected"], "relation"),
        "bytes": {stage.name: stage.size for stage in stages.done if stage.size},
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in LIBRARIES},
        },
        "run": {
            "workers": workers,
            "peak_memory_bytes": peak_memory(),
            "seconds": {stage.name: round(stage.seconds, 3) for stage in stages.done},
        },
    }


def counts(tables: Mapping[str, pa.Table], pages: pa.Table) -> dict[str, int]:
    """Records, pages, clusters and what dropping the duplicates would save."""
    clusters = tables["clusters"]
    dropped = pc.invert(clusters["kept"])
    sizes = Counter(clusters["cluster"].to_pylist())
    return {
        "records": clusters.num_rows + tables["skipped"].num_rows,
        "pages": clusters.num_rows,
        "skipped": tables["skipped"].num_rows,
        "undecided": pc.sum(pc.equal(clusters["relation"], "undecided")).as_py() or 0,
        "clusters": len(sizes),
        "clusters_with_duplicates": sum(size > 1 for size in sizes.values()),
        "largest_cluster": max(sizes.values(), default=0),
        "kept": pc.sum(clusters["kept"]).as_py() or 0,
        "duplicates": pc.sum(dropped).as_py() or 0,
        "bytes": pc.sum(pages["size"]).as_py() or 0,
        "duplicate_bytes": pc.sum(pages["size"].filter(dropped)).as_py() or 0,
        "pairs": tables["pairs"].num_rows,
        "rejected": tables["rejected"].num_rows,
    }


def _tally(table: pa.Table, column: str) -> dict[str, int]:
    return dict(sorted(Counter(table[column].to_pylist()).items()))


def peak_memory() -> int:
    """The most memory this process has held, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
