"""`reproduce`: the five papers' experiments, their figures beside ours, and why ours differ.

The papers' pages are not available, so each experiment runs on as many generated pages in the
same language, and again on the same articles as plain texts: the difference is what site
templates cost the method. The reasons follow from the rule or from these runs; about the papers'
own pages we repeat only what the papers say.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

from neardup.config import read_toml
from neardup.errors import UsageError
from neardup.evaluation.metrics import RATES, score, score_rule
from neardup.evaluation.runs import Contender, clusters_of, run_alone, scratch, write_html
from neardup.evaluation.sets import read_set
from neardup.evaluation.synth import write_set
from neardup.local.result import writing
from neardup.local.run import Progress, Silent, default_workers


@dataclass(frozen=True)
class Trial:
    """A number of pages and the paper's figures for it; `texts` are pages without templates."""

    pages: int
    claims: Mapping[str, float]
    texts: bool = False
    template_stops: bool = True  # full stops in template text
    seed: int = 0  # gives each trial its own pages
    reprints: float | None = None  # share of them, where it is not the experiment's
    repeats: int = 1  # of a small trial, with other pages each: the figures are their means

    @property
    def input(self) -> str:
        if self.texts:
            return "texts"
        return "pages" if self.template_stops else "pages without template stops"


@dataclass(frozen=True)
class Experiment:
    name: str  # the method's
    paper: str
    contenders: tuple[str, ...]  # the paper's rule as printed first
    trials: tuple[Trial, ...]
    why: str  # the reason where ours falls short of the paper
    language: str = "zh"
    length: str = "normal"
    reprints: float = 0.5
    copies: float | None = None  # on a page's own host; None: as in the generator's profile
    lookalikes: bool = True
    pages_per_host: int = 8
    others: str = ""  # the paper's figures for other methods


def _experiment_from(name: str, entry: dict[str, Any]) -> Experiment:
    trials = [
        Trial(**{**trial, "texts": texts})
        for trial in entry.pop("trials")
        for texts in ((False, True) if trial.pop("texts", True) else (False,))
    ]
    lists = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
    return Experiment(name, **{**entry, **lists, "trials": tuple(trials)})


EXPERIMENTS: Mapping[str, Experiment] = {
    name: _experiment_from(name, entry)
    for name, entry in read_toml(Path(__file__).with_name("papers.toml")).items()
}
LEAST_PAGES = 20
REPEAT_SEEDS = 1000  # between the seeds of repeats, which no trial may share
EXTRACTION = ("parse", "identify", "survey", "features")
FIGURES = (
    *("page_precision", "page_recall", "page_accuracy", *RATES, "rule_precision", "rule_recall"),
    *("extraction_seconds", "comparison_seconds", "total_seconds", "peak_memory_mb"),
)


