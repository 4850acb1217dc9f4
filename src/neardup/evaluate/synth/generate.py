"""Pages in batches, in the order of the plan, by one process or several."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import TypeVar

import pyarrow as pa

from neardup.errors import UsageError
from neardup.evaluate.synth.place import Settings, SynthPage, make_page
from neardup.evaluate.synth.plan import Row, make_plan

BATCH = 500  # pages; fixed, because compressed files depend on it
LANGUAGES = ("en", "zh", "both")
LENGTH_NAMES = ("short", "normal")
SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("url", pa.string(), nullable=False),
        pa.field("title", pa.string(), nullable=False),
        pa.field("time", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("charset", pa.string(), nullable=False),
        pa.field("content", pa.string(), nullable=False),
        pa.field("article", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
    ]
)
Made = TypeVar("Made")


def synth(
    pages: int,
    seed: int = 0,
    *,
    language: str = "both",
    length: str = "normal",
    texts: bool = False,
    reprints: float = 0.5,
    days: int = 30,
    forms: bool = True,
    pages_per_host: int = 8,
    workers: int = 1,
) -> Iterator[pa.RecordBatch]:
    """Labelled pages (`SCHEMA`), some at a time; `content` is HTML, or plain text with `texts`.

    The same arguments give the same pages, whatever `workers` is. `reprints` is the share of
    pages that are not the first of their article; `days` the window of the articles' dates;
    `forms` puts in pages of figures as traps; `pages_per_host` is an average. With several
    workers the calling script needs the usual `if __name__ == "__main__"` guard.
    """
    settings = Settings(pages, seed, language, length, days, reprints, texts, forms, pages_per_host)
    return batches(check_settings(settings), as_batch, workers)


def check_settings(settings: Settings) -> Settings:
    """The settings of a set, or an error that says which is wrong."""
    if min(settings.pages, settings.days, settings.pages_per_host) < 1:
        raise UsageError("a set has at least 1 page, 1 day and 1 page a host")
    if not 0 <= settings.reprints <= 0.9:
        raise UsageError(f"the share of reprints is from 0 to 0.9, not {settings.reprints}")
    for name, value, known in (
        ("language", settings.language, LANGUAGES),
        ("length", settings.length, LENGTH_NAMES),
    ):
        if value not in known:
            raise UsageError(f"unknown {name} {value!r}; there are: {', '.join(known)}")
    return settings


def batches(
    settings: Settings, finish: Callable[[list[SynthPage]], Made], workers: int
) -> Iterator[Made]:
    """`finish` of each batch of pages, in order; workers do both, a few batches ahead."""
    plan = make_plan(settings.pages, settings.seed, settings.reprints, forms=settings.forms)
    starts = range(0, len(plan), BATCH)
    rows = (plan.rows(start, start + BATCH) for start in starts)
    make: Callable[[list[Row]], Made] = partial(_make, settings, finish)
    if workers <= 1 or len(starts) == 1:
        yield from map(make, rows)
        return
    waiting: deque[Future[Made]] = deque()
    # spawned, not forked: a fork copies the locks of threads that libraries have started
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        try:
            for some in rows:
                waiting.append(pool.submit(make, some))
                if len(waiting) >= 3 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _make(settings: Settings, finish: Callable[[list[SynthPage]], Made], rows: list[Row]) -> Made:
    return finish([make_page(row, settings) for row in rows])


def as_batch(pages: list[SynthPage]) -> pa.RecordBatch:
    """Pages as columns."""
    columns = [[getattr(page, name) for page in pages] for name in SCHEMA.names]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.record_batch(arrays, schema=SCHEMA)
