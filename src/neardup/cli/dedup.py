"""The batch commands: `neardup dedup`, `recluster` (another threshold) and `demo`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from neardup.cli.options import Assignments, Inputs, Preset, View
from neardup.errors import UsageError

EXAMPLE = (
    "Examples:  [bold]neardup dedup crawl.warc.gz --out result[/bold]   "
    "[bold]neardup dedup 'pages/*.jsonl.zst' --out result --keep newest[/bold]"
)
DEFAULTS: Mapping[str, object] = {
    "engine": "local",
    "method": "own-text",
    "preset": "default",
    "view": None,
    "keep": "original",
    "contained": False,
    "format": "jsonl",
    "workers": None,
    "memory": "4GB",
    "max_page_size": "20MB",
    "master": None,
    "partitions": None,
}
NUMBERS = ("workers", "partitions")
# Settings that only one engine has.
ONLY_LOCAL = ("format", "workers", "memory")
ONLY_SPARK = ("master", "partitions")


def dedup(
    inputs: Inputs,
    out: Annotated[str, typer.Option(help="Result directory.")],
    engine: Annotated[
        str | None,
        typer.Option(
            help="local (this machine) or spark (a cluster); both give the same result. "
            "\\[default: local]"
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="Method; see 'neardup methods'. \\[default: own-text]"),
    ] = None,
    preset: Preset = None,
    view: View = None,
    set_: Assignments = None,
    config: Annotated[
        Path | None,
        typer.Option(help="TOML file with these options; the command line overrides it."),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            help="Which page of each cluster to keep: original, longest, first (smallest id), "
            "newest, oldest or canonical. \\[default: original]"
        ),
    ] = None,
    contained: Annotated[
        bool | None,
        typer.Option("--contained", help="Also cluster excerpts with the page that contains them."),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Output format: jsonl or parquet. \\[default: jsonl; Spark writes parquet]",
        ),
    ] = None,
    write_kept: Annotated[
        Path | None,
        typer.Option(
            help="Also write the kept pages, as .jsonl(.gz, .zst), .parquet or .warc(.gz)."
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Threads. \\[default: all cores]")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="Result directory of an earlier run: cluster the new pages with its pages, "
            "without reading those again."
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(help="Memory limit; work beyond it spills to disk. \\[default: 4GB]"),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate time and memory, then exit.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    max_page_size: Annotated[
        str | None,
        typer.Option(help="Skip pages larger than this, and count them. \\[default: 20MB]"),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(
            help="Spark master: spark://host:7077, yarn, k8s://... or local[4]. "
            "\\[default: the one set by spark-submit, or all cores of this machine]"
        ),
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(min=1, help="Spark: shuffle partitions. \\[default: Spark chooses]"),
    ] = None,
) -> None:
    """Find the duplicates among the pages of INPUT and write every decision to a directory.

    It holds clusters.jsonl (each page once: its cluster, and what it duplicates unless it is
    kept), pairs.jsonl (the evidence), rejected.jsonl, skipped.jsonl, summary.json and report.html.
    """
    arguments = {
        "engine": engine,
        "method": method,
        "preset": preset,
        "view": view,
        "keep": keep,
        "contained": contained,
        "format": format_,
        "workers": workers,
        "memory": memory,
        "max_page_size": max_page_size,
        "master": master,
        "partitions": partitions,
    }
    settings, options = merge_settings(config, arguments, set_ or [])
    if settings.pop("engine") == "spark":
        refuse(settings, ONLY_LOCAL, "--engine local")
        if write_kept is not None or resume or dry_run:
            raise UsageError("--write-kept, --resume and --dry-run need --engine local")
        run_on_spark(inputs, out, settings, options, against)
        return
    refuse(settings, ONLY_SPARK, "--engine spark")

    from neardup.api import dedup as run  # noqa: PLC0415
    from neardup.cli.outcome import show_needs, show_outcome  # noqa: PLC0415 - keeps --help quick
    from neardup.cli.progress import shown_progress  # noqa: PLC0415
    from neardup.config import parse_size  # noqa: PLC0415
    from neardup.pages import Limits  # noqa: PLC0415

    settings["memory"] = parse_size(settings["memory"])
    limits = Limits(page_bytes=parse_size(settings.pop("max_page_size")))
    show_needs(inputs, limits, settings, options)
    if dry_run:
        return
    with shown_progress("run the same command with --resume to continue") as progress:
        result = run(
            inputs,
            out,
            options=options,
            write_kept=write_kept,
            against=against,
            resume=resume,
            limits=limits,
            progress=progress,
            **settings,
        )
    show_outcome(result)


def run_on_spark(
    inputs: Sequence[str],
    out: str,
    settings: dict[str, Any],
    options: Mapping[str, object],
    against: str | None,
) -> None:
    """The same run on a cluster. It writes no report: the result may be too large for one."""
    from neardup.cli.outcome import show_outcome  # noqa: PLC0415 - keeps --help quick
    from neardup.cli.progress import shown_progress  # noqa: PLC0415
    from neardup.config import parse_size  # noqa: PLC0415
    from neardup.pages import Limits  # noqa: PLC0415
    from neardup.spark.pipeline import dedup as run  # noqa: PLC0415

    limits = Limits(page_bytes=parse_size(settings.pop("max_page_size")))
    with shown_progress() as progress:
        result = run(
            inputs,
            out,
            options=options,
            against=against,
            limits=limits,
            progress=progress,
            **settings,
        )
    show_outcome(result)


def refuse(settings: dict[str, Any], names: Sequence[str], engine: str) -> None:
    """Remove the settings of the other engine; an error if the user set one."""
    for name in names:
        if settings.pop(name) != DEFAULTS[name]:
            raise UsageError(f"--{name} needs {engine}")


def merge_settings(
    config: Path | None, arguments: Mapping[str, object], assignments: Sequence[str]
) -> tuple[dict[str, Any], dict[str, object]]:
    """The run's settings and the method's options. Later ones win: defaults, file, command line."""
    from neardup.config import read_toml  # noqa: PLC0415 - keeps --help quick

    stored = read_toml(config) if config else {}
    options = stored.pop("options", {})
    if not isinstance(options, dict):
        raise UsageError(f"{config}: 'options' must be a table: [options]")
    unknown = sorted(set(stored) - set(DEFAULTS))
    if unknown:
        known = ", ".join(DEFAULTS)
        raise UsageError(f"{config} has no setting {unknown[0]!r}; there are: {known}, [options]")
    chosen = {name: value for name, value in arguments.items() if value is not None}
    settings = {**DEFAULTS, **stored, **chosen}
    check_settings(settings)
    return settings, {**options, **read_assignments(assignments)}


def check_settings(settings: Mapping[str, object]) -> None:
    """Check the types and choices of settings from a file or the command line."""
    for name, default in DEFAULTS.items():
        wanted = int if name in NUMBERS else str if default is None else type(default)
        value = settings[name]
        if value is not None and type(value) is not wanted:
            raise UsageError(f"{name!r} must be of type {wanted.__name__}, not {value!r}")
    check_format(str(settings["format"]))
    if settings["engine"] not in ("local", "spark"):
        raise UsageError(f"unknown engine {settings['engine']!r}; there are: local, spark")


def check_format(name: str) -> Literal["jsonl", "parquet"]:
    """The output format by its name; an error for an unknown one."""
    if name == "jsonl":
        return "jsonl"
    if name == "parquet":
        return "parquet"
    raise UsageError(f"unknown format {name!r}; there are: jsonl, parquet")


def read_assignments(assignments: Sequence[str]) -> dict[str, object]:
    """A list of `name=value` strings as a dictionary."""
    pairs = [text.partition("=") for text in assignments]
    for name, equals, _ in pairs:
        if not (name and equals):
            raise UsageError(f"--set takes NAME=VALUE, not {name!r}")
    return {name.strip(): value.strip() for name, _, value in pairs}


RECLUSTER_EXAMPLE = "Example:  [bold]neardup recluster result --threshold 0.9 --out stricter[/bold]"


def recluster(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Result directory of an earlier run.")
    ],
    threshold: Annotated[
        float,
        typer.Option(help="Least similarity of a pair in one cluster, 0 to 1.", min=0.0, max=1.0),
    ],
    out: Annotated[Path, typer.Option(help="Directory for the new result.")],
    keep: Annotated[
        str | None, typer.Option(help="Which page of each cluster to keep. \\[default: as before]")
    ] = None,
    contained: Annotated[
        bool | None,
        typer.Option(
            "--contained/--no-contained", help="Also cluster excerpts. \\[default: as before]"
        ),
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", help="Output format: jsonl or parquet.")
    ] = "jsonl",
) -> None:
    """Cluster the judged pairs of an earlier result again, without reading its pages.

    Pairs that were never candidates cannot join, so a threshold far below the method's own
    finds little more.
    """
    from neardup.api import recluster as run  # noqa: PLC0415
    from neardup.cli.outcome import show_outcome  # noqa: PLC0415
    from neardup.cli.progress import shown_progress  # noqa: PLC0415

    with shown_progress() as progress:
        result = run(
            folder,
            out,
            threshold=threshold,
            keep=keep,
            contained=contained,
            format=check_format(format_),
            progress=progress,
        )
    show_outcome(result)


DEMO_EXAMPLE = "Example:  [bold]neardup demo[/bold]"
DEMO_PAGES = Path(__file__).parent / "demo_pages" / "pages"


def demo(
    out: Annotated[Path, typer.Option(help="Result directory.")] = Path("demo-output"),
) -> None:
    """Find and show the duplicates among some fifty bundled English and Chinese pages."""
    from neardup.api import dedup  # noqa: PLC0415
    from neardup.cli.outcome import show_clusters, show_outcome  # noqa: PLC0415 - quick --help
    from neardup.cli.progress import shown_progress  # noqa: PLC0415

    with shown_progress() as progress:
        result = dedup(str(DEMO_PAGES), out, progress=progress)
    show_clusters(result)
    show_outcome(result)
    typer.echo(f"open {result.folder / 'report.html'} in a browser")
