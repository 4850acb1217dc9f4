"""Commands that work with labels: `neardup evaluate`, `tune` and `synth`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from neardup.cli.messages import shown_progress
from neardup.cli.options import DuplicateFrom, Force, argument, option
from neardup.errors import NeardupError, OutputError, UsageError

if TYPE_CHECKING:
    from neardup.evaluation.charts import Results
    from neardup.evaluation.floors import Floors


def evaluate(
    sets: Annotated[list[Path] | None, argument("evaluate.sets")] = None,
    *,
    out: Annotated[Path, option("evaluate.out")],
    methods: Annotated[str | None, option("evaluate.methods")] = None,
    duplicate_from: DuplicateFrom = None,
    keep_results: Annotated[bool, option("evaluate.keep_results")] = False,
    workers: Annotated[int | None, option("evaluate.workers")] = None,
    floors: Annotated[Path | None, option("evaluate.floors")] = None,
    raise_floors: Annotated[bool, option("evaluate.raise_floors")] = False,
    papers: Annotated[bool, option("evaluate.papers")] = False,
    paper: Annotated[list[str] | None, option("evaluate.paper")] = None,
    fraction: Annotated[float, option("evaluate.fraction")] = 1.0,
) -> None:
    """Run methods on labelled sets: precision, recall, F1, B-cubed, adjusted Rand, time, memory.

    Writes results.json, results.csv, index.html, and charts as PNG and SVG. Each run has its own
    process; a failed run is reported in the results. --papers prints the figures of the five
    papers beside ours, on as many generated pages as the papers used.
    """
    from neardup.cli.tables import show_scores  # noqa: PLC0415 - keeps --help quick
    from neardup.evaluation.charts import charts_possible  # noqa: PLC0415
    from neardup.evaluation.floors import read_floors  # noqa: PLC0415
    from neardup.evaluation.runs import evaluate as run  # noqa: PLC0415

    if papers or paper:
        _papers(paper, out, fraction, sets)
        return
    if not sets:
        raise UsageError("name a labelled set, or use --papers for the papers' experiments")
    if raise_floors and floors is None:
        raise UsageError("--raise-floors needs the file: --floors FILE")
    before = read_floors(floors) if floors and floors.exists() else {}
    named = None
    if methods is not None and methods.strip() != "all":
        named = [name for name in methods.split(",") if name.strip()]
    with shown_progress("no results were written") as progress:
        measured = run(
            sets,
            out,
            methods=named,
            duplicate_from=duplicate_from,
            keep_results=keep_results,
            workers=workers,
            progress=progress,
        )
    results = measured.results
    for name, scores in results.items():
        show_scores(name, scores)
    if not charts_possible():
        typer.echo("no charts; they need: pip install 'neardup[evaluate]'")
    typer.echo(f"written to {out}; open {out / 'index.html'}")
    if floors is not None:
        _check_floors(floors, before, results, write=raise_floors)


def _papers(names: list[str] | None, out: Path, fraction: float, sets: object) -> None:
    """Run the papers' experiments and print their figures beside ours."""
    from neardup.cli.tables import show_papers  # noqa: PLC0415 - keeps --help quick
    from neardup.evaluation.papers import reproduce  # noqa: PLC0415

    if sets:
        raise UsageError("the papers' experiments generate their own pages: name no SET")
    with shown_progress(f"finished experiments are in {out / 'papers.html'}") as progress:
        rows = reproduce(names, out, fraction=fraction, progress=progress)
    show_papers(rows)
    typer.echo(f"written to {out}; open {out / 'papers.html'}")


def _check_floors(path: Path, before: Floors, results: Results, *, write: bool) -> None:
    """Print the floors that could be higher; an error if a method is below its floor."""
    from neardup.evaluation.floors import broken, raised, write_floors  # noqa: PLC0415 - quick --help

    after = raised(before, results)
    higher = [key for key, floor in after.items() if floor != before.get(key)]
    for name, method in higher:
        old = before.get((name, method))
        was = f"{old.f1} -> " if old else ""
        typer.echo(f"floor of {method} on {name}: {was}{after[name, method].f1}")
    if write and higher:
        write_floors(path, after)
        typer.echo(f"written to {path}")
    elif higher:
        typer.echo("these floors can be raised: --raise-floors writes them")
    if lines := broken(before, results):
        raise BrokenFloorError("\n".join(lines))


