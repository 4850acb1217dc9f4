"""`neardup check`: is each page new, or a copy, and of what?"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from neardup.cli.options import Assignments, Inputs, Preset

EXAMPLE = (
    "Examples:  [bold]neardup check crawl.warc.gz --store sqlite:///crawl.db[/bold]   "
    "[bold]my-crawler | neardup check - --store sqlite:///crawl.db --json[/bold]"
)


def check(
    inputs: Inputs,
    store: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="What has been seen: sqlite:///file.db or postgresql://host/database. "
            "It is made if it is not there.",
        ),
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON line a page, for programs.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only ask: the store stays as it is.")
    ] = False,
    method: Annotated[
        str | None,
        typer.Option(
            help="How to tell duplicates in a new store; see 'neardup methods'. "
            "[default: own-text, or the store's own]"
        ),
    ] = None,
    preset: Preset = None,
    set_: Assignments = None,
    no_text: Annotated[
        bool,
        typer.Option(
            "--no-text",
            help="A new store keeps no text of pages: it is smaller, but what was decided stays "
            "as it was, and the review pages show no text.",
        ),
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Threads that parse. [default: all cores]")
    ] = None,
    max_page_size: Annotated[
        str, typer.Option(help="Larger pages are skipped and counted.")
    ] = "20MB",
) -> None:
    """Tell of each page whether it is new, or a copy of what the store has seen, and remember it.

    A page is known by its id, or else its URL: adding it again with the same content changes
    nothing, with other content it takes the place of the earlier one. When an answer is printed,
    the page is in the store. Pages on standard input are answered as they come.
    """
    from neardup.cli.answers import (  # noqa: PLC0415
        Skips,
        answers_to,
        pages_of,
        show_answers,
    )
    from neardup.cli.dedup import read_assignments  # noqa: PLC0415
    from neardup.config import parse_size  # noqa: PLC0415
    from neardup.errors import InputError  # noqa: PLC0415
    from neardup.index import Index  # noqa: PLC0415
    from neardup.pages import Limits  # noqa: PLC0415

    skips = Skips()
    pages = pages_of(inputs, Limits(page_bytes=parse_size(max_page_size)), skips)
    with Index.open(
        store,
        method,
        read_assignments(set_ or []),
        preset=preset,
        keep_text=False if no_text else None,
        create=not dry_run,
    ) as index:
        answers = answers_to(pages, index, add=not dry_run, piped="-" in inputs, workers=workers)
        found = show_answers(answers, skips, sys.stdout, as_json=as_json)
    if not found and "-" not in inputs:
        raise InputError(f"no page could be read in {', '.join(inputs)}")
