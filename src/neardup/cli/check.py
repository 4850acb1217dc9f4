"""`neardup check`: report whether each page is new or a duplicate."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from neardup.cli.options import Assignments, Inputs, Preset, View

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
            help="Store of pages seen so far: sqlite:///file.db or postgresql://host/database. "
            "Created if it does not exist.",
        ),
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per page.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Look pages up without adding them.")
    ] = False,
    method: Annotated[
        str | None,
        typer.Option(
            help="Method of a new store; see 'neardup methods'. "
            "\\[default: the store's own; own-text if it is new]"
        ),
    ] = None,
    preset: Preset = None,
    view: View = None,
    set_: Assignments = None,
    no_text: Annotated[
        bool,
        typer.Option(
            "--no-text",
            help="Store no text (new stores only): smaller, but pages cannot be judged again and "
            "the review pages show no text.",
        ),
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Parser threads. \\[default: all cores]")
    ] = None,
    max_page_size: Annotated[
        str, typer.Option(help="Skip pages larger than this, and count them.")
    ] = "20MB",
) -> None:
    """Report whether each page is new or a duplicate of a stored one, and add it to the store.

    Pages are identified by id, or by URL if there is none. Adding a page again with the same
    content changes nothing; with other content it replaces the earlier version. A page is in the
    store once its answer is printed. Pages on standard input are answered as they arrive.
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
        view=view,
        keep_text=False if no_text else None,
        create=not dry_run,
    ) as index:
        answers = answers_to(pages, index, add=not dry_run, piped="-" in inputs, workers=workers)
        count = show_answers(answers, skips, sys.stdout, as_json=as_json)
    if not count and "-" not in inputs:
        raise InputError(f"no page could be read in {', '.join(inputs)}")
