"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...",
        help="Folders of .html/.txt, .warc(.gz), .jsonl(.gz, .zst), .parquet, globs, remote "
        "paths (s3://, gs://, hf://), or - for JSONL on standard input.",
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(help="'paper' applies the paper's rule as printed, without our guards."),
]
View = Annotated[
    str | None,
    typer.Option(
        help="Which text of a page counts: whole, main (without menus and links) or own (without "
        "what its site repeats). [default: what suits the method]"
    ),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Set an option of the method; repeatable."),
]
