"""The stages of a run: what each did, how long it took and over how many bytes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from neardup.engines.progress import Progress


class Stage:
    """One stage while it runs."""

    def __init__(self, name: str, progress: Progress) -> None:
        self.name = name
        self.count = 0
        self.size = 0
        self.seconds = 0.0
        self._progress = progress

    def advance(self, count: int, size: int = 0) -> None:
        """`count` more pages or pairs, of `size` bytes, are done."""
        self.count += count
        self.size += size
        self._progress.advance(count, size)


class Stages:
    """All stages of a run, in order. Use as `with stages("parse") as stage:`."""

    def __init__(self, progress: Progress) -> None:
        self.done: list[Stage] = []
        self._progress = progress

    @contextmanager
    def __call__(self, name: str, total: int | None = None) -> Iterator[Stage]:
        self._progress.stage(name, total)
        stage = Stage(name, self._progress)
        started = time.perf_counter()
        yield stage
        stage.seconds = time.perf_counter() - started
        self.done.append(stage)
