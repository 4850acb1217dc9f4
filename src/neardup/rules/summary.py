"""`summary.json`: what was read, what was decided, with which options and versions.

Everything that differs from run to run over the same input (seconds, memory, workers) is under the
key "run"; the rest is the same bytes for the same input, on any engine.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from neardup.arrays import Mask, Numbers
from neardup.model import Relation
from neardup.schemas import FORMAT

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
