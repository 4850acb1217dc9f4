"""How a run uses the machine: progress, stages, threads and memory.

* `Progress` reports what a run is doing. The command line shows it; a library user may ignore it.
* `Stages` records what each stage did, how long it took and over how many bytes.
* `ordered_map` works on all cores, in order, with a bounded number of items in progress;
  `work_side_by_side` does so over several sources at once, in any order.
* `reuse_freed_memory` keeps memory from one batch of pages to the next, and a stage of a large run
  returns it to the system at its end.
* `key_ranges` cuts work so that it stays within the memory limit.
"""

from __future__ import annotations

import ctypes
import logging
import mmap
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Generic, Protocol, TypeVar

LOGGER = logging.getLogger("neardup.run")


class Progress(Protocol):
    """Receives the stages of a run, and how many pages and bytes each has done."""

    def stage(self, name: str, total: int | None = None) -> None:
        """A stage begins; `total` is its number of pages or pairs, where known."""

    def advance(self, count: int, size: int = 0) -> None:
        """`count` more pages or pairs, of `size` bytes, are done."""


class Silent:
    """Reports nothing."""

    def stage(self, name: str, total: int | None = None) -> None:
        """Does nothing."""

    def advance(self, count: int, size: int = 0) -> None:
        """Does nothing."""


class Stage:
    """One stage while it runs."""

    def __init__(self, name: str, progress: Progress) -> None:
        self.name = name
        self.count = 0
        self.size = 0
        self.seconds = 0.0
        self._progress = progress
        self._lock = Lock()

    def advance(self, count: int, size: int = 0) -> None:
        """`count` more pages or pairs, of `size` bytes, are done; any thread may say so."""
        with self._lock:
            self.count += count
            self.size += size
            self._progress.advance(count, size)


class Stages:
    """All stages of a run, in order. Use as `with stages("parse") as stage:`."""

    def __init__(self, progress: Progress, memory: int | None = None) -> None:
        """With a limit of `memory`, freed memory is returned to the system between stages as soon
        as the process holds a good part of it."""
        self.done: list[Stage] = []
        self._progress = progress
        self._memory = memory

    @contextmanager
    def __call__(self, name: str, total: int | None = None) -> Iterator[Stage]:
        self._progress.stage(name, total)
        stage = Stage(name, self._progress)
        started = time.perf_counter()
        LOGGER.debug("%s: started", name)
        yield stage
        if self._memory is not None and held_memory() > self._memory * HELD_SHARE:
            return_freed_memory()
        stage.seconds = time.perf_counter() - started
        self.done.append(stage)
        LOGGER.info("%s: %d in %.1f s", name, stage.count, stage.seconds)


Item = TypeVar("Item")
Result = TypeVar("Result")


def default_workers() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def ordered_map(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    workers: int,
    pool: Executor | None = None,
) -> Iterator[Result]:
    """`function` of each item, in the items' order, computed by `workers` threads, or by a pool.

    Threads suffice because the kernels release the interpreter lock: nothing is copied between
    workers, and memory does not grow with their number. At most two items per worker are in
    progress, so a slow consumer holds the producer back. One worker is the calling thread.
    """
    if workers == 1:
        yield from map(function, items)
        return
    waiting: deque[Future[Result]] = deque()
    with pool or ThreadPoolExecutor(workers, "neardup") as executor:
        try:
            for item in items:
                waiting.append(executor.submit(function, item))
                if len(waiting) >= 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            executor.shutdown(wait=True, cancel_futures=True)


def work_side_by_side(
    sources: Iterable[Iterator[Item]],
    function: Callable[[int, int, Item], None],
    workers: int,
) -> None:
    """`function` of the number of each source, the place of each item in it, and the item.

    Every worker takes an item for itself and works on it, so nothing waits in between: as many
    items are in memory as there are workers, and as many threads run. A source is advanced by one
    thread at a time; a worker that finds all open sources busy opens the next.
    """
    shared = _Sources(sources)

    def work() -> None:
        try:
            while (taken := shared.take()) is not None:
                function(*taken)
        except BaseException:
            shared.stop()
            raise

    if workers == 1:
        work()
        return
    with ThreadPoolExecutor(workers, "neardup") as pool:
        try:
            futures = [pool.submit(work) for _ in range(workers)]
            for future in futures:
                future.result()
        finally:
            shared.stop()


class _Source(Generic[Item]):
    """A source that is being read, and how many of its items were taken."""

    def __init__(self, number: int, items: Iterator[Item]) -> None:
        self.number = number
        self.items = items
        self.taken = 0
        self.ended = False
        self.lock = Lock()


