"""How a run tells what it is doing. The command line shows it; a library user may ignore it.

The stages of a run: what each did, how long it took and over how many bytes.

Work on all cores, in order, a bounded number of items ahead.

Memory: how much a run may take, and how work is cut so that it does.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Protocol, TypeVar


class Progress(Protocol):
    """Told of each stage in turn and of the pages and bytes it has done so far."""

    def stage(self, name: str, total: int | None = None) -> None:
        """A stage begins; `total` is its number of pages or pairs, where known."""

    def advance(self, count: int, size: int = 0) -> None:
        """`count` more pages or pairs, of `size` bytes, are done."""


class Silent:
    """Says nothing."""

    def stage(self, name: str, total: int | None = None) -> None:
        """Nothing to say."""

    def advance(self, count: int, size: int = 0) -> None:
        """Nothing to say."""


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


Item = TypeVar("Item")
Result = TypeVar("Result")


def default_workers() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int
) -> Iterator[Result]:
    """`function` of each item, in the items' order, computed by `workers` threads.

    Threads, because the kernels release the interpreter lock: nothing is copied between workers,
    and memory does not grow with them. At most two items a worker are under way, so a slow
    consumer holds the producer back.
    """
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(workers, "neardup") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) >= 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


DEFAULT_MEMORY = 4 * 1000**3
SHARE = 0.1  # of the memory allowed, for one pass over keys; the rest is pages, ids and libraries

PARTS = 64  # of keys, about, to pick every range from
MOST_TOGETHER = 32  # groups of pages of which one part of keys is made


def together(items: Sequence[Item]) -> list[Sequence[Item]]:
    """Items some at a time: many small parts would make picking ranges from each of them slow."""
    size = min(max(len(items) // PARTS, 1), MOST_TOGETHER)
    return [items[start : start + size] for start in range(0, len(items), size)]


def key_ranges(size: int, memory: int) -> list[tuple[int, int]]:
    """Ranges that cut all 64-bit keys so that each holds its share of `size` bytes in memory.

    Keys are hashes, so equal ranges hold about equally many.
    """
    passes = max(1, -(-size // int(memory * SHARE)))
    width = 2**64 // passes
    starts = [number * width for number in range(passes)]
    return [(start, end - 1) for start, end in pairwise([*starts, 2**64])]
