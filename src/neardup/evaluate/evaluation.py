"""Methods measured on labelled sets: `evaluate` reads as the procedure."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from neardup.engines.output import writing
from neardup.engines.progress import Progress, Silent
from neardup.engines.result import Result
from neardup.errors import UsageError
from neardup.evaluate.charts import charts_possible, draw_charts
from neardup.evaluate.curves import curve
from neardup.evaluate.metrics import score
from neardup.evaluate.results import write_page, write_tables
from neardup.evaluate.running import Contender, Outcome, contenders, run_alone, scratch
from neardup.evaluate.truth import LabelledSet, PairTruth, read_set
from neardup.methods.base import REGISTRY


def evaluate(
    sets: Sequence[str | Path],
    out: str | Path,
    *,
    methods: Sequence[str] | None = None,
    duplicate_from: float | None = None,
    keep_results: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> dict[str, dict[str, dict[str, Any]]]:
    """Run every method on every set and write results.json, results.csv, index.html and charts.

    A method is a name, `name:paper` or `name:option=value`; none means all. A method that fails
    on a set is told in the results and does not stop the others. `keep_results` leaves each run's
    folder under `out/runs`.
    """
    out = Path(out)
    asked = contenders(list(REGISTRY if methods is None else methods))
    labelled = _distinct([read_set(folder, duplicate_from) for folder in sets])
    told = progress or Silent()
    told.stage("evaluate", total=len(labelled) * len(asked))
    results: dict[str, dict[str, dict[str, Any]]] = {}
    with writing(out), ExitStack() as stack:
        out.mkdir(parents=True, exist_ok=True)
        runs = _runs_folder(out, keep_results, stack)
        for each in labelled:
            results[each.name] = {}
            for contender in asked:
                place = runs / each.name / contender.folder
                results[each.name][contender.name] = measure(each, contender, place, workers)
                if not keep_results:
                    shutil.rmtree(place, ignore_errors=True)
                told.advance(1)
        write_tables(out, results)
        charts = draw_charts(out, results) if charts_possible() else []
        write_page(out, results, charts)
    return results


def _distinct(sets: list[LabelledSet]) -> list[LabelledSet]:
    names = [each.name for each in sets]
    if not sets or len(set(names)) < len(names):
        raise UsageError("name at least one set, each with a folder name of its own")
    return sets


def _runs_folder(out: Path, keep: bool, stack: ExitStack) -> Path:
    if keep:
        return out / "runs"
    return stack.enter_context(scratch(out / ".runs"))


def measure(
    labelled: LabelledSet, contender: Contender, place: Path, workers: int | None = None
) -> dict[str, Any]:
    """The scores of one method on one set, with what it cost."""
    place.parent.mkdir(parents=True, exist_ok=True)
    outcome = run_alone(labelled.pages, contender, place, workers)
    cost = _cost(outcome)
    if outcome.result is None:
        return {"error": outcome.error, **cost}
    clusters = clusters_of(outcome.result)
    scores = score(labelled.truth, clusters)
    moved = curve(outcome.result, labelled.truth)
    if isinstance(labelled.truth, PairTruth) and labelled.truth.duplicate_from is not None:
        scores["duplicate_from"] = labelled.truth.duplicate_from
    return {**scores, "pages": len(clusters), **cost, "curve": asdict(moved) if moved else None}


def clusters_of(result: Result) -> dict[str, str]:
    """Page to cluster."""
    return {row["id"]: row["cluster"] for row in result.pages()}


def _cost(outcome: Outcome) -> dict[str, Any]:
    return {
        "seconds": round(outcome.seconds, 3),
        "peak_memory_mb": round(outcome.peak_memory / 1e6, 1),
    }
