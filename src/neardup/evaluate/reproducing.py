"""Running the papers' experiments and setting ours beside theirs."""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from neardup.engines.output import writing
from neardup.engines.progress import Progress, Silent
from neardup.errors import UsageError
from neardup.evaluate.evaluation import clusters_of
from neardup.evaluate.metrics import score
from neardup.evaluate.papers import EXPERIMENTS, Experiment, Trial
from neardup.evaluate.results import POLICY, STYLE
from neardup.evaluate.running import Contender, run_alone, scratch
from neardup.evaluate.synth import write_set
from neardup.evaluate.truth import read_set

FEW = 20  # pages
EXTRACTION = ("parse", "identify", "survey", "features")
FIGURES = (
    "page_precision",
    "page_recall",
    "precision",
    "recall",
    "f1",
    "extraction_seconds",
    "comparison_seconds",
    "total_seconds",
    "peak_memory_mb",
)


def reproduce(
    names: Sequence[str] | None,
    out: str | Path,
    *,
    fraction: float = 1.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Run the experiments of those methods (None: all); write papers.json and papers.html.

    `fraction` takes that share of each paper's pages, for a quick look.
    """
    if not 0 < fraction <= 1:
        raise UsageError(f"--fraction is above 0 and at most 1, not {fraction}")
    experiments = [_experiment(name) for name in names or EXPERIMENTS]
    out, told = Path(out), progress or Silent()
    total = sum(len(each.contending(trial)) for each in experiments for trial in each.trials)
    told.stage("papers", total=total)
    rows: list[dict[str, Any]] = []
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        for experiment in experiments:
            _warm_up(experiment, out)
            for trial in experiment.trials:
                for row in _run(experiment, trial, out, fraction, seed):
                    rows.append(row)
                    _write(out, rows)  # at once: an experiment may take an hour
                    told.advance(1)
    return rows


def _experiment(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        known = ", ".join(EXPERIMENTS)
        raise UsageError(f"no experiment of a paper for {name!r}; there are: {known}")
    return EXPERIMENTS[name]


def _warm_up(experiment: Experiment, out: Path) -> None:
    """Each contender on a few pages: kernels that are not compiled yet would count as its time."""
    with scratch(out / ".papers") as place:
        pages = write_set(place / "set", FEW, language=experiment.language, workers=1)
        for name in experiment.contenders:
            run_alone(pages, Contender.named(name), place / "result")


def _run(
    experiment: Experiment, trial: Trial, out: Path, fraction: float, seed: int
) -> Iterator[dict[str, Any]]:
    """One trial: the pages made once, every contender on them."""
    with scratch(out / ".papers") as place:
        folder = place / "set"
        pages = max(FEW, round(trial.pages * fraction))
        write_set(
            folder,
            pages,
            seed + trial.seed,
            language=experiment.language,
            length=experiment.length,
            reprints=experiment.reprints,
            forms=experiment.forms,
            pages_per_host=experiment.pages_per_host,
            texts=trial.texts,
        )
        for name in experiment.contending(trial):
            ours = _measure(Contender.named(name), folder, place)
            yield _row(experiment, trial, name, pages, ours)


def _measure(contender: Contender, folder: Path, place: Path) -> dict[str, Any]:
    labelled = read_set(folder)
    outcome = run_alone(labelled.pages, contender, place / contender.folder)
    if outcome.result is None:
        return {"error": outcome.error}
    seconds: Mapping[str, float] = outcome.result.summary["run"]["seconds"]
    scores = score(labelled.truth, clusters_of(outcome.result))
    shutil.rmtree(place / contender.folder)
    extraction = sum(spent for stage, spent in seconds.items() if stage in EXTRACTION)
    return {
        **{f"page_{figure}": scores["by_page"][figure] for figure in ("precision", "recall")},
        **{figure: scores[figure] for figure in ("precision", "recall", "f1")},
        "extraction_seconds": round(extraction, 3),
        "comparison_seconds": round(outcome.seconds - extraction, 3),
        "total_seconds": round(outcome.seconds, 3),
        "peak_memory_mb": round(outcome.peak_memory / 1e6, 1),
        "recall_by_kind": scores["recall_by_kind"],
    }


def _row(
    experiment: Experiment, trial: Trial, name: str, pages: int, ours: dict[str, Any]
) -> dict[str, Any]:
    """Ours beside theirs; the claims are the paper's own method's."""
    claimed = dict(trial.claims) if name.partition(":")[0] == experiment.name else {}
    short = [figure for figure in claimed if _falls_short(figure, claimed[figure], ours)]
    return {
        "experiment": experiment.name,
        "paper": experiment.paper,
        "method": name,
        "pages": pages,
        "papers_pages": trial.pages,
        "texts": trial.texts,
        "claimed": claimed,
        "measured": ours,
        "short_of": short,
        "why": experiment.why if short else "",
        "others": experiment.others,
    }


def _falls_short(figure: str, claim: float, ours: Mapping[str, Any]) -> bool:
    if figure not in ours:
        return True
    slower = figure.endswith("seconds") and ours[figure] > claim
    return bool(slower or (not figure.endswith("seconds") and ours[figure] < claim))


def describe_machine() -> str:
    """What the seconds were measured on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    model = platform.processor() or platform.machine()
    listing = Path("/proc/cpuinfo")
    if listing.is_file():
        named = [line for line in listing.read_text().splitlines() if line.startswith("model name")]
        model = named[0].partition(":")[2].strip() if named else model
    parts = [model, f"{cores} cores", *_memory(), platform.system()]
    return ", ".join([*parts, f"Python {platform.python_version()}"])


def _memory() -> list[str]:
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return []
    return [f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"]


def _write(out: Path, rows: list[dict[str, Any]]) -> None:
    report = {"machine": describe_machine(), "results": rows}
    text = json.dumps(report, ensure_ascii=False, indent=2) + "\n"
    (out / "papers.json").write_text(text, encoding="utf-8")
    sections = "".join(
        _section([row for row in rows if row["experiment"] == name])
        for name in dict.fromkeys(row["experiment"] for row in rows)
    )
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The papers' experiments</title><style>{STYLE}</style></head>\n"
        f"<body><h1>The papers' experiments</h1><p>On generated pages; measured on: "
        f"{escape(describe_machine())}. In brackets: the paper's figure.</p>{sections}"
        "</body></html>\n"
    )
    (out / "papers.html").write_text(page, encoding="utf-8")


def _section(rows: list[dict[str, Any]]) -> str:
    first = rows[0]
    heads = ["method", "number", "of", *(figure.replace("_", " ") for figure in FIGURES)]
    head = "".join(f"<th>{text}</th>" for text in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells(row)) + "</tr>"
        for row in rows
    )
    why = next((row["why"] for row in rows if row["why"]), "")
    notes = [first["others"] and f"The paper on others: {first['others']}."]
    notes.append(why and f"Where ours falls short: {why}")
    return (
        f"<h2>{escape(first['paper'])}</h2><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
        + "".join(f"<p>{escape(note)}</p>" for note in notes if note)
    )


def cells(row: Mapping[str, Any]) -> list[str]:
    """A row for people: ours, and the paper's figure in brackets."""
    ours, claimed = row["measured"], row["claimed"]
    shown = [row["method"], f"{row['pages']:,}", "texts" if row["texts"] else "pages"]
    if "error" in ours:
        return [*shown, ours["error"], *[""] * (len(FIGURES) - 1)]
    for figure in FIGURES:
        theirs = f" ({claimed[figure]:g})" if figure in claimed else ""
        shown.append(f"{ours[figure]:g}{theirs}")
    return shown
