"""`neardup tune`: a method's thresholds chosen on labelled pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLE = (
    "Examples:  [bold]neardup tune set --method minhash[/bold]   "
    "[bold]neardup tune set --method edit-distance --precision 0.98 --out mine.toml[/bold]"
)


def tune(
    labelled: Annotated[
        Path,
        typer.Argument(
            metavar="SET",
            help="A folder with pages and truth.csv: id, article; or a, b and label or grade.",
        ),
    ],
    method: Annotated[str, typer.Option(help="The method to tune; see 'neardup methods'.")],
    precision: Annotated[
        float | None,
        typer.Option(help="Find as much as possible at this precision. [default: best F1]"),
    ] = None,
    out: Annotated[Path, typer.Option(help="The TOML file to write.")] = Path("tuned.toml"),
    duplicate_from: Annotated[
        float | None,
        typer.Option(
            help="The grade from which a graded pair is a duplicate. "
            "[default: half of the highest grade]"
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Threads. [default: all cores]")
    ] = None,
) -> None:
    """Choose a method's thresholds on labels, and say how sure the choice is.

    Every value is tried by a run of the method; the choice is cross-validated over articles or
    pairs. The file is for 'neardup dedup --config'.
    """
    from neardup.cli.progress import shown_progress  # noqa: PLC0415 - keeps --help quick
    from neardup.errors import InterruptedRunError  # noqa: PLC0415
    from neardup.evaluate.tuning import describe, write_config  # noqa: PLC0415
    from neardup.evaluate.tuning import tune as run  # noqa: PLC0415

    with shown_progress() as progress:
        try:
            tuned = run(
                labelled,
                method,
                precision=precision,
                duplicate_from=duplicate_from,
                workers=workers,
                progress=progress,
            )
        except KeyboardInterrupt:
            raise InterruptedRunError("interrupted; nothing was chosen") from None
    for line in describe(tuned):
        typer.echo(line)
    write_config(tuned, out)
    typer.echo(f"written to {out}; use it with: neardup dedup INPUT --config {out} --out DIR")
