"""The batch commands: `neardup dedup`, `recluster` (another threshold) and `demo`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from neardup.cli.options import Assignments, Inputs, Preset, View, argument, option
from neardup.errors import UsageError

if TYPE_CHECKING:
    from neardup.local.result import Result

DEFAULTS: Mapping[str, object] = {
    "engine": "local",
    "method": "own-text",
    "preset": "default",
    "view": None,
    "keep": None,
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
    context: typer.Context,
    inputs: Inputs,
    out: Annotated[str, option("dedup.out")],
    engine: Annotated[str | None, option("dedup.engine")] = None,
    method: Annotated[str | None, option("dedup.method")] = None,
    preset: Preset = None,
    view: View = None,
    set_: Assignments = None,
    config: Annotated[Path | None, option("dedup.config")] = None,
    keep: Annotated[str | None, option("dedup.keep")] = None,
    contained: Annotated[bool | None, option("dedup.contained")] = None,
    format_: Annotated[str | None, option("dedup.format")] = None,
    write_kept: Annotated[Path | None, option("dedup.write_kept")] = None,
    workers: Annotated[int | None, option("dedup.workers")] = None,
    against: Annotated[str | None, option("dedup.against")] = None,
    memory: Annotated[str | None, option("dedup.memory")] = None,
    dry_run: Annotated[bool, option("dedup.dry_run")] = False,
    resume: Annotated[bool, option("dedup.resume")] = False,
    max_page_size: Annotated[str | None, option("dedup.max_page_size")] = None,
    master: Annotated[str | None, option("dedup.master")] = None,
    partitions: Annotated[int | None, option("dedup.partitions")] = None,
) -> None:
    """Find the duplicates among the pages of INPUT and write every decision to a directory.

    It holds clusters.jsonl (each page once: its cluster, and what it duplicates unless it is
    kept), pairs.jsonl (the evidence), rejected.jsonl, skipped.jsonl, summary.json and report.html.
    """
    arguments = {name.rstrip("_"): value for name, value in context.params.items()}
    settings, options = merge_settings(config, arguments, set_ or [])
    local = settings.pop("engine") == "local"
    for name in ONLY_SPARK if local else ONLY_LOCAL:
        if settings.pop(name) != DEFAULTS[name]:
            raise UsageError(f"--{name} needs --engine {'spark' if local else 'local'}")
    if not local and (write_kept is not None or resume or dry_run):
        raise UsageError("--write-kept, --resume and --dry-run need --engine local")

    from neardup.cli.outcome import show_needs, show_outcome  # noqa: PLC0415 - keeps --help quick
    from neardup.cli.progress import shown_progress  # noqa: PLC0415
    from neardup.config import parse_size  # noqa: PLC0415
    from neardup.pages import Limits  # noqa: PLC0415

    run: Callable[..., Result]
    limits = Limits(page_bytes=parse_size(settings.pop("max_page_size")))
    if local:
        from neardup.api import dedup as run  # noqa: PLC0415

        settings["memory"] = parse_size(settings["memory"])
        show_needs(inputs, limits, settings, options)
        if dry_run:
            return
        settings |= {"write_kept": write_kept, "resume": resume}
        interrupted = "run the same command with --resume to continue"
    else:
        from neardup.spark.pipeline import dedup as run  # noqa: PLC0415

        interrupted = "no result was written"
    with shown_progress(interrupted) as progress:
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
    chosen = {name: arguments[name] for name in DEFAULTS if arguments[name] is not None}
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


def recluster(
    folder: Annotated[Path, argument("recluster.folder")],
    threshold: Annotated[float, option("recluster.threshold")],
    out: Annotated[Path, option("recluster.out")],
    keep: Annotated[str | None, option("recluster.keep")] = None,
    contained: Annotated[bool | None, option("recluster.contained")] = None,
    format_: Annotated[str, option("recluster.format")] = "jsonl",
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


DEMO_PAGES = Path(__file__).parent / "demo_pages" / "pages"


def demo(
    out: Annotated[Path, option("demo.out")] = Path("demo-output"),
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
