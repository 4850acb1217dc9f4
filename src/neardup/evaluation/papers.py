"""`reproduce`: the five papers' experiments, their figures beside ours, and why ours differ.

The papers' pages are not available, so each experiment runs on as many generated pages in the
same language, and again on the same articles as plain texts: the difference is what site
templates cost the method. The reasons given follow from the rule or from these runs; about the
papers' own pages we repeat only what the papers say.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neardup.errors import UsageError
from neardup.evaluation.metrics import score
from neardup.evaluation.runs import Contender, clusters_of, run_alone, scratch, write_html
from neardup.evaluation.sets import read_set
from neardup.evaluation.synth import write_set
from neardup.local.result import writing
from neardup.local.run import Progress, Silent

NEWS_PAGES, NEWS_DUPLICATES = 928_518, 1_545


@dataclass(frozen=True)
class Trial:
    """A number of pages and the paper's figures for it; `texts` are pages without templates."""

    pages: int
    claims: Mapping[str, float]
    texts: bool = False
    seed: int = 0  # gives each trial its own pages


@dataclass(frozen=True)
class Experiment:
    """One paper's experiment."""

    name: str  # the method's
    paper: str
    contenders: tuple[str, ...]  # the paper's rule as printed first
    trials: tuple[Trial, ...]
    why: str  # the reason where ours falls short of the paper
    language: str = "zh"
    length: str = "normal"
    reprints: float = 0.5
    forms: bool = True
    pages_per_host: int = 8
    others: str = ""  # the paper's figures for other methods
    pages_only: tuple[str, ...] = ()  # contenders not run on plain texts

    def contending(self, trial: Trial) -> list[str]:
        """The contenders of a trial."""
        excluded = self.pages_only if trial.texts else ()
        return [name for name in self.contenders if name not in excluded]


def _both(pages: int, seed: int = 0, **claims: float) -> tuple[Trial, Trial]:
    return Trial(pages, claims, seed=seed), Trial(pages, claims, texts=True, seed=seed)


def _feature_code_trials() -> tuple[Trial, ...]:
    sizes = (500, 1000, 1500, 2000, 3000, 4000, 5000)
    extraction = (3, 7, 10, 15, 26, 35, 43)
    total = (4, 9, 13, 18, 31, 41, 50)
    timed = [
        Trial(pages, {"extraction_seconds": extracting, "total_seconds": whole})
        for pages, extracting, whole in zip(sizes, extraction, total, strict=True)
    ]
    return (*_both(100, precision=0.95), *timed)


EXPERIMENTS: Mapping[str, Experiment] = {
    each.name: each
    for each in (
        Experiment(
            "edit-distance",
            "An & Cheng: 998 Chinese pages",
            ("edit-distance:paper", "edit-distance"),
            _both(
                998,
                page_precision=0.978,
                page_recall=0.967,
                extraction_seconds=0.29,
                comparison_seconds=5.34,
            ),
            "The difference between pages and texts is the cost of full stops in templates. The "
            "feature string keeps the order of sentences, so it misses reprints with reordered "
            "paragraphs, and pairs whose lengths differ by more than a fifth (beta). As printed, "
            "traditional and simplified characters differ. The paper took 998 random pages, "
            "labelled by hand, and counts pages, not pairs. Our extraction time includes reading "
            "and parsing.",
        ),
        Experiment(
            "two-phase",
            "Gupta, Dixit & Sharma: 50, 45 and 35 pages",
            ("two-phase:paper", "two-phase"),
            (
                *_both(50, 1, precision=0.8, recall=0.8, total_seconds=0.120),
                *_both(45, 2, precision=0.8, recall=0.75, total_seconds=0.080),
                *_both(35, 3, precision=0.7, recall=0.7, total_seconds=0.060),
            ),
            "Level 1 counts tables, images, links and sentences of the whole page, so a reprint "
            "in another template fails it; on plain texts recall is higher. A fingerprint has 16 "
            "bits, and 137 of its 65,536 values are within 2 bits of any one, so false pairs grow "
            "with the number of pairs compared. The paper's pages are the first results of a "
            "search engine for three queries; it does not say how many were duplicates.",
            language="en",
            others="NDupDet (cited, not described): precision 0.7, 0.58, 0.5; recall 0.4, 0.5, 0.5",
        ),
        Experiment(
            "news-clusters",
            "Liang & Wen: 1,545 near-duplicates among 928,518 news pages",
            (
                "news-clusters:paper",
                "news-clusters:paper:view=own",
                "news-clusters",
                "simhash",
                "own-text",
            ),
            _both(NEWS_PAGES + NEWS_DUPLICATES, page_precision=0.95, page_recall=0.85),
            "The paper cleans pages before it takes their longest sentences, and does not say how. "
            "As printed, without our guard, the text includes paragraphs that the site repeats, "
            "and their sentences join pages of one site. Without the blocks a host repeats "
            "(view=own), and on plain texts, the printed rule makes almost no such mistakes. "
            "SimHash compares whole pages, so a reprint in another template is far away and pages "
            "with much template are close; on texts it finds most reprints. Its chance pairs grow "
            "with the square of the number of pages. The paper's duplicates came from searches "
            "for 20 queries, in groups of unknown size; here an article has up to twelve pages.",
            length="short",
            reprints=NEWS_DUPLICATES / (NEWS_PAGES + NEWS_DUPLICATES),
            forms=False,  # news pages
            pages_per_host=400,  # of some thousand news sites
            pages_only=("news-clusters:paper:view=own",),
            others="SimHash: about 0.8 precision, 0.8 recall",
        ),
        Experiment(
            "word-table",
            "Santha Sheela & Jaya Kumar: 100 pages, each with each",
            ("word-table:paper", "word-table"),
            _both(100, precision=0.92),
            "The words of a template count as the page's own; on plain texts recall is far higher.",
            language="en",
        ),
        Experiment(
            "feature-code",
            "Chen & Niu: correctness on 50 to 100 pages, seconds for 500 to 5,000",
            ("feature-code:paper", "feature-code:paper:index=exact", "feature-code"),
            _feature_code_trials(),
            "The main code holds the first character of each paragraph, so reprints with other "
            "paragraph breaks are missed, and as printed the template is part of the code; on "
            "plain texts recall is higher. The exact index shows what the forest's paths and "
            "intervals miss; it compares far more pairs, which takes longer. The paper names "
            "garbled characters and reordered paragraphs as its errors, and does not say whether "
            "its 95 % is precision; we assume so.",
        ),
    )
}