class _Sources(Generic[Item]):
    """Hands out the items of several sources to several threads."""

    def __init__(self, sources: Iterable[Iterator[Item]]) -> None:
        self._coming = enumerate(sources)
        self._open: list[_Source[Item]] = []
        self._lock = Lock()
        self._stopped = False

    def stop(self) -> None:
        """Hand out nothing more."""
        self._stopped = True

    def take(self) -> tuple[int, int, Item] | None:
        """The next item of any source, with its place; None when all have ended."""
        while (source := self._free()) is not None:
            with closing_lock(source.lock):
                if source.ended:
                    continue
                for item in source.items:
                    source.taken += 1
                    return source.number, source.taken - 1, item
                source.ended = True
            with self._lock:
                self._open.remove(source)
        return None

    def _free(self) -> _Source[Item] | None:
        """A source that this thread may advance: its lock is held."""
        with self._lock:
            if self._stopped:
                return None
            for source in self._open:
                if source.lock.acquire(blocking=False):
                    return source
            coming = next(self._coming, None)
            if coming is not None:
                source = _Source(*coming)
                source.lock.acquire()
                self._open.append(source)
                return source
            if not self._open:
                return None
            source = self._open[0]
        source.lock.acquire()
        return source


@contextmanager
def closing_lock(lock: Lock) -> Iterator[None]:
    """Release a lock that is held."""
    try:
        yield
    finally:
        lock.release()


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
LARGEST_REUSED, REUSED_SHARE = 32 * 1024**2, 64


def reuse_freed_memory(memory: int = sys.maxsize) -> None:
    """Reuse the memory of arrays up to 32 MB instead of returning each to the system, which hands
    out cleared pages one at a time and makes the other threads wait.

    These are the limits that glibc arrives at by itself when an array of 32 MB is freed for the
    first time, so memory does not grow any further. With a limit of `memory` below 2 GB they are
    lower: every thread may keep twice as much. Arrow then takes its memory from glibc, too: its own
    pool returns what was freed after a hundredth of a second. Other C libraries have no such
    limits.
    """
    set_limit = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_limit is not None:
        largest = min(LARGEST_REUSED, memory // REUSED_SHARE)
        set_limit(M_MMAP_THRESHOLD, largest)
        set_limit(M_TRIM_THRESHOLD, 2 * largest)
        import pyarrow as pa  # noqa: PLC0415 - keeps --help quick

        pa.set_memory_pool(pa.system_memory_pool())


HELD_SHARE = 0.4  # of the memory limit, from which it is worth returning what was freed


def held_memory() -> int:
    """The bytes of memory that this process holds, freed arrays included; 0 where the system does
    not say."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * mmap.PAGESIZE if status.exists() else 0


def return_freed_memory() -> None:
    """Return the memory of freed arrays to the system. Otherwise hundreds of megabytes, between
    arrays that are still in use, stay with the process."""
    import pyarrow as pa  # noqa: PLC0415 - keeps --help quick

    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


DEFAULT_MEMORY = 4 * 1000**3
SHARE = 0.1  # of the memory limit, for one pass over keys; the rest is for pages, ids and libraries

PARTS = 64  # approximate number of parts that each range of keys is read from
MOST_TOGETHER = 32  # groups of pages whose keys go into one part


def together(items: Sequence[Item]) -> list[Sequence[Item]]:
    """The items in groups: reading ranges from many small parts would be slow."""
    size = min(max(len(items) // PARTS, 1), MOST_TOGETHER)
    return [items[start : start + size] for start in range(0, len(items), size)]


def key_ranges(size: int, memory: int, workers: int) -> list[tuple[int, int]]:
    """Ranges of 64-bit keys, so many that the shares of all workers in `size` bytes fit in memory.

    Keys are hashes, so equal ranges hold about equal numbers of them.
    """
    return equal_ranges(_passes(size, memory) * workers)


def row_ranges(rows: int, size: int, memory: int) -> list[tuple[int, int]]:
    """The same of keys that begin with the number of a row, of which there are so many: a row is in
    one range with all its keys."""
    passes = _passes(size, memory)
    starts = [rows * number // passes << 32 for number in range(passes)]
    return [(start, end - 1) for start, end in pairwise([*starts, 2**64])]


def _passes(size: int, memory: int) -> int:
    return max(1, -(-size // int(memory * SHARE)))


def equal_ranges(count: int) -> list[tuple[int, int]]:
    """All 64-bit keys in so many ranges, at least one."""
    width = 2**64 // max(count, 1)
    starts = [number * width for number in range(max(count, 1))]
    return [(start, end - 1) for start, end in pairwise([*starts, 2**64])]
