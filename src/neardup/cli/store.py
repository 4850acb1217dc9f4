"""Store maintenance: `neardup status`, `expire`, `recheck` and `export`."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neardup.cli.messages import shown_progress
from neardup.cli.options import AsJson, option
from neardup.errors import UsageError

if TYPE_CHECKING:
    from neardup.index import Index


HOURS = {"h": 1, "d": 24, "w": 24 * 7}

StoreUrl = Annotated[str, option("shared.store_url")]


def status(store: StoreUrl, as_json: AsJson = False) -> None:
    """Print the number of pages and clusters in a store, and bytes per page, by table."""
    with _open(store) as index:
        figures = _status(index)
    if as_json:
        typer.echo(json.dumps(figures))
        return
    pages = figures["pages"]
    typer.echo(f"method {figures['method']}, {'with' if figures['keep_text'] else 'without'} text")
    typer.echo(
        f"{pages:,} pages of {figures['hosts']:,} hosts in {figures['clusters']:,} clusters: "
        f"{figures['duplicates']:,} duplicates, "
        f"{figures['undecided']:,} with too little text to decide"
    )
    for part, size in figures["bytes"].items():
        each = f"{size / pages:>10,.0f} bytes per page" if pages else ""
        typer.echo(f"{part:<13}{size / 1e6:>10,.1f} MB{each}")


def expire(store: StoreUrl, older_than: Annotated[str, option("expire.older_than")]) -> None:
    """Remove pages not seen since the given age or date."""
    age = parse_age(older_than)
    with _open(store) as index:
        count = index.expire(age)
        typer.echo(f"{count:,} pages removed, {len(index):,} left")


def recheck(
    store: StoreUrl,
    keep: Annotated[str | None, option("recheck.keep")] = None,
    work: Annotated[Path | None, option("recheck.work")] = None,
) -> None:
    """Judge all stored pages again, as a batch run over them would.

    Upgrades a store of an earlier version that keeps the text of its pages. Clusters keep their
    names where most of their pages stay. Writers wait while it runs; readers
    do not.
    """
    opened = _open(store, upgrade=True)
    with opened as index, shown_progress("the store is as it was before") as progress:
        outcome = index.recheck(keep=keep, work=work, progress=progress)
    typer.echo(
        f"{outcome.pages:,} pages and {outcome.pairs:,} pairs judged again; "
        f"{outcome.moved:,} pages moved to another cluster"
    )


def export(
    store: StoreUrl,
    out: Annotated[Path, option("export.out")],
    format_: Annotated[str, option("export.format")] = "jsonl",
) -> None:
    """Write the clusters, the judged pairs and the kept pages of a store to files.

    The files show the store at one moment; crawlers may go on adding pages. They are written
    completely or not at all.
    """
    with _open(store) as index:
        counts = index.export(out, format_)
    typer.echo(
        f"{counts['clusters']:,} pages, {counts['pairs']:,} pairs and {counts['kept']:,} kept "
        f"pages written to {out}"
    )


def parse_span(text: str | None) -> timedelta | None:
    """A duration from 12h, 7d or 8w; None if there is none."""
    if text is None:
        return None
    if (span := _duration(text)) is None:
        raise UsageError(f"{text!r} is not a length of time: write 12h, 7d or 8w")
    return span


def parse_age(text: str) -> timedelta | datetime:
    """A duration from 12h, 30d or 8w; a moment (UTC) from 2026-01-31 or 2026-01-31T12:00."""
    if (span := _duration(text)) is not None:
        return span
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            f"{text!r} is not an age: write 12h, 30d or 8w, or a date such as 2026-01-31"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _duration(text: str) -> timedelta | None:
    match = re.fullmatch(r"(\d{1,6})([hdw])", text.strip())
    return timedelta(hours=int(match[1]) * HOURS[match[2]]) if match else None


def _open(url: str, *, upgrade: bool = False) -> Index:
    """The index of an existing store."""
    from neardup.index import Index  # noqa: PLC0415 - keeps --help quick

    return Index.open(url, create=False, upgrade=upgrade)


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
