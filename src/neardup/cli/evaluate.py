"""`neardup evaluate`: methods measured on labelled sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping

EXAMPLE = (
    "Examples:  [bold]neardup evaluate set --out measured[/bold]   "
    "[bold]neardup evaluate set other --methods minhash,two-phase,two-phase:paper "
    "--out measured[/bold]"
)


def evaluate(
    sets: Annotated[
        list[Path],
        typer.Argument(
            metavar="SET...",
            help="Folders with pages (pages.jsonl.zst, .parquet, .warc.gz ...) and truth.csv: "
            "id, article, kind; or a, b and label or grade.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write the results to.")],
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods, with commas between; NAME:paper is the paper's rule as printed. "
            "[default: all]"
        ),
    ] = None,
    duplicate_from: Annotated[
        float | None,
        typer.Option(
            help="The grade from which a graded pair is a duplicate. "
            "[default: half of the highest grade]"
        ),
    ] = None,
    keep_results: Annotated[
        bool, typer.Option("--keep-results", help="Leave the result of each run in OUT/runs.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Threads of each run. [default: all cores]")
    ] = None,
) -> None:
    """Run methods on labelled sets: precision, recall, F1, B-cubed, adjusted Rand, time, memory.

    The folder gets results.json, results.csv, index.html and charts as PNG and SVG. Each run is
    a process of its own; one that fails is told in the results.
    """
    from neardup.cli.progress import shown_progress  # noqa: PLC0415 - keeps --help quick
    from neardup.errors import InterruptedRunError  # noqa: PLC0415
    from neardup.evaluate.charts import charts_possible  # noqa: PLC0415
    from neardup.evaluate.evaluation import evaluate as run  # noqa: PLC0415

    named = None if methods is None else [name for name in methods.split(",") if name.strip()]
    with shown_progress() as progress:
        try:
            results = run(
                sets,
                out,
                methods=named,
                duplicate_from=duplicate_from,
                keep_results=keep_results,
                workers=workers,
                progress=progress,
            )
        except KeyboardInterrupt:
            raise InterruptedRunError("interrupted; no results were written") from None
    for name, scores in results.items():
        _show(name, scores)
    if not charts_possible():
        typer.echo("no charts: pip install 'neardup[evaluate]' to have them")
    typer.echo(f"written to {out}; open {out / 'index.html'}")


def _show(name: str, methods: Mapping[str, Mapping[str, Any]]) -> None:
    from rich.console import Console  # noqa: PLC0415 - keeps --help quick
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(title=escape(name), title_justify="left")
    table.add_column("method")
    for heading in ("precision", "recall", "F1", "95 %", "seconds", "MB"):
        table.add_column(heading, justify="right")
    for method, scores in methods.items():
        if "error" in scores:
            table.add_row(method, escape(scores["error"]))
            continue
        low, high = scores["intervals"].get("f1", (scores["f1"],) * 2)
        table.add_row(
            method,
            f"{scores['precision']:.3f}",
            f"{scores['recall']:.3f}",
            f"{scores['f1']:.3f}",
            f"{low:.3f} - {high:.3f}",
            f"{scores['seconds']:.2f}",
            f"{scores['peak_memory_mb']:,.0f}",
        )
    Console().print(table)
