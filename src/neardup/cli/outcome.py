"""A run in the terminal: what it will need, its counts, and what to do next."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from neardup.cli.messages import say
from neardup.errors import OutputError
from neardup.local.estimate import estimate
from neardup.local.prior import check_earlier
from neardup.local.result import Result
from neardup.methods.base import Joining
from neardup.methods.registry import make_method, method_class, threshold_option
from neardup.pages import Limits
from neardup.rules.keeping import keep_policy


def show_needs(
    inputs: Sequence[str],
    limits: Limits,
    settings: Mapping[str, Any],
    options: Mapping[str, object],
    out: str | None,
    against: str | None,
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
    needs = estimate(inputs, limits, method, settings["workers"], settings["memory"])
    if needs is None:
        message = "the size of this input is unknown until it is read, so there is no estimate"
    else:
        message = needs.in_words()
        if needs.memory > settings["memory"]:
            message += "; that is more than --memory allows"
    say(message)
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
