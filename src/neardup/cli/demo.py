"""`neardup demo`: the main job on the pages that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLE = "Example:  [bold]neardup demo[/bold]"
DEMO_PAGES = Path(__file__).parent / "demo_pages" / "pages"


def demo(
    out: Annotated[Path, typer.Option(help="The folder to write the result to.")] = Path(
        "demo-output"
    ),
) -> None:
    """Find the duplicates among some forty bundled pages, English and Chinese, and show them."""
    from neardup.cli.outcome import show_clusters, show_outcome  # noqa: PLC0415 - quick --help
    from neardup.cli.progress import shown_progress  # noqa: PLC0415
    from neardup.report import dedup  # noqa: PLC0415

    with shown_progress() as progress:
        result = dedup(str(DEMO_PAGES), out, progress=progress)
    show_clusters(result)
    show_outcome(result)
    typer.echo(f"open {result.folder / 'report.html'} in a browser")
