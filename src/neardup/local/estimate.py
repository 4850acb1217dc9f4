"""Estimates what a run will need before it starts: pages, bytes, memory, disk and time.

A sample of the input is read, parsed and given to the method, and the rest is extrapolated. How
many pages a compressed file holds is estimated by compressing the sample in the same way. The
estimate is right in its order of magnitude, not to the page.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import zstandard

from neardup.errors import UsageError
from neardup.local.features import MAPPED_SHARE, survey_batch
from neardup.local.run import DEFAULT_MEMORY, default_workers
from neardup.local.work import PLAIN_SHARE, ROOM_SHARE
from neardup.methods.base import Method
from neardup.pages import Limits
from neardup.pages.inputs import find_files
from neardup.pages.raw import MAX_BYTES
from neardup.pages.readers import read
from neardup.text.parse import parse

SAMPLE_PAGES = 64
# Measured (`python -m bench memory`).
LIBRARIES_BYTES = 220_000_000  # of the interpreter with NumPy, Arrow and the kernels
BATCH_COPIES = 3  # of a batch while it is parsed: bytes, UTF-8, text, columns
RECORD_BYTES = 400  # per page: what stays in memory
FEATURE_BYTES = 40_000_000  # of features that are held at once, at most
WRITTEN_ROWS, WRITTEN_BYTES = 65_536, 1_200  # of the tables at a time, and per row
TABLE_BYTES = 1_200  # per page, on disk: its row, and a pair with its verdict
COUNT_BYTES = 22  # per key and count: of the run and, compressed, of the result


@dataclass(frozen=True)
class Estimate:
    """An estimate of what a run needs."""

    pages: int
    size: int  # bytes of the pages
    memory: int
    disk: int  # of the work folder, in which the result is made
    seconds: float

    def in_words(self) -> str:
        """One line for people."""
        return (
            f"about {self.pages:,} pages, {_megabytes(self.size)} of content; needs about "
            f"{_megabytes(self.memory)} of memory, {_megabytes(self.disk)} of disk for the time "
            f"of the run, and {_duration(self.seconds)}"
        )


def allowed_memory(memory: int | None, workers: int | None, limits: Limits) -> int:
    """The memory limit of a run, in bytes; an error if it is below what the run needs at least.

    Every worker may hold pages of the largest size. Without a limit it is 4 GB, or what is needed.
    """
    workers = workers or default_workers()
    least = _in_use(workers, max(MAX_BYTES, limits.page_bytes)) + WRITTEN_ROWS * WRITTEN_BYTES
    if memory is None:
        return max(least, DEFAULT_MEMORY)
    if memory < least:
        pages = f"{limits.page_bytes / 1e6:,.0f} MB"
        raise UsageError(
            f"{memory / 1e6:,.0f} MB of memory is too little for {workers} workers and pages of "
            f"up to {pages}; use --memory of at least {-(-least // 1_000_000)}MB, or fewer "
            "--workers, or a smaller --max-page-size"
        )
    return memory


def _in_use(workers: int, batch: float) -> int:
    """Bytes of the libraries and of the batches that are being read and parsed."""
    return LIBRARIES_BYTES + round((2 * workers + 1) * BATCH_COPIES * batch)


def _held(parts: float, features: float, memory: int) -> int:
    """Bytes of the parts that are in memory: all of a small run, or as many as there may be; and
    later, of the features in files, all or some."""
    room = memory * ROOM_SHARE
    mapped = features if features <= memory * MAPPED_SHARE else FEATURE_BYTES
    return round(parts if parts <= room else max(room, mapped))


def estimate(
    inputs: Sequence[str],
    limits: Limits,
    method: Method,
    workers: int | None = None,
    memory: int = DEFAULT_MEMORY,
) -> Estimate | None:
    """What a run will need; None if the size is unknown (standard input, remote files)."""
    workers = workers or default_workers()
    paths = [Path(file.path) for file in find_files(inputs)]
    if not all(path.is_file() for path in paths):
        return None
    batches = read(inputs, limits, max_pages=SAMPLE_PAGES)
    first = next(batches, None)
    if first is None or not first.pages.num_rows:
        return None
    sample = first.pages
    parse(sample.slice(0, 1))  # compiles or loads the kernels, which must not count in the rate
    started = time.perf_counter()
    pages = parse(sample)
    features = method.describe(pages, survey_batch(method, pages))
    seconds = (time.perf_counter() - started) / sample.num_rows
    count = sample.num_rows
    if next(batches, None) is not None:
        on_disk = sum(path.stat().st_size for path in paths)
        count = max(count, round(on_disk / _stored_size(sample, paths[0])))
    content = pc.sum(pages["size"]).as_py() / sample.num_rows
    largest = max(min(MAX_BYTES, content * count), pc.max(pages["size"]).as_py())
    written = min(count, WRITTEN_ROWS) * WRITTEN_BYTES
    described = features.nbytes / sample.num_rows * count
    spilled = pages.nbytes / sample.num_rows * count
    counts = method.site_counts.count(pages).num_rows if method.site_counts is not None else 0
    counted = counts / sample.num_rows * count * COUNT_BYTES
    held = _held(spilled + described + counted, described, memory)
    # Batches are gone when pairs are judged and the result is written.
    needed = max(_in_use(workers, largest), LIBRARIES_BYTES + held + written)
    needed += count * RECORD_BYTES
    plain = min(spilled, memory * PLAIN_SHARE)  # the rest is compressed, to about a half
    disk = plain + (spilled - plain) / 2 + described + counted + count * TABLE_BYTES
    return Estimate(
        count,
        round(content * count),
        needed,
        round(disk),
        seconds * count / workers,
    )


def _stored_size(sample: pa.RecordBatch, path: Path) -> float:
    """Average bytes of a page in a file of that kind."""
    content = b"".join(sample["body"].to_pylist())
    if path.suffix == ".gz":
        content = zlib.compress(content)
    elif path.suffix in (".zst", ".parquet"):
        content = zstandard.ZstdCompressor().compress(content)
    return max(1.0, len(content) / len(sample["body"]))


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB" if size < 10e9 else f"{size / 1e9:,.0f} GB"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:,.0f} minutes" if seconds < 5400 else f"{seconds / 3600:,.1f} hours"
