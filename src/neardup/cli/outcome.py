"""What a finished run found, for people."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from neardup.engines.estimate import estimate
from neardup.engines.result import Result
from neardup.methods.base import make_method
from neardup.pages import Limits


def show_needs(
    inputs: Sequence[str],
    limits: Limits,
    settings: Mapping[str, Any],
    options: Mapping[str, object],
) -> None:
    """What a run will need, on standard error; a need above the memory allowed is told, too."""
    method = make_method(settings["method"], options, preset=settings["preset"])
    needs = estimate(inputs, limits, method, settings["workers"])
    if needs is None:
        told = "the size of the input cannot be told before it is read"
    else:
        told = needs.in_words()
        if needs.memory > settings["memory"]:
            told += "; that is more than --memory allows"
    print(f"neardup: {told}", file=sys.stderr)


def show_outcome(result: Result) -> None:
    """The counts that matter, and where the files are."""
    counts = result.summary["counts"]
    console = Console()
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right", style="bold")
    table.add_column()
    share = counts["duplicates"] / counts["pages"]
    table.add_row(f"{counts['pages']:,}", "pages")
    table.add_row(f"{counts['duplicates']:,}", f"duplicates ({share:.1%})")
    table.add_row(f"{counts['kept']:,}", "pages to keep")
    table.add_row(
        f"{counts['clusters_with_duplicates']:,}",
        f"clusters of more than one page, the largest of {counts['largest_cluster']:,}",
    )
    if counts["undecided"]:
        table.add_row(f"{counts['undecided']:,}", "pages with too little text to decide")
    if counts["skipped"]:
        table.add_row(f"{counts['skipped']:,}", f"records skipped: {_reasons(result)}")
    console.print(table)
    console.print(f"written to {result.folder}", highlight=False, soft_wrap=True)


def _reasons(result: Result) -> str:
    by_reason = result.summary["skipped_by_reason"]
    return ", ".join(f"{count:,} {reason}" for reason, count in by_reason.items())


def show_clusters(result: Result) -> None:
    """Every cluster of more than one page, with what each member is to the kept page."""
    rows = {row["id"]: row for row in result.pages()}
    table = Table(title="Pages that are one page to a reader", title_justify="left")
    for heading in ("page", "is", "similarity"):
        table.add_column(heading, justify="right" if heading == "similarity" else "left")
    for cluster in result.clusters():
        if len(cluster.members) == 1:
            continue
        table.add_row(f"[bold]{_plain(cluster.kept)}[/bold]", "[green]kept[/green]", "")
        for member in cluster.members:
            if member != cluster.kept:
                row = rows[member]
                table.add_row(f"  {_plain(member)}", row["relation"], f"{row['similarity']:.2f}")
        table.add_section()
    Console().print(table)


def _plain(text: str) -> str:
    """Ids come from pages: no markup of theirs is obeyed."""
    return text.replace("[", r"\[")
