"""`summary.json`: what was read, what was found, with which options and versions.

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
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from neardup.engines.clustering import Clustering
from neardup.engines.deciding import Judged
from neardup.engines.features import Features
from neardup.engines.featuring import decidable_pages
from neardup.engines.parsing import Spilled
from neardup.engines.run import Run
from neardup.engines.tables import REJECTED
from neardup.methods.base import Method
from neardup.pages import Limits
from neardup.schemas import FORMAT

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
