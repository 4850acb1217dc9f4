"""`neardup synth`: labelled pages of any size, to measure with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLE = (
    "Examples:  [bold]neardup synth --pages 10000 --seed 1 --out set[/bold]   "
    "[bold]neardup synth --pages 500000 --format warc --language zh --out set[/bold]"
)


def synth(
    pages: Annotated[int, typer.Option(min=1, help="How many pages.")],
    out: Annotated[Path, typer.Option(help="The folder to write the set to.")],
    seed: Annotated[int, typer.Option(help="The same seed gives the same pages.")] = 0,
    format_: Annotated[
        str,
        typer.Option("--format", help="jsonl (pages.jsonl.zst), parquet, or warc (pages.warc.gz)."),
    ] = "jsonl",
    language: Annotated[str, typer.Option(help="en, zh or both.")] = "both",
    length: Annotated[str, typer.Option(help="Of articles: short or normal.")] = "normal",
    texts: Annotated[
        bool, typer.Option("--texts", help="Plain texts, without site templates.")
    ] = False,
    reprints: Annotated[
        float, typer.Option(help="Share of pages that are not the first of their article.")
    ] = 0.5,
    days: Annotated[int, typer.Option(min=1, help="Window of the articles' dates.")] = 30,
    pages_per_host: Annotated[
        int,
        typer.Option(min=1, help="On average; a few hosts have many and many have few."),
    ] = 8,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes. [default: all cores]")
    ] = None,
) -> None:
    """Write a labelled set of generated pages, English and Chinese: pages and truth.csv.

    Articles appear on sites with templates of their own and are reprinted elsewhere: mirrored,
    edited, trimmed, extended, reflowed, reordered, re-encoded, paginated; excerpts, merged pages
    and forms with other numbers are traps. truth.csv says which page has which article.
    """
    from neardup.cli.progress import shown_progress  # noqa: PLC0415 - keeps --help quick
    from neardup.errors import InterruptedRunError  # noqa: PLC0415
    from neardup.evaluate.synth import write_set  # noqa: PLC0415

    with shown_progress() as progress:
        try:
            path = write_set(
                out,
                pages,
                seed,
                format=format_,
                language=language,
                length=length,
                texts=texts,
                reprints=reprints,
                days=days,
                pages_per_host=pages_per_host,
                workers=workers,
                progress=progress,
            )
        except KeyboardInterrupt:
            raise InterruptedRunError("interrupted; no set was written") from None
    typer.echo(f"{pages:,} pages written to {path}, their labels to {path.parent / 'truth.csv'}")
