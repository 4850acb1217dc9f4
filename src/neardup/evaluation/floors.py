"""Floors: a file with the least F1 of each method on each set. Only people lower a floor.

    [reprints-en.own-text]
    f1 = 0.97
    highest = 0.98                    # the highest floor so far
    reason = "why it was lowered"     # required if f1 is below highest

A method without a floor may have any score. A floor is set a little below the measured score and
rounded down, so that noise does not break it. It is never 0, which could not fail.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neardup.config import read_toml
from neardup.errors import UsageError
from neardup.evaluation.charts import Results
from neardup.local.result import writing

MARGIN = 0.005  # below the score measured


@dataclass(frozen=True)
class Floor:
    """The least F1 of one method on one set."""

    f1: float
    highest: float
    reason: str = ""


Floors = dict[tuple[str, str], Floor]  # by set and method


def read_floors(path: Path) -> Floors:
    """Read a file of floors; one that was lowered without a reason is an error."""
    floors: Floors = {}
    for name, methods in read_toml(path).items():
        if not isinstance(methods, dict):
            raise UsageError(f"{path}: {name!r} must be a table of methods: [{name}.METHOD]")
        for method, fields in methods.items():
            floors[name, method] = _floor(f"{path}, [{name}.{method}]", fields)
    return floors


def _floor(where: str, fields: object) -> Floor:
    known = {"f1", "highest", "reason"}
    if not isinstance(fields, dict) or not set(fields) <= known or "f1" not in fields:
        raise UsageError(f"{where}: a floor has f1, highest and, if lowered, reason")
    f1: Any = fields["f1"]
    highest: Any = fields.get("highest", f1)
    if not all(isinstance(each, int | float) and 0 < each <= 1 for each in (f1, highest)):
        raise UsageError(f"{where}: f1 and highest must be above 0 and at most 1")
    reason = str(fields.get("reason", "")).strip()
    if f1 < highest and not reason:
        raise UsageError(f"{where}: lowered from {highest} to {f1} without a reason")
    return Floor(float(f1), float(highest), reason)


def broken(floors: Floors, results: Results) -> list[str]:
    """A line for each method that failed or scored below its floor."""
    lines = []
    for (name, method), floor in floors.items():
        scores = results.get(name, {}).get(method)
        if scores is None:
            continue
        if "error" in scores:
            lines.append(f"{method} on {name}: {scores['error']}; its floor is {floor.f1}")
        elif scores["f1"] < floor.f1:
            lines.append(f"{method} on {name}: F1 {scores['f1']} is below its floor {floor.f1}")
    return lines


def raised(floors: Floors, results: Results) -> Floors:
    """The floors, raised where the results allow it."""
    higher = dict(floors)
    for name, methods in results.items():
        for method, scores in methods.items():
            if "error" in scores:
                continue
            allowed = math.floor((scores["f1"] - MARGIN) * 1000) / 1000
            floor = floors.get((name, method), Floor(0.0, 0.0))
            if allowed > floor.f1:
                reason = floor.reason if allowed < floor.highest else ""
                higher[name, method] = Floor(allowed, max(allowed, floor.highest), reason)
    return higher


def write_floors(path: Path, floors: Floors) -> None:
    """Write the file, sorted by set and method."""
    lines = []
    for (name, method), floor in sorted(floors.items()):
        key, method_key, reason = (  # TOML strings
            json.dumps(each, ensure_ascii=False) for each in (name, method, floor.reason)
        )
        lines.append(f"[{key}.{method_key}]\nf1 = {floor.f1}\nhighest = {floor.highest}")
        if floor.reason:
            lines[-1] += f"\nreason = {reason}"
    with writing(path):
        path.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
