"""The report that a run leaves beside its tables: one HTML file for people."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from neardup.engines import local
from neardup.report.writing import write_report

__all__ = ["dedup", "write_report"]

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


def _with_report(dedup: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """The engine's `dedup`, which also writes `report.html` unless told another `finish`."""

    @wraps(dedup)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        return dedup(*args, **{"finish": write_report, **kwargs})  # type: ignore[arg-type]

    return run


dedup = _with_report(local.dedup)
