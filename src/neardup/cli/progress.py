"""Progress of a run: a bar on a terminal, plain lines elsewhere. Always on standard error."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol

from neardup.engines.progress import Progress
from neardup.kernels.jit import when_compiling

LINE_EVERY = 5.0  # seconds between plain lines
WORDS = {
    "parse": "reading and parsing",
    "identify": "settling ids",
    "features": "computing features",
    "candidates": "finding candidates",
    "judge": "judging pairs",
    "cluster": "clustering",
    "write": "writing the result",
    "keep": "writing the kept pages",
}
COMPILING = "compiling kernels for this machine, once; later runs start at once"


class ShownProgress(Progress, AbstractContextManager["ShownProgress"], Protocol):
    """Progress that is shown while a `with` block lasts."""


def shown_progress() -> ShownProgress:
    """The progress display for where standard error goes."""
    return ProgressBar() if sys.stderr.isatty() else ProgressLines()


class ProgressLines:
    """A line when a stage begins, and one now and then while it lasts."""

    def __init__(self) -> None:
        self._name = ""
        self._count = 0
        self._size = 0
        self._started = self._told = time.monotonic()
        self._compiling = False
        when_compiling(self._tell_compiling)

    def __enter__(self) -> ProgressLines:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

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

    def _tell_compiling(self, _: str) -> None:
        if not self._compiling:
            self._compiling = True
            self._tell(COMPILING)

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
        self._task = None
        self._started = time.monotonic()
        when_compiling(self._tell_compiling)
        self._compiling = False

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._finish()
        self._bar.stop()

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

    def _finish(self) -> None:
        if self._task is not None:
            done = self._bar.tasks[self._task].completed
            self._bar.update(self._task, total=done or 1, completed=done or 1)

    def _tell_compiling(self, _: str) -> None:
        if not self._compiling:
            self._compiling = True
            self._bar.console.print(COMPILING, style="dim")
