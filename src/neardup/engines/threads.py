"""Work on all cores, in order, a bounded number of items ahead."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

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
