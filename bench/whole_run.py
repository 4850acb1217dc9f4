"""The whole run over the real pages, compared with parsing alone, and its memory.

`exact` runs over one copy and ten copies of the file: the cost after parsing, and memory that must
not grow. `own-text` runs five times over ten copies under ten hosts: the median ratio of the whole
run to parsing, with the lowest and highest. Each run is a separate process. Processor time, without
start-up.
"""

from __future__ import annotations

import gzip
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.stages import run_stages

COPIES = 10
ROUNDS = 5
WHOLE = "whole run / parsing (at most 1.5)"
AFTER = "after parsing / parsing (at most 0.25)"
TARGET = re.compile(rb"(?mi)^(WARC-Target-URI:\s*<?https?://)")
LENGTH = re.compile(rb"(?mi)^Content-Length:\s*(\d+)")


def main(data: Path) -> dict[str, object]:
    """Processor seconds by stage, ratios to parsing, peak memory."""
    source = data / "real-pages.warc.gz"
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        copies = [work / f"copy-{number}.warc.gz" for number in range(COPIES)]
        for copy in copies:
            shutil.copy(source, copy)
        for method in ("exact", "own-text"):
            run_stages(method, [source], work / "warm")  # compiles the kernels
        one = run_stages("exact", [source], work / "one")
        ten = run_stages("exact", copies, work / "ten")
        for number, copy in enumerate(copies):
            write_under_host(source, copy, number)
        rounds = [run_stages("own-text", copies, work / f"hosts-{n}") for n in range(ROUNDS)]
    hosts = sorted((figures(each, WHOLE) for each in rounds), key=lambda each: each[WHOLE])
    return {
        "exact, one file": figures(one, AFTER),
        "exact, ten copies": figures(ten, AFTER),
        "own-text, ten hosts": {
            **hosts[ROUNDS // 2],
            "lowest and highest": f"{hosts[0][WHOLE]} and {hosts[-1][WHOLE]}",
        },
    }


def figures(run: dict[str, Any], ratio: str) -> dict[str, Any]:
    """Counts, seconds by stage, memory, and the ratio of this name: WHOLE or AFTER."""
    seconds = {name: each["processor"] for name, each in run["seconds"].items() if name != "start"}
    compared = sum(seconds.values()) - (seconds["parse"] if ratio == AFTER else 0)
    return {
        **{name: run["counts"][name] for name in ("records", "pages", "clusters")},
        "processor seconds": seconds,
        ratio: round(compared / seconds["parse"], 3),
        "peak memory MB": round(run["peak_memory_bytes"] / 1e6),
    }


def write_under_host(source: Path, copy: Path, number: int) -> None:
    """Copy the records to another host: copy-3.example.org for example.org."""
    with copy.open("wb") as file:
        for record in records(gzip.decompress(source.read_bytes())):
            head, gap, rest = record.partition(b"\r\n\r\n")
            head = TARGET.sub(rb"\1copy-%d." % number, head)
            file.write(gzip.compress(head + gap + rest, compresslevel=6))


def records(data: bytes) -> Iterator[bytes]:
    """The records of a WARC file, with the empty lines after each."""
    start = 0
    while start < len(data):
        head = data[start : data.index(b"\r\n\r\n", start)]
        length = LENGTH.search(head)
        assert length is not None
        end = start + len(head) + 4 + int(length[1]) + 4
        yield data[start:end]
        start = end
