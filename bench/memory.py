"""Peak memory of the whole `neardup dedup` against `--memory`, for pages of several sizes.

    python -m bench.memory [--full]

Small pages (2 KB), pages of 1 MB, and pages of 40 MB with `--max-page-size 50MB`, generated, no two
alike, from JSON lines. Each run is a process of its own, with the least memory that is accepted for
it and with 1 GB, and with --full with four times as many pages. The peak must stay below 1.2 times
`--memory`. Beside it stand the memory and the pages that the command foretells (`--dry-run`), which
must be right within a quarter.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

WORDS = [f"{a}{b}" for a in ("ba", "do", "ke", "li", "mun", "pra", "sto", "tu") for b in "aeiourst"]
# Bytes of a page, pages, and the option for pages of this size.
CASES = {
    "2 KB": (2_000, 40_000, []),
    "1 MB": (1_000_000, 120, []),
    "40 MB": (40_000_000, 8, ["--max-page-size", "50MB"]),
}
MOST = 1.2  # times --memory
WITHIN = 0.25  # of the estimate


def main(data: Path | None = None, *, full: bool = False) -> dict[str, object]:
    """For each size of pages: what was allowed, foretold and used, in MB."""
    measured: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (size, few, options) in CASES.items():
            path = Path(folder, "pages.jsonl")
            count = few * 4 if full else few
            write_pages(path, size, count)
            for memory in (least_memory(path, options), 1_000):
                measured[f"{count:,} pages of {name}, --memory {memory}MB"] = _measure(
                    path, memory, options, count
                )
    return measured


def write_pages(path: Path, size: int, count: int) -> None:
    """So many pages of about so many bytes, as JSON lines."""
    random_ = random.Random(size)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            text = " ".join(random_.choices(WORDS, k=min(size // 4, 20_000)))
            lines = "".join(f"<p>{text[at : at + 400]}</p>\n" for at in range(0, len(text), 400))
            html = (lines * (size // len(lines) + 1))[:size]
            file.write(json.dumps({"url": f"http://h{number % 99}.example/{number}", "html": html}))
            file.write("\n")


def least_memory(path: Path, options: list[str]) -> int:
    """What the refusal of too little memory names, in MB."""
    done = _command(path, ["--memory", "10MB", *options, "--dry-run"])
    found = re.search(r"at least (\d+)MB", done.stderr)
    if done.returncode != 2 or found is None:
        raise RuntimeError(f"10 MB were not refused: {done.stderr}")
    return int(found[1])


def _measure(path: Path, memory: int, options: list[str], count: int) -> dict[str, Any]:
    options = ["--memory", f"{memory}MB", *options]
    told = _command(path, [*options, "--dry-run"]).stderr
    needs = re.search(r"about ([\d,]+) pages.*about ([\d,]+) MB of memory", told)
    foretold = [int(number.replace(",", "")) for number in needs.groups()] if needs else [0, 0]
    out = path.with_name("result")
    command = _arguments(path, [*options, "--force", "--out", str(out)])
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{' '.join(command)} ended with status {status}")
    peak = used.ru_maxrss * 1024 / 1e6
    return {
        "peak MB": round(peak),
        f"peak / --memory (at most {MOST})": round(peak / memory, 2),
        "MB foretold": foretold[1],
        f"foretold / peak (within {WITHIN})": round(foretold[1] / peak, 2),
        f"pages foretold / pages (within {WITHIN})": round(foretold[0] / count, 2),
    }


def _arguments(path: Path, options: list[str]) -> list[str]:
    return [sys.executable, "-m", "neardup", "dedup", str(path), *options]


def _command(path: Path, options: list[str]) -> subprocess.CompletedProcess[str]:
    out = str(path.with_name("unused"))
    return subprocess.run(
        _arguments(path, [*options, "--out", out]), capture_output=True, text=True, check=False
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="four times as many pages")
    print(json.dumps(main(full=parser.parse_args().full), indent=2))
