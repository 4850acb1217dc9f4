"""Progress of a run: a bar on a terminal, plain lines elsewhere. Always on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from neardup.errors import InterruptedRunError
from neardup.kernels.jit import when_compiling
from neardup.local.run import Progress

if TYPE_CHECKING:
    from rich.progress import TaskID

LINE_EVERY = 5.0  # seconds between plain lines
WORDS = {
    "parse": "reading and parsing",
    "check": "checking pages",
    "read": "reading stored pages",
    "identify": "settling ids",
    "survey": "surveying the pages",
    "features": "computing features",
    "earlier": "taking up the earlier result",
    "keys": "computing keys",
    "candidates": "finding candidates",
    "judge": "judging pairs",
    "assign": "placing page by page",
    "cluster": "clustering",
    "write": "writing the result",
    "keep": "writing the kept pages",
    "report": "writing the report",
    "synth": "generating pages",
    "evaluate": "evaluating",
    "papers": "running the papers' experiments",
    "tune": "trying thresholds",
}
COMPILING = "compiling kernels for this machine, once; later runs start at once"


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Progress for where standard error goes, shown while the block lasts; Ctrl-C ends it."""
    shown = ProgressBar() if sys.stderr.isatty() else ProgressLines()
    when_compiling(shown.compiling)
    try:
        yield shown
    except KeyboardInterrupt:
        raise InterruptedRunError("interrupted; the same command with --resume goes on") from None
    finally:
        shown.close()


class ProgressLines:
    """A line when a stage begins, and one now and then while it lasts."""

    def __init__(self) -> None:
        self._name = ""
        self._count = 0
        self._size = 0
        self._started = self._told = time.monotonic()
        self._told_compiling = False

    def stage(self, name: str, total: int | None = None) -> None:
        self._name, self._count, self._size = name, 0, 0
        self._started = self._told = time.monotonic()
        self._tell(f"{WORDS[name]}{f' ({total:,})' if total else ''}")

    def advance(self, count: int, size: int = 0) -> None:
        self._count += count
        self._size += size
        if time.monotonic() - self._told >= LINE_EVERY:
            self._told = time.monotonic()
            rate = self._count / (self._told - self._started)
            self._tell(f"{WORDS[self._name]}: {self._count:,}, {rate:,.0f}/s")

    def compiling(self, _: str) -> None:
        if not self._told_compiling:
            self._told_compiling = True
            self._tell(COMPILING)

    def close(self) -> None:
        """Nothing is open."""

    @staticmethod
    def _tell(message: str) -> None:
        print(f"neardup: {message}", file=sys.stderr, flush=True)


class ProgressBar:
    """A bar with pages a second."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - only on a terminal
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
        )

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
        self._told_compiling = False
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

    def close(self) -> None:
        self._finish()
        self._bar.stop()

    def _finish(self) -> None:
        if self._task is not None:
            done = self._bar.tasks[self._task].completed
            self._bar.update(self._task, total=done or 1, completed=done or 1)

    def compiling(self, _: str) -> None:
        if not self._told_compiling:
            self._told_compiling = True
            self._bar.console.print(COMPILING, style="dim")
