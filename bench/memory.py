"""Peak memory of the whole `neardup dedup` against `--memory`, for pages of several sizes.

Generated pages of 2 KB, of 1 MB, and of 40 MB with `--max-page-size 50MB`, no two alike, as JSON
lines; four times as many with --full. Each runs with the least memory the command accepts, and
with twice as much. The peak must stay below 1.2 times `--memory`. The memory and the number of
pages that `--dry-run` estimates must be right within a quarter.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from bench.timing import dedup_command, run_command

WORDS = [f"{a}{b}" for a in ("ba", "do", "ke", "li", "mun", "pra", "sto", "tu") for b in "aeiourst"]
# Bytes per page, number of pages, and options that pages of this size need.
CASES = {
    "2 KB": (2_000, 40_000, []),
    "1 MB": (1_000_000, 120, []),
    "40 MB": (40_000_000, 8, ["--max-page-size", "50MB"]),
}
MOST = 1.2  # times --memory
WITHIN = 0.25  # of the estimate


def main(*, full: bool) -> dict[str, object]:
    """Memory allowed, estimated and used for each size of pages, in MB."""
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (size, few, options) in CASES.items():
            path = Path(folder, "pages.jsonl")
            count = few * 4 if full else few
            write_pages(path, size, count)
            least = least_memory(path, options)
            for memory in (least, 2 * least):
                figures[f"{count:,} pages of {name}, --memory {memory}MB"] = _measure(
                    path, memory, options, count
                )
    return figures


def write_pages(path: Path, size: int, count: int) -> None:
    """Write `count` pages of `size` bytes as JSON lines."""
    random_ = random.Random(size)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            text = " ".join(random_.choices(WORDS, k=min(size // 4, 20_000)))
            lines = "".join(f"<p>{text[at : at + 400]}</p>\n" for at in range(0, len(text), 400))
            html = (lines * (size // len(lines) + 1))[:size]
            file.write(json.dumps({"url": f"http://h{number % 99}.example/{number}", "html": html}))
            file.write("\n")


def least_memory(path: Path, options: list[str]) -> int:
    """The least memory the command accepts, in MB, from the error for too little."""
    error = _dry_run(path, 10, options)
    minimum = re.search(r"at least (\d+)MB", error)
    if minimum is None:
        raise RuntimeError(f"10 MB were not refused: {error}")
    return int(minimum[1])


def _dry_run(path: Path, memory: int, options: list[str]) -> str:
    """The estimate, or the error, that `--dry-run` prints."""
    command = dedup_command(path, path.with_name("unused"), "--memory", f"{memory}MB", *options)
    done = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, check=False)
    return done.stderr


def _measure(path: Path, memory: int, options: list[str], count: int) -> dict[str, Any]:
    estimate = re.search(
        r"about ([\d,]+) pages.*about ([\d,]+) MB of memory", _dry_run(path, memory, options)
    )
    pages, megabytes = (int(n.replace(",", "")) for n in estimate.groups()) if estimate else (0, 0)
    command = dedup_command(path, path.with_name("result"), "--memory", f"{memory}MB", *options)
    peak = run_command(command).peak_mb
    return {
        "peak MB": round(peak),
        f"peak / --memory (at most {MOST})": round(peak / memory, 2),
        "MB estimated": megabytes,
        f"estimated / peak (within {WITHIN})": round(megabytes / peak, 2),
        f"pages estimated / pages (within {WITHIN})": round(pages / count, 2),
    }
