"""`neardup status`, `expire` and `recheck`: looking after what a crawler has seen."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neardup.errors import UsageError

if TYPE_CHECKING:
    from neardup.index import Index

STATUS_EXAMPLE = "Example:  [bold]neardup status --store sqlite:///crawl.db[/bold]"
EXPIRE_EXAMPLE = (
    "Examples:  [bold]neardup expire --store sqlite:///crawl.db --older-than 30d[/bold]   "
    "[bold]neardup expire --store sqlite:///crawl.db --older-than 2026-01-31[/bold]"
)
RECHECK_EXAMPLE = "Example:  [bold]neardup recheck --store sqlite:///crawl.db[/bold]"

HOURS = {"h": 1, "d": 24, "w": 24 * 7}

StoreUrl = Annotated[
    str,
    typer.Option(
        "--store", metavar="URL", help="The store: sqlite:///file.db or postgresql://host/database."
    ),
]


def status(
    store: StoreUrl,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Tell how many pages and clusters a store holds, and the bytes of each part a page."""
    with _open(store) as index:
        told = _status(index)
    if as_json:
        typer.echo(json.dumps(told))
        return
    pages = told["pages"]
    typer.echo(f"method {told['method']}, {'with' if told['keep_text'] else 'without'} text")
    typer.echo(
        f"{pages:,} pages of {told['hosts']:,} hosts in {told['clusters']:,} clusters: "
        f"{told['duplicates']:,} duplicates, {told['undecided']:,} with too little text to tell"
    )
    for part, size in told["bytes"].items():
        each = f"{size / pages:>10,.0f} bytes a page" if pages else ""
        typer.echo(f"{part:<13}{size / 1e6:>10,.1f} MB{each}")


def expire(
    store: StoreUrl,
    older_than: Annotated[
        str,
        typer.Option(
            metavar="AGE", help="How long ago (12h, 30d, 8w), or a date such as 2026-01-31 (UTC)."
        ),
    ],
) -> None:
    """Forget the pages that were not added, or added again, for so long."""
    age = parse_age(older_than)
    with _open(store) as index:
        count = index.expire(age)
        typer.echo(f"{count:,} pages forgotten, {len(index):,} are left")


def recheck(
    store: StoreUrl,
    work: Annotated[
        Path | None,
        typer.Option(help="A folder for work in between. [default: the system's]"),
    ] = None,
) -> None:
    """Judge everything in a store again with what is known now, as a batch run over all would.

    Names of clusters stay with most of their pages. Writers wait while it runs; readers do not.
    """
    from neardup.cli.progress import shown_progress  # noqa: PLC0415 - keeps --help quick
    from neardup.errors import InterruptedRunError  # noqa: PLC0415

    with _open(store) as index, shown_progress() as progress:
        try:
            found = index.recheck(work=work, progress=progress)
        except KeyboardInterrupt:
            raise InterruptedRunError("interrupted; the store is as it was before") from None
    typer.echo(
        f"{found.pages:,} pages and {found.pairs:,} pairs judged again; "
        f"{found.moved:,} pages are in another cluster now"
    )


def parse_age(text: str) -> timedelta | datetime:
    """12h, 30d and 8w as a span; 2026-01-31 or 2026-01-31T12:00 as a moment, in UTC."""
    if span := re.fullmatch(r"(\d{1,6})([hdw])", text.strip()):
        return timedelta(hours=int(span[1]) * HOURS[span[2]])
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            f"{text!r} is no age: write 12h, 30d or 8w, or a date such as 2026-01-31"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _open(url: str) -> Index:
    """The index in a store that is there."""
    from neardup.index import Index  # noqa: PLC0415 - keeps --help quick

    return Index.open(url, create=False)


def _status(index: Index) -> dict[str, Any]:
    stats = index.stats()
    return {
        "method": index.method.name,
        "keep_text": index.keep_text,
        "pages": stats.pages,
        "hosts": stats.hosts,
        "clusters": stats.clusters,
        "duplicates": stats.duplicates,
        "undecided": stats.undecided,
        "bytes": index.sizes(),
    }
