"""What a command says while it runs, on standard error: its options -q, -v and --log-file, and the
progress of a run, a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import inspect
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

from neardup.cli.options import TEXTS, name_values, option
from neardup.errors import InterruptedRunError, UsageError
from neardup.local.run import Progress, Silent

if TYPE_CHECKING:
    from rich.progress import TaskID


LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
LINE_EVERY = 5.0  # seconds between lines of progress
WORDS: dict[str, str] = TEXTS["stages"]
COMPILING = "compiling kernels for this machine; this happens once"

quiet = False  # whether progress is left out


def set_up(*, silent: bool, verbose: bool, log_file: str | None) -> None:
    """Show or hide progress, and send what the library logs to standard error or a file."""
    global quiet  # noqa: PLW0603 - as the terminal, it is one for the process
    quiet = silent
    handlers: list[logging.Handler] = []
    if verbose:
        handlers.append(logging.StreamHandler(sys.stderr))
        handlers[-1].setFormatter(logging.Formatter("neardup: %(message)s"))
        handlers[-1].setLevel(logging.INFO)  # progress shows what begins
    if log_file is not None:
        try:
            handlers.append(logging.FileHandler(log_file, encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"cannot write the log file {log_file}: {error.strerror}") from None
        handlers[-1].setFormatter(logging.Formatter(LINE))
    for handler in handlers:
        logger = logging.getLogger("neardup")
        logger.setLevel(logging.DEBUG)
        logger.addHandler(handler)


def say(message: str) -> None:
    """Print a line on standard error, unless -q was given."""
    if not quiet:
        print(f"neardup: {message}", file=sys.stderr, flush=True)


def say_compiling(show: Callable[[str], None] = say) -> None:
    """Say so once if kernels are compiled from now on."""
    from neardup.kernels.jit import when_compiling  # noqa: PLC0415 - keeps --help quick

    unsaid = [COMPILING]
    when_compiling(lambda _: show(unsaid.pop()) if unsaid else None)


def with_messages(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options about messages beside its own, and each of its `**options`."""
    signature = inspect.signature(command, eval_str=True)

    @wraps(command)
    def run(*arguments: Any, quiet: bool, verbose: bool, log_file: str | None, **more: Any) -> None:
        set_up(silent=quiet, verbose=verbose, log_file=log_file)
        command(*arguments, **more)

    kinds = {
        "quiet": (Annotated[bool, option("shared.quiet")], False),
        "verbose": (Annotated[bool, option("shared.verbose")], False),
        "log_file": (Annotated[str | None, option("shared.log_file")], None),
    }
    parameters = []
    for each in signature.parameters.values():
        if each.kind is inspect.Parameter.VAR_KEYWORD:
            [options] = get_args(each.annotation)  # of Unpack
            hints = get_type_hints(options, include_extras=True)
            parameters += [_keyword(name, kind, None) for name, kind in hints.items()]
        else:
            parameters.append(each)
    parameters += [_keyword(name, *about) for name, about in kinds.items()]
    name_values(parameters)
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    del run.__wrapped__  # typer would read its signature
    return run


def _keyword(name: str, kind: Any, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


@contextmanager
def shown_progress(
    interrupted: str | Callable[[], str] = "no result was written",
) -> Iterator[Progress]:
    """Show progress while the block runs, unless -q was given.

    Ctrl-C becomes an error that ends with `interrupted`, or with what that returns at the time.
    """
    bar = ProgressBar() if sys.stderr.isatty() and not quiet else None
    say_compiling(say if bar is None else bar.say)
    try:
        yield bar or (Silent() if quiet else ProgressLines())
    except KeyboardInterrupt:
        outcome = interrupted if isinstance(interrupted, str) else interrupted()
        raise InterruptedRunError(f"interrupted; {outcome}") from None
    finally:
        if bar is not None:
            bar.close()


class ProgressLines:
    """One line when a stage begins, and one every few seconds while it runs."""

    def __init__(self) -> None:
        self._name = ""
        self._count = 0
        self._started = self._printed = time.monotonic()

    def stage(self, name: str, total: int | None = None) -> None:
        self._name, self._count = name, 0
        self._started = self._printed = time.monotonic()
        say(f"{WORDS[name]}{f' ({total:,})' if total else ''}")

    def advance(self, count: int, size: int = 0) -> None:
        self._count += count
        if time.monotonic() - self._printed >= LINE_EVERY:
            self._printed = time.monotonic()
            rate = self._count / (self._printed - self._started)
            say(f"{WORDS[self._name]}: {self._count:,}, {rate:,.0f}/s")


class ProgressBar:
    """A bar with the rate in pages per second."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - only on a terminal
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description:<24}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:>10,.0f}"),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )
        self._task: TaskID | None = None
        self._started = time.monotonic()
        self._bar.start()

    def stage(self, name: str, total: int | None = None) -> None:
        self._finish()
        self._started = time.monotonic()
        self._task = self._bar.add_task(WORDS[name], total=total, rate="")

    def advance(self, count: int, size: int = 0) -> None:
        if self._task is not None:
            self._bar.advance(self._task, count)
            done = self._bar.tasks[self._task].completed
            rate = done / max(time.monotonic() - self._started, 1e-3)
            self._bar.update(self._task, rate=f"{rate:,.0f}/s")

    def say(self, message: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(message, style="dim")

    def close(self) -> None:
        self._finish()
        self._bar.stop()

    def _finish(self) -> None:
        if self._task is not None:
            done = self._bar.tasks[self._task].completed
            self._bar.update(self._task, total=done or 1, completed=done or 1)
