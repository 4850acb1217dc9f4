"""The batch commands: `neardup dedup`, `recluster` (another threshold) and `demo`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from neardup.cli.messages import shown_progress
from neardup.cli.options import (
    COLUMNS,
    DEFAULT_METHOD,
    Assignments,
    Force,
    Inputs,
    PageOptions,
    Preset,
    ReportLanguage,
    Threshold,
    View,
    argument,
    limits_of,
    option,
)
from neardup.cli.warm_up import DEMO_PAGES, prepare_run
from neardup.config import parse_size, read_toml
from neardup.errors import UsageError, did_you_mean, unknown
from neardup.pages.inputs import find_files

if TYPE_CHECKING:
    from neardup.local.result import Result

DEFAULTS: Mapping[str, object] = {
    "engine": "local",
    "method": DEFAULT_METHOD,
    "preset": "default",
    "view": None,
    "keep": None,
    "contained": False,
    "format": "jsonl",
    "language": "en",
    "workers": None,
    "memory": None,
    "max_page_size": "20MB",
    "threshold": None,
    "base_url": None,
    **{f"{what}_column": None for what in COLUMNS},
    "master": None,
    "partitions": None,
}
CHOICES = {
    "engine": ("local", "spark"),
    "format": ("jsonl", "parquet", "csv", "xlsx"),
    "language": ("en", "zh"),
}
KINDS = {"workers": int, "partitions": int, "threshold": float}  # others without a default: str
# Settings that only one engine has.
ONLY_LOCAL = ("format", "workers")
ONLY_SPARK = ("master", "partitions")


def dedup(
    context: typer.Context,
    inputs: Inputs,
    out: Annotated[str, option("dedup.out")],
    keep: Annotated[str | None, option("dedup.keep")] = None,
    contained: Annotated[bool | None, option("dedup.contained")] = None,
    format_: Annotated[str | None, option("dedup.format")] = None,
    write_kept: Annotated[Path | None, option("dedup.write_kept")] = None,
    against: Annotated[str | None, option("dedup.against")] = None,
    no_report: Annotated[bool, option("dedup.no_report")] = False,
    language: Annotated[str | None, option("dedup.language")] = None,
    force: Annotated[bool, option("dedup.force")] = False,
    method: Annotated[str | None, option("dedup.method")] = None,
    preset: Preset = None,
    view: View = None,
    threshold: Threshold = None,
    set_: Assignments = None,
    dry_run: Annotated[bool, option("dedup.dry_run")] = False,
    resume: Annotated[bool, option("dedup.resume")] = False,
    config: Annotated[Path | None, option("dedup.config")] = None,
    workers: Annotated[int | None, option("dedup.workers")] = None,
    memory: Annotated[str | None, option("dedup.memory")] = None,
    engine: Annotated[str | None, option("dedup.engine")] = None,
    master: Annotated[str | None, option("dedup.master")] = None,
    partitions: Annotated[int | None, option("dedup.partitions")] = None,
    **pages: Unpack[PageOptions],
) -> None:
    """Find the duplicates among the pages of INPUT and write every decision to a directory.

    The directory holds clusters.jsonl (each page once: its cluster, and the page it duplicates
    unless it is kept), pairs.jsonl (the evidence), rejected.jsonl, skipped.jsonl, summary.json and
    report.html. --format csv and xlsx add what to do about each duplicate, and redirects for nginx
    and Apache.
    """
    arguments = {name.rstrip("_"): value for name, value in context.params.items()}
    settings, options = merge_settings(config, arguments, set_ or [])
    local = settings.pop("engine") == "local"
    for name in ONLY_SPARK if local else ONLY_LOCAL:
        if settings.pop(name) != DEFAULTS[name]:
            raise UsageError(f"--{name} needs --engine {'spark' if local else 'local'}")
    if dry_run and not local:
        raise UsageError("--dry-run needs --engine local")

    # Before the slow imports, so that people read within a second that kernels are compiled.
    if local:
        find_files(inputs)
        prepare_run(settings["method"])

    from neardup.cli.outcome import show_needs, show_outcome  # noqa: PLC0415 - keeps --help quick

    run: Callable[..., Result]
    limits = limits_of(settings)
    for name in ("max_page_size", "base_url", *(f"{what}_column" for what in COLUMNS)):
        del settings[name]
    if settings["memory"] is not None:
        settings["memory"] = parse_size(settings["memory"])
    if local:
        from neardup.api import dedup as run  # noqa: PLC0415
        from neardup.local.estimate import allowed_memory  # noqa: PLC0415
        from neardup.local.result import check_outputs  # noqa: PLC0415

        settings["memory"] = allowed_memory(settings["memory"], settings["workers"], limits)
        if not dry_run:
            check_outputs(Path(out), write_kept, inputs, force=force)
        room_in = None if dry_run or force else out
        show_needs(inputs, limits, settings, options, room_in, against)
        if dry_run:
            return
    else:
        from neardup.spark.pipeline import dedup as run  # noqa: PLC0415

    settings |= {"write_kept": write_kept, "resume": resume, "report": not no_report}
    with shown_progress(lambda: _interrupted(out)) as progress:
        result = run(
            inputs,
            out,
            options=options,
            against=against,
            limits=limits,
            force=force,
            progress=progress,
            **settings,
        )
    show_outcome(result, write_kept)


def _interrupted(out: str) -> str:
    """What to do after Ctrl-C: a run that has computed something leaves its work folder."""
    from neardup.local.work import work_path  # noqa: PLC0415 - keeps --help quick

    if work_path(Path(out)).exists():
        return "run the same command with --resume to continue"
    return "no result was written"


def merge_settings(
    config: Path | None, arguments: Mapping[str, object], assignments: Sequence[str]
) -> tuple[dict[str, Any], dict[str, object]]:
    """The run's settings and the method's options. Later ones win: defaults, file, command line."""
    stored = read_toml(config) if config else {}
    options = stored.pop("options", {})
    if not isinstance(options, dict):
        raise UsageError(f"{config}: 'options' must be a table: [options]")
    strange = sorted(set(stored) - set(DEFAULTS))
    if strange:
        known, hint = ", ".join(DEFAULTS), did_you_mean(strange[0], DEFAULTS)
        raise UsageError(
            f"{config} has no setting {strange[0]!r}; there are: {known}, [options]{hint}"
        )
    chosen = {name: arguments[name] for name in DEFAULTS if arguments[name] is not None}
    settings = {**DEFAULTS, **stored, **chosen}
    check_settings(settings)
    return settings, {**options, **read_assignments(assignments)}


def check_settings(settings: Mapping[str, object]) -> None:
    """Check the types and choices of settings from a file or the command line."""
    for name, default in DEFAULTS.items():
        wanted = KINDS.get(name) or (str if default is None else type(default))
        value = settings[name]
        is_whole = wanted is float and type(value) is int
        if value is not None and type(value) is not wanted and not is_whole:
            raise UsageError(f"{name!r} must be of type {wanted.__name__}, not {value!r}")
    for what in CHOICES:
        check_choice(what, settings[what])


def check_choice(what: str, name: object) -> Any:
    """The name, if it is one of the `CHOICES`."""
    if name not in CHOICES[what]:
        raise unknown(what, name, CHOICES[what])
    return name


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
    language: ReportLanguage = "en",
    force: Force = False,
) -> None:
    """Cluster the judged pairs of an earlier result again, without reading its pages.

    Pairs that were never candidates cannot join, so a threshold far below the method's own
    finds little more.
    """
    from neardup.api import recluster as run  # noqa: PLC0415
    from neardup.cli.outcome import show_outcome  # noqa: PLC0415

    with shown_progress() as progress:
        result = run(
            folder,
            out,
            threshold=threshold,
            keep=keep,
            contained=contained,
            format=check_choice("format", format_),
            language=check_choice("language", language),
            force=force,
            progress=progress,
        )
    show_outcome(result)


def demo(
    out: Annotated[Path, option("demo.out")] = Path("demo-output"),
    language: ReportLanguage = "en",
) -> None:
    """Find and show the duplicates among some fifty bundled English and Chinese pages."""
    prepare_run()
    from neardup.api import dedup  # noqa: PLC0415
    from neardup.cli.outcome import show_outcome  # noqa: PLC0415 - keeps --help quick
    from neardup.cli.tables import show_clusters  # noqa: PLC0415

    in_language = check_choice("language", language)
    with shown_progress() as progress:
        result = dedup(str(DEMO_PAGES), out, language=in_language, force=True, progress=progress)
    show_clusters(result)
    show_outcome(result)