LEAST_PAGES = 20
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
    """Run the experiments of these methods (None: all); write papers.json and papers.html.

    `fraction` scales down each paper's number of pages, for a quick look.
    """
    if not 0 < fraction <= 1:
        raise UsageError(f"--fraction must be above 0 and at most 1, not {fraction}")
    experiments = [_experiment(name) for name in names or EXPERIMENTS]
    out, progress = Path(out), progress or Silent()
    total = sum(len(each.contending(trial)) for each in experiments for trial in each.trials)
    progress.stage("papers", total=total)
    rows: list[dict[str, Any]] = []
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        for experiment in experiments:
            _warm_up(experiment, out)
            for trial in experiment.trials:
                for row in _run(experiment, trial, out, fraction, seed):
                    rows.append(row)
                    _write(out, rows)  # now: an experiment may take an hour
                    progress.advance(1)
    return rows


def _experiment(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        known = ", ".join(EXPERIMENTS)
        raise UsageError(f"no paper's experiment for {name!r}; there are: {known}")
    return EXPERIMENTS[name]


def _warm_up(experiment: Experiment, out: Path) -> None:
    """Run each contender on a few pages, so that compiling kernels is not timed."""
    with scratch(out / ".papers") as place:
        pages = write_set(place / "set", LEAST_PAGES, language=experiment.language, workers=1)
        for name in experiment.contenders:
            run_alone(pages, Contender.named(name), place / "result")


def _run(
    experiment: Experiment, trial: Trial, out: Path, fraction: float, seed: int
) -> Iterator[dict[str, Any]]:
    """One trial: generate the pages once, run every contender on them."""
    with scratch(out / ".papers") as place:
        folder = place / "set"
        pages = max(LEAST_PAGES, round(trial.pages * fraction))
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
    """Our figures beside the paper's, which are of its own method only."""
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
    """The machine the seconds were measured on."""
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
    experiments = [
        [row for row in rows if row["experiment"] == name]
        for name in dict.fromkeys(row["experiment"] for row in rows)
    ]
    write_html(
        out / "papers.html",
        machine=report["machine"],
        experiments=experiments,
        figures=FIGURES,
        cells=cells,
    )


def cells(row: Mapping[str, Any]) -> list[str]:
    """A table row: our figures, with the paper's in brackets."""
    ours, claimed = row["measured"], row["claimed"]
    shown = [row["method"], f"{row['pages']:,}", "texts" if row["texts"] else "pages"]
    if "error" in ours:
        return [*shown, ours["error"], *[""] * (len(FIGURES) - 1)]
    for figure in FIGURES:
        theirs = f" ({claimed[figure]:g})" if figure in claimed else ""
        shown.append(f"{ours[figure]:g}{theirs}")
    return shown
