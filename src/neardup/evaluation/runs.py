"""`evaluate`: run methods on labelled sets, score them, and write tables, charts and a web page.

It returns an `Evaluation`, which gives records for a data frame. Each run is a separate process,
so that peak memory is the method's and a crash ends one run only.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neardup.errors import UsageError
from neardup.evaluation.charts import Chart, Results, charts_possible, draw_charts
from neardup.evaluation.metrics import RATES, by_language, curve, score, score_rule
from neardup.evaluation.sets import LabelledSet, PairTruth, check_labels, languages_of, read_set
from neardup.local.result import Result, make_empty, writing
from neardup.local.run import Progress, Silent
from neardup.methods.registry import BUILT_IN, make_method, method_names
from neardup.report.templates import environment

TEMPLATES = Path(__file__).parent / "templates"
COLUMNS = [
    *("set", "method", "precision", "recall", "f1", "f1_low", "f1_high"),
    *("rule_precision", "rule_recall", "rule_f1", "b_cubed_f1", "adjusted_rand"),
    *("true_pairs", "said_pairs", "largest_cluster", "pages", "seconds", "peak_memory_mb", "error"),
]


@dataclass(frozen=True)
class Contender:
    """A method to measure: `name`, `name:paper` (the paper's rule as printed), or with options and
    a view, as in `feature-code:paper:index=exact:view=own`. The name may be `module:Class`."""

    name: str
    method: str
    preset: str = "default"
    options: Mapping[str, str] = field(default_factory=dict)
    view: str | None = None

    @classmethod
    def named(cls, text: str) -> Contender:
        """Parse the name; an unknown method, preset or option is an error."""
        method, *rest = text.strip().split(":")
        if method not in method_names() and rest:
            method = f"{method}:{rest.pop(0)}"
        options = dict(part.split("=", 1) for part in rest if "=" in part)
        presets = [part for part in rest if "=" not in part]
        if len(presets) > 1:
            raise UsageError(f"{text}: at most one preset, not {' and '.join(presets)}")
        preset = presets[0] if presets else "default"
        view = options.pop("view", None)
        make_method(method, options, preset=preset, view=view)
        return cls(text.strip(), method, preset, options, view)

    @property
    def folder(self) -> str:
        """The name, safe as a directory name."""
        return self.name.replace(":", "-")


@dataclass(frozen=True)
class Outcome:
    """The result of a run, or the error that ended it, with its cost."""

    result: Result | None
    seconds: float  # of the stages: neither start-up nor the report
    peak_memory: int  # bytes
    error: str = ""


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """A temporary directory at a fixed path; leftovers of a killed run are removed."""
    make_empty(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_alone(pages: Path, contender: Contender, out: Path, workers: int | None = None) -> Outcome:
    """Run `neardup dedup` over the pages in a new process, with the result in `out`."""
    command = [sys.executable, "-m", "neardup", "dedup", str(pages), f"--out={out}", "--force"]
    command += ["-q", "--method", contender.method, "--preset", contender.preset]
    command += [f"--view={contender.view}"] if contender.view else []
    command += [f"--workers={workers}"] if workers else []
    for name, value in contender.options.items():
        command += ["--set", f"{name}={value}"]
    started = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, check=False
        )
        log.seek(0)
        lines = log.read().splitlines()
    if done.returncode:
        messages = [line for line in lines if line.startswith("neardup: ")]
        # A hint may follow the error; -q omits progress before it.
        reason = (messages or lines[-1:] or [f"neardup: ended with code {done.returncode}"])[0]
        return Outcome(None, time.monotonic() - started, 0, reason.removeprefix("neardup: "))
    result = Result(out)
    run: Mapping[str, Any] = result.summary["run"]
    seconds = sum(each for stage, each in run["seconds"].items() if stage != "report")
    return Outcome(result, seconds, run["peak_memory_bytes"])


@dataclass(frozen=True)
class Evaluation:
    """The scores of methods on labelled sets, from `evaluate`.

    Each method gives records for a data frame.

        measured = neardup.evaluate("labelled", methods=["exact"])
        frame = pandas.DataFrame(measured.scores())
    """

    results: Results  # by set, then method: everything in results.json

    def scores(self) -> list[dict[str, Any]]:
        """One record per set and method: the columns of results.csv; None if not measured."""
        records = []
        for key, scores in self._scores():
            low, high = scores.get("intervals", {}).get("f1", (None, None))
            rule = scores.get("rule_pairs") or {}
            records.append(
                {
                    **{column: scores.get(column) for column in COLUMNS},
                    **key,
                    "f1_low": low,
                    "f1_high": high,
                    **{f"rule_{rate}": rule.get(rate) for rate in RATES},
                    "b_cubed_f1": scores.get("b_cubed", {}).get("f1"),
                }
            )
        return records

    def by_kind(self) -> list[dict[str, Any]]:
        """One record per set, method and kind of change: its recall and its false pairs."""
        records = []
        for key, scores in self._scores():
            recall, false = scores.get("recall_by_kind", {}), scores.get("false_pairs_by_kind", {})
            for kind in sorted({*recall, *false}):
                figures = {"recall": recall.get(kind), "false_pairs": false.get(kind, 0)}
                records.append({**key, "kind": kind, **figures})
        return records

    def by_language(self) -> list[dict[str, Any]]:
        """One record per set, method and language: precision, recall, F1, true pairs."""
        return [
            {**key, "language": language, **figures}
            for key, scores in self._scores()
            for language, figures in scores.get("by_language", {}).items()
        ]

    def curves(self) -> list[dict[str, Any]]:
        """One record per set, method and similarity threshold: precision, recall and F1 there."""
        return [
            {**key, "threshold": threshold, "precision": precision, "recall": recall, "f1": f1}
            for key, scores in self._scores()
            if scores.get("curve")
            for threshold, precision, recall, f1 in zip(*scores["curve"].values(), strict=True)
        ]

    def _scores(self) -> Iterator[tuple[dict[str, str], Mapping[str, Any]]]:
        """The scores of each set and method, with their names."""
        for name, methods in self.results.items():
            for method, scores in methods.items():
                yield {"set": name, "method": method}, scores


def evaluate(
    sets: str | Path | Sequence[str | Path],
    out: str | Path | None = None,
    *,
    methods: Sequence[str] | None = None,
    duplicate_from: float | None = None,
    keep_results: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Run every method on every labelled set and score the clusters.

    A set is a directory with pages and labels: truth.csv (id, article) or pairs.csv (a, b, label).
    A method is a name, `name:paper` or `name:option=value`; None means all. With `out`,
    results.json, results.csv, index.html and charts are written there, and with `keep_results` the
    result of each run under `out/runs`. If a method fails on a set, its record has the error, and
    the others continue. Each run is a separate process, so seconds and memory are the method's.

        measured = neardup.evaluate(["labelled"], methods=["own-text"])
        for row in measured.scores():
            print(row["set"], row["method"], row["f1"])
    """
    if isinstance(sets, str | Path):
        sets = [sets]
    if keep_results and out is None:
        raise UsageError("results are kept in a folder: name `out`")
    names = list(BUILT_IN if methods is None else methods)
    if not names:
        raise UsageError("name at least one method")
    contenders = [Contender.named(name) for name in dict.fromkeys(names)]
    labelled = [read_set(folder, duplicate_from) for folder in sets]
    if not labelled or len({each.name for each in labelled}) < len(labelled):
        raise UsageError("name at least one set; sets need different directory names")
    progress = progress or Silent()
    progress.stage("evaluate", total=len(labelled) * len(contenders))
    results: dict[str, dict[str, dict[str, Any]]] = {}
    with ExitStack() as stack:
        if out is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="neardup-")))
        else:
            folder = Path(out)
            stack.enter_context(writing(folder))
            folder.mkdir(parents=True, exist_ok=True)
        runs = folder / "runs" if keep_results else stack.enter_context(scratch(folder / ".runs"))
        for each in labelled:
            results[each.name] = {}
            languages = languages_of(each)
            for contender in contenders:
                target = runs / each.name / contender.folder
                scores = measure(each, contender, target, workers, languages)
                results[each.name][contender.name] = scores
                if not keep_results:
                    shutil.rmtree(target, ignore_errors=True)
                progress.advance(1)
        if out is not None:
            write_tables(folder, results)
            write_page(folder, results, draw_charts(folder, results) if charts_possible() else [])
    return Evaluation(results)