def reproduce(
    names: Sequence[str] | None,
    out: str | Path,
    *,
    fraction: float = 1.0,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Run the experiments of these methods (None: all); write papers.json and papers.html.

    `fraction` scales down each paper's number of pages, for a quick look without repeats.
    """
    if not 0 < fraction <= 1:
        raise UsageError(f"--fraction must be above 0 and at most 1, not {fraction}")
    if wrong := [name for name in names or () if name not in EXPERIMENTS]:
        known = ", ".join(EXPERIMENTS)
        raise UsageError(f"no paper's experiment for {wrong[0]!r}; there are: {known}")
    experiments = [EXPERIMENTS[name] for name in names or EXPERIMENTS]
    out, progress = Path(out), progress or Silent()
    total = sum(len(each.contenders) * len(each.trials) for each in experiments)
    progress.stage("papers", total=total)
    rows: list[dict[str, Any]] = []
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        for experiment in experiments:
            _warm_up(experiment, out)
            for trial in experiment.trials:
                for row in _run(experiment, trial, out, fraction):
                    rows.append(row)
                    _write(out, rows)  # now: an experiment may take an hour
                    progress.advance(1)
    return rows


def _warm_up(experiment: Experiment, out: Path) -> None:
    """Run each contender on a few pages, so that compiling kernels is not timed."""
    with scratch(out / ".papers") as work:
        pages = write_set(work / "set", LEAST_PAGES, language=experiment.language, workers=1)
        for name in experiment.contenders:
            run_alone(pages, Contender.named(name), work / "result")


def _run(
    experiment: Experiment, trial: Trial, out: Path, fraction: float
) -> Iterator[dict[str, Any]]:
    """Generate the pages of a trial and run every contender on them."""
    pages = max(LEAST_PAGES, round(trial.pages * fraction))
    repeats = trial.repeats if fraction == 1 else 1
    with scratch(out / ".papers") as work:
        folders = [work / f"set-{number}" for number in range(repeats)]
        for number, folder in enumerate(folders):
            write_set(
                folder,
                pages,
                trial.seed + REPEAT_SEEDS * number,
                language=experiment.language,
                length=experiment.length,
                reprints=experiment.reprints if trial.reprints is None else trial.reprints,
                copies=experiment.copies,
                lookalikes=experiment.lookalikes,
                pages_per_host=experiment.pages_per_host,
                texts=trial.texts,
                template_stops=trial.template_stops,
            )
        for name in experiment.contenders:
            ours = [_measure(Contender.named(name), folder, work / "result") for folder in folders]
            yield _row(experiment, trial, name, pages, _mean(ours))


def _measure(contender: Contender, folder: Path, out: Path) -> dict[str, Any]:
    labelled = read_set(folder)
    outcome = run_alone(labelled.pages, contender, out)
    if outcome.result is None:
        return {"error": outcome.error}
    seconds: Mapping[str, float] = outcome.result.summary["run"]["seconds"]
    scores = score(labelled.truth, clusters_of(outcome.result))
    rule = score_rule(outcome.result, labelled.truth) or {}
    extraction = sum(seconds.get(stage, 0) for stage in EXTRACTION)
    by_page = scores["by_page"]
    return {
        **{f"page_{figure}": by_page[figure] for figure in ("precision", "recall", "accuracy")},
        **{figure: scores[figure] for figure in RATES},
        **{f"rule_{figure}": rule[figure] for figure in ("precision", "recall") if rule},
        "extraction_seconds": round(extraction, 3),
        "comparison_seconds": round(outcome.seconds - extraction, 3),
        "total_seconds": round(outcome.seconds, 3),
        "peak_memory_mb": round(outcome.peak_memory / 1e6, 1),
        "recall_by_kind": scores["recall_by_kind"],
    }


def _mean(repeats: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The mean of each figure over the repeats that have it; an error is passed on."""
    if errors := [dict(each) for each in repeats if "error" in each]:
        return errors[0]
    means: dict[str, Any] = {}
    for figure in dict.fromkeys(figure for each in repeats for figure in each):
        values = [each[figure] for each in repeats if figure in each]
        is_number = isinstance(values[0], int | float)
        means[figure] = round(fmean(values), 4) if is_number else _mean(values)
    return means


def _row(
    experiment: Experiment, trial: Trial, name: str, pages: int, ours: dict[str, Any]
) -> dict[str, Any]:
    """Our figures next to the paper's, which it has for its own method only."""
    claimed = dict(trial.claims) if name.partition(":")[0] == experiment.name else {}
    short = [figure for figure in claimed if _falls_short(figure, claimed[figure], ours)]
    return {
        "experiment": experiment.name,
        "paper": experiment.paper,
        "method": name,
        "pages": pages,
        "papers_pages": trial.pages,
        "texts": trial.texts,
        "input": trial.input,
        "claimed": claimed,
        "measured": ours,
        "short_of": short,
        "why": experiment.why if short else "",
        "others": experiment.others,
    }


def _falls_short(figure: str, claim: float, ours: Mapping[str, Any]) -> bool:
    if figure not in ours:
        return True
    return bool(ours[figure] > claim if figure.endswith("seconds") else ours[figure] < claim)


def describe_machine() -> str:
    """The machine the seconds were measured on."""
    listing = Path("/proc/cpuinfo")
    model = re.search(
        r"^model name\s*: (.*)", listing.read_text() if listing.is_file() else "", re.M
    )
    processor = model[1] if model else platform.processor() or platform.machine()
    parts = [processor, f"{default_workers()} cores"]
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        parts.append(f"{memory / 2**30:.0f} GiB")
    return ", ".join([*parts, platform.system(), f"Python {platform.python_version()}"])


def _write(out: Path, rows: list[dict[str, Any]]) -> None:
    report = {"machine": describe_machine(), "results": rows}
    text = json.dumps(report, ensure_ascii=False, indent=2) + "\n"
    (out / "papers.json").write_text(text, encoding="utf-8")
    experiments = [list(each) for _, each in groupby(rows, key=lambda row: row["experiment"])]
    write_html(out / "papers.html", **report, experiments=experiments, figures=FIGURES, cells=cells)


def cells(row: Mapping[str, Any]) -> list[str]:
    """A table row: our figures, with the paper's in brackets."""
    ours, claimed = row["measured"], row["claimed"]
    texts = [row["method"], f"{row['pages']:,}", row["input"]]
    if "error" in ours:
        return [*texts, ours["error"], *[""] * (len(FIGURES) - 1)]
    for figure in FIGURES:
        theirs = f" ({claimed[figure]:g})" if figure in claimed else ""
        texts.append(f"{ours[figure]:g}{theirs}" if figure in ours else "")
    return texts
