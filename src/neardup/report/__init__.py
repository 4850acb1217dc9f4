"""The report that a run leaves beside its tables: one HTML file for people."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from neardup.local import runs
from neardup.report.document import write_report

__all__ = ["dedup", "recluster", "write_report"]

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


def _with_report(make: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """`make` that also writes `report.html` into the result, unless it gets another `finish`."""

    @wraps(make)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        return make(*args, **{"finish": write_report, **kwargs})  # type: ignore[arg-type]

    return run


dedup = _with_report(runs.dedup)
recluster = _with_report(runs.recluster)