def measure(
    labelled: LabelledSet,
    contender: Contender,
    target: Path,
    workers: int | None = None,
    languages: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Scores, seconds and memory of one method on one set; `languages` adds scores by language."""
    target.parent.mkdir(parents=True, exist_ok=True)
    outcome = run_alone(labelled.pages, contender, target, workers)
    cost = {
        "seconds": round(outcome.seconds, 3),
        "peak_memory_mb": round(outcome.peak_memory / 1e6, 1),
    }
    if outcome.result is None:
        return {"error": outcome.error, **cost}
    clusters = clusters_of(outcome.result)
    check_labels(labelled, clusters)
    scores = score(labelled.truth, clusters)
    if languages:
        scores["by_language"] = by_language(labelled.truth, clusters, languages)
    if isinstance(labelled.truth, PairTruth) and labelled.truth.duplicate_from is not None:
        scores["duplicate_from"] = labelled.truth.duplicate_from
    scores["rule_pairs"] = score_rule(outcome.result, labelled.truth)
    points = curve(outcome.result, labelled.truth)
    return {**scores, "pages": len(clusters), **cost, "curve": points}


def clusters_of(result: Result) -> dict[str, str]:
    """The clusters of a result, as a map from page to cluster."""
    return {row["id"]: row["cluster"] for row in result.pages()}


def write_tables(out: Path, results: Results) -> None:
    """Write results.json (everything) and results.csv (one line per set and method)."""
    text = json.dumps(results, ensure_ascii=False, indent=2)
    (out / "results.json").write_text(text + "\n", encoding="utf-8")
    with (out / "results.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(Evaluation(results).scores())


def write_page(
    out: Path, results: Results, charts: Sequence[Chart], *, alone: bool = False
) -> None:
    """Write index.html, a self-contained page: all methods on all sets, then each set.

    The best methods come first. With `alone`, the page links to no other file.
    """
    evaluation = Evaluation(results)
    f1 = {(row["method"], row["set"]): row["f1"] for row in evaluation.scores()}
    tables = [
        Grid("F1 by set", f1, list(results)),
        Grid.of("Recall by kind of change", evaluation.by_kind(), "kind", "recall"),
        Grid.of("F1 by language", evaluation.by_language(), "language", "f1"),
    ]
    write_html(
        out / "index.html",
        sets=[_set_tables(name, methods) for name, methods in results.items()],
        charts=charts,
        pictures={
            chart.name: b64encode((out / f"{chart.name}.svg").read_bytes()).decode()
            for chart in charts
        },
        tables=[table for table in tables if table.columns],
        methods=sorted(
            dict.fromkeys(method for method, _ in f1),
            key=lambda name: -(tables[0].mean(name) or 0.0),
        ),
        alone=alone,
    )


def _set_tables(name: str, methods: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The methods of a set, best first, and the columns of its tables."""

    def columns(figure: str) -> list[str]:
        return sorted({column for scores in methods.values() for column in scores.get(figure, ())})

    return {
        "name": name,
        "methods": sorted(methods.items(), key=lambda each: -each[1].get("f1", -1)),
        "kinds": {each: columns(each) for each in ("recall_by_kind", "false_pairs_by_kind")},
        "languages": columns("by_language"),
    }


@dataclass(frozen=True)
class Grid:
    """A figure of every method in several columns."""

    title: str
    cells: Mapping[tuple[str, str], float | None]  # by method and column
    columns: Sequence[str]

    @classmethod
    def of(cls, title: str, records: list[dict[str, Any]], column: str, figure: str) -> Grid:
        """The mean of the figure over the sets that have the column."""
        values: dict[tuple[str, str], list[float]] = {}
        for row in records:
            if row[figure] is not None:
                values.setdefault((row["method"], row[column]), []).append(row[figure])
        means = {key: sum(each) / len(each) for key, each in values.items()}
        return cls(title, means, sorted({name for _, name in means}))

    def mean(self, method: str) -> float | None:
        """The mean over the columns; None where a run failed or nothing was measured."""
        values = [self.cells.get((method, column)) for column in self.columns]
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known and len(known) == len(values) else None


def write_html(file: Path, **values: object) -> None:
    """Write a page from the template of the same name."""
    template = environment(TEMPLATES).get_template(file.name)
    file.write_text(template.render(values), encoding="utf-8")
