"""The whole run over the real pages against parsing them alone, and how much memory it takes.

    python -m bench.whole_run [--data DIR]

`exact` over one and ten copies of the file: what comes after parsing, and memory that does not
grow. `own-text` over ten copies under ten hosts: the whole run against parsing, the run in the
middle of five and the lowest and highest ratio. Each run is a process of its own; time is that of
the processor, start-up and report are not in it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.stages import run_stages

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
COPIES = 10
ROUNDS = 5
WHOLE = "whole run / parsing (at most 1.5)"
TARGET = re.compile(rb"(?mi)^(WARC-Target-URI:\s*<?https?://)")
LENGTH = re.compile(rb"(?mi)^Content-Length:\s*(\d+)")


def main(data: Path = DATA) -> dict[str, object]:
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
    hosts = sorted(
        (figures(each, WHOLE, before=True) for each in rounds), key=lambda each: each[WHOLE]
    )
    return {
        "exact, one file": figures(one, "after parsing / parsing (at most 0.25)", before=False),
        "exact, ten copies": figures(ten, "after parsing / parsing (at most 0.25)", before=False),
        "own-text, ten hosts": {
            **hosts[ROUNDS // 2],
            "lowest and highest": f"{hosts[0][WHOLE]} and {hosts[-1][WHOLE]}",
        },
    }


def figures(measured: dict[str, Any], ratio: str, *, before: bool) -> dict[str, Any]:
    """Seconds by stage and their ratio to parsing; with `before`, parsing is in both."""
    seconds = {name: each["processor"] for name, each in measured["seconds"].items()}
    seconds.pop("start")
    whole = sum(seconds.values()) - (0 if before else seconds["parse"])
    return {
        "records": measured["counts"]["records"],
        "pages": measured["counts"]["pages"],
        "clusters": measured["counts"]["clusters"],
        "processor seconds": seconds,
        ratio: round(whole / seconds["parse"], 3),
        "peak memory MB": round(measured["peak_memory_bytes"] / 1e6),
    }


def write_under_host(source: Path, copy: Path, number: int) -> None:
    """The same records, each of a host of its own: copy-3.example.org for example.org."""
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    print(json.dumps(main(parser.parse_args().data), indent=2))
