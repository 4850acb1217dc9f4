"""`neardup recluster`: another threshold over an earlier result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLE = "Example:  [bold]neardup recluster result --threshold 0.9 --out stricter[/bold]"


def recluster(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The result of an earlier run.")],
    threshold: Annotated[
        float, typer.Option(help="Pairs join from this similarity on, 0 to 1.", min=0.0, max=1.0)
    ],
    out: Annotated[Path, typer.Option(help="The folder to write the new result to.")],
    keep: Annotated[
        str | None, typer.Option(help="The page to keep of each cluster. [default: as before]")
    ] = None,
    contained: Annotated[
        bool | None,
        typer.Option("--contained/--no-contained", help="Join excerpts, too. [default: as before]"),
    ] = None,
    format_: Annotated[str, typer.Option("--format", help="jsonl or parquet.")] = "jsonl",
) -> None:
    """Cluster the judged pairs of an earlier result anew, without reading its pages again.

    Pairs that were never candidates are not looked for: a threshold far below the method's own
    finds little more.
    """
    from neardup.cli.dedup import check_format  # noqa: PLC0415 - keeps --help quick
    from neardup.cli.outcome import show_outcome  # noqa: PLC0415
    from neardup.cli.progress import shown_progress  # noqa: PLC0415
    from neardup.report import recluster as run  # noqa: PLC0415

    with shown_progress() as progress:
        result = run(
            folder,
            out,
            threshold=threshold,
            keep=keep,
            contained=contained,
            format=check_format(format_),
            progress=progress,
        )
    show_outcome(result)
