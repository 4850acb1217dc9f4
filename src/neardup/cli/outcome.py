"""Results in the terminal: a run's estimate, counts and clusters; the papers' experiments."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from neardup.cli import messages
from neardup.cli.options import escaped
from neardup.errors import OutputError
from neardup.local.estimate import estimate
from neardup.local.prior import check_earlier
from neardup.local.result import Result
from neardup.methods.base import Joining
from neardup.methods.registry import make_method, method_class, threshold_option
from neardup.pages import Limits
from neardup.rules.keeping import keep_policy

if TYPE_CHECKING:
    from rich.table import Table


def show_needs(
    inputs: Sequence[str],
    limits: Limits,
    settings: Mapping[str, Any],
    options: Mapping[str, object],
    out: str | None = None,
    against: str | None = None,
) -> None:
    """Print the estimated time and memory of a run on standard error.

    Settings that cannot be right are an error before a page is read, and so is a disk that seems
    too small at `out`.
    """
    method = make_method(
        settings["method"],
        options,
        preset=settings["preset"],
        view=settings["view"],
        threshold=settings["threshold"],
    )
    keep_policy(settings["keep"], by_rule=method.joining is Joining.REPOSITORY)
    if against is not None:
        check_earlier(Path(against), method)
    needs = estimate(inputs, limits, method, settings["workers"])
    if needs is None:
        message = "the size of this input is unknown until it is read, so there is no estimate"
    else:
        message = needs.in_words()
        if needs.memory > settings["memory"]:
            message += "; that is more than --memory allows"
    if not messages.quiet:
        print(f"neardup: {message}", file=sys.stderr)
    if needs is not None and out is not None:
        check_room(out, needs.disk)


def check_room(out: str, needed: int) -> None:
    """Refuse a run that needs more room on the disk than there is."""
    above = next(folder for folder in Path(out).absolute().parents if folder.is_dir())
    free = shutil.disk_usage(above).free
    if needed > free:
        raise OutputError(
            f"the run needs about {needed / 1e6:,.0f} MB in {above}, where {free / 1e6:,.0f} MB "
            "are free; use another --out, or --force to start anyway"
        )


def show_outcome(result: Result, write_kept: Path | None = None) -> None:
    """Print the main counts, where everything is, and what to do next."""
    counts = result.summary["counts"]
    share = counts["duplicates"] / counts["pages"]
    clusters = f"clusters with duplicates, up to {counts['largest_cluster']:,} pages each"
    rows = [
        (counts["pages"], "pages"),
        (counts["duplicates"], f"duplicates ({share:.1%})"),
        (counts["kept"], "pages to keep"),
        (counts["clusters_with_duplicates"], clusters),
    ]
    if counts["undecided"]:
        rows.append((counts["undecided"], "pages with too little text to decide"))
    if (shells := result.summary.get("shells", {}).get("pages")) and counts["undecided"]:
        hosts = ", ".join(list(result.summary["shells"]["hosts"])[:3])
        rows.append((shells, f"of them shells whose text did not arrive ({hosts})"))
    if counts["skipped"]:
        by_reason = result.summary["skipped_by_reason"].items()
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in by_reason)
        rows.append((counts["skipped"], f"records skipped: {reasons}"))
    width = max(len(f"{count:,}") for count, _ in rows)
    for count, what in rows:
        typer.echo(f"{typer.style(f'{count:>{width},}', bold=True)}  {what}")
    for line in _last_lines(result, write_kept):
        typer.echo(line)


def _last_lines(result: Result, write_kept: Path | None) -> Iterator[str]:
    yield f"written to {result.folder}"
    if write_kept is not None:
        yield f"kept pages: {write_kept}"
    report = result.folder / "report.html"
    if report.is_file():
        yield f"report: {report} (open it in a browser)"
    folder = shlex.quote(str(result.folder))
    if threshold_option(method_class(result.summary["method"])):
        other = shlex.quote(f"{result.folder}-0.9")
        yield f"to try another threshold: neardup recluster {folder} --threshold 0.9 --out {other}"
    else:
        more = shlex.quote(f"{result.folder}-next")
        yield f"to add more pages: neardup dedup INPUT --against {folder} --out {more}"


def show_clusters(result: Result) -> None:
    """Print every cluster of two or more pages, with each page's relation to the kept one."""
    from rich.console import Console  # noqa: PLC0415 - `dedup` does without
    from rich.table import Table  # noqa: PLC0415

    rows = {row["id"]: row for row in result.pages()}
    table = Table(title="Pages a reader would consider the same", title_justify="left")
    for heading in ("page", "is", "similarity"):
        table.add_column(heading, justify="right" if heading == "similarity" else "left")
    for cluster in result.clusters():
        if len(cluster.members) == 1:
            continue
        table.add_row(f"[bold]{escaped(cluster.kept)}[/bold]", "[green]kept[/green]", "")
        for member in cluster.members:
            if member != cluster.kept:
                row = rows[member]
                table.add_row(f"  {escaped(member)}", row["relation"], f"{row['similarity']:.2f}")
        table.add_section()
    Console().print(table)


Row = Mapping[str, Any]
SECONDS = ("extraction_seconds", "comparison_seconds", "total_seconds")
HEADINGS = ("dropped pages", "pairs", "extract", "compare", "seconds", "MB")


def show_papers(rows: Sequence[Row]) -> None:
    """Print one table per experiment, then the reasons where our figures fall short."""
    from rich.console import Console  # noqa: PLC0415 - `dedup` does without

    console = Console()
    for _, group in groupby(rows, key=lambda row: row["experiment"]):
        console.print(_table(list(group)))
    for why in dict.fromkeys(f"{row['experiment']}: {row['why']}" for row in rows if row["why"]):
        console.print(f"short of the paper, {why}", highlight=False, markup=False)


def _table(rows: Sequence[Row]) -> Table:
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    title = escaped(rows[0]["paper"])
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("precision / recall", overflow="fold")
    for heading in HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    for (pages, kind), group in groupby(rows, key=lambda row: (row["pages"], row["input"])):
        trial = list(group)
        claims: Row = next((row["claimed"] for row in trial if row["claimed"]), {})
        table.add_section()
        table.add_row(f"{pages:,} {kind}: paper", *_figures(claims))
        for row in trial:
            figures = row["measured"]
            error = [escaped(figures["error"])] if "error" in figures else None
            table.add_row(_label(row), *(error or _figures(figures)))
    return table


def _label(row: Row) -> str:
    """The method without the experiment's own name."""
    method: str = row["method"]
    base, _, rest = method.partition(":")
    return escaped(method if base != row["experiment"] else f"ours {rest or 'default'}")


def _figures(figures: Mapping[str, Any]) -> Iterator[str]:
    for start in ("page_", ""):
        both = [figures.get(f"{start}{name}") for name in ("precision", "recall")]
        shown = ["-" if each is None else f"{each:.3f}" for each in both]
        yield "" if shown == ["-", "-"] else " / ".join(shown)
    for name in SECONDS:
        yield f"{figures[name]:.2f}" if name in figures else ""
    yield f"{figures['peak_memory_mb']:,.0f}" if "peak_memory_mb" in figures else ""