class BrokenFloorError(NeardupError):
    """A method scores below its floor."""


def tune(
    labelled: Annotated[Path, argument("tune.labelled")],
    method: Annotated[str, option("tune.method")],
    precision: Annotated[float | None, option("tune.precision")] = None,
    out: Annotated[Path, option("tune.out")] = Path("tuned.toml"),
    force: Force = False,
    duplicate_from: DuplicateFrom = None,
    workers: Annotated[int | None, option("tune.workers")] = None,
) -> None:
    """Choose a method's thresholds from labels, and report how certain the choice is.

    Each value is tried with a full run; the choice is cross-validated over articles or pairs.
    Use the file with 'neardup dedup --config'.
    """
    from neardup.evaluation.tuning import describe, write_config  # noqa: PLC0415
    from neardup.evaluation.tuning import tune as run  # noqa: PLC0415

    check_new_file(out, force=force)
    with shown_progress("nothing was chosen") as progress:
        tuned = run(
            labelled,
            method,
            precision=precision,
            duplicate_from=duplicate_from,
            workers=workers,
            progress=progress,
        )
    for line in describe(tuned):
        typer.echo(line)
    write_config(tuned, out)
    typer.echo(f"written to {out}; use it with: neardup dedup INPUT --config {out} --out DIR")


def check_new_file(path: Path, *, force: bool) -> None:
    """Refuse to replace a file without --force, and to write where nothing can be written."""
    if path.exists() and not force:
        raise OutputError(f"{path} exists; use --force to replace it")
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise OutputError(f"cannot write to {above}, where {path} should be")


def synth(
    pages: Annotated[int, option("synth.pages")],
    out: Annotated[Path, option("synth.out")],
    seed: Annotated[int, option("synth.seed")] = 0,
    profile: Annotated[str, option("synth.profile")] = "2026-12",
    format_: Annotated[str, option("synth.format")] = "jsonl",
    language: Annotated[str, option("synth.language")] = "both",
    length: Annotated[str, option("synth.length")] = "normal",
    texts: Annotated[bool, option("synth.texts")] = False,
    reprints: Annotated[float, option("synth.reprints")] = 0.5,
    copies: Annotated[float | None, option("synth.copies")] = None,
    template_stops: Annotated[bool, option("synth.template_stops")] = True,
    days: Annotated[int, option("synth.days")] = 30,
    pages_per_host: Annotated[int, option("synth.pages_per_host")] = 8,
    workers: Annotated[int | None, option("synth.workers")] = None,
    force: Force = False,
) -> None:
    """Generate a labelled set of English and Chinese pages: the pages and truth.csv.

    Articles appear on sites with their own templates and are reprinted elsewhere: mirrored,
    edited, trimmed, extended, reflowed, reordered, re-encoded or paginated, some under another
    title. Pages have copies on their own host: recrawls, session ids, print views, corrections.
    Excerpts, merged pages, and pages that only look alike (forms, product pages, lists) are traps.
    truth.csv names the article of each page, and what was changed.
    """
    from neardup.evaluation.synth import write_set  # noqa: PLC0415

    check_new_file(out / "truth.csv", force=force)
    with shown_progress("no set was written") as progress:
        path = write_set(
            out,
            pages,
            seed,
            format=format_,
            profile=profile,
            language=language,
            length=length,
            texts=texts,
            reprints=reprints,
            copies=copies,
            template_stops=template_stops,
            days=days,
            pages_per_host=pages_per_host,
            workers=workers,
            progress=progress,
        )
    typer.echo(f"{pages:,} pages written to {path}, their labels to {path.parent / 'truth.csv'}")
