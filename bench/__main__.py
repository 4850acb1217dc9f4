"""`python -m bench [NAME...]`: run the benchmarks and print what they measured.

With `--write FILE` the figures also go into a Markdown file, a section a benchmark; sections of
benchmarks that were not run stay as they are. `--full` takes the sizes that need minutes.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BENCHMARKS = [
    "parsing",
    "reading",
    "whole_run",
    "clusters_from_text",
    "growth",
    "memory",
    "kill_and_resume",
    "edit_distance",
    "simhash",
    "minhash",
    "index",
    "service",
    "spark",
]
SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"
HEAD = """# Benchmarks

Written by `python -m bench --write docs/benchmarks.md` (`--full` for the large sizes); do not edit.
Ratios count, seconds depend on the machine. A target stands in brackets behind its figure.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--data", type=Path, default=SHARED_DATA, help="folder of the real pages")
    parser.add_argument("--full", action="store_true", help="the large sizes, too")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the figures into a file")
    chosen = parser.parse_args()
    unknown = set(chosen.names) - set(BENCHMARKS)
    if unknown:
        parser.error(
            f"unknown benchmark {sorted(unknown)[0]!r}; there are: {', '.join(BENCHMARKS)}"
        )
    for name in chosen.names or BENCHMARKS:
        print(f"== {name}", flush=True)
        measured = run(name, chosen.data, full=chosen.full)
        print(json.dumps(measured, indent=2, ensure_ascii=False), flush=True)
        if chosen.write is not None:
            write_section(chosen.write, name, measured)


def run(name: str, data: Path, *, full: bool) -> dict[str, object]:
    """What one benchmark measures; only some know large sizes."""
    benchmark = importlib.import_module(f"bench.{name}").main
    sizes = {"full": full} if "full" in inspect.signature(benchmark).parameters else {}
    measured: dict[str, object] = benchmark(data, **sizes)
    return measured


def write_section(path: Path, name: str, measured: dict[str, object]) -> None:
    """Put the figures of a benchmark into the file, in place of earlier ones."""
    sections = {}
    if path.exists():
        for part in path.read_text("utf-8").split("\n## ")[1:]:
            sections[part.partition("\n")[0]] = part.strip()
    sections[name] = section(name, measured)
    known = [sections[each] for each in BENCHMARKS if each in sections]
    path.write_text(HEAD + "".join(f"\n## {each}\n" for each in known), "utf-8")


def section(name: str, measured: dict[str, object]) -> str:
    """What the benchmark says of itself, and a table of all its figures."""
    about = inspect.getdoc(importlib.import_module(f"bench.{name}")) or ""
    said = [part for part in about.split("\n\n") if not part.startswith("    ")]
    rows = [f"| {figure} | {value} |" for figure, value in flattened(measured)]
    return "\n".join([name, "", "\n\n".join(said), "", "| figure | value |", "|---|---|", *rows])


def flattened(
    measured: dict[Any, object], names: tuple[str, ...] = ()
) -> Iterator[tuple[str, str]]:
    """Figures in figures by all their names."""
    for name, value in measured.items():
        here = (*names, str(name).replace("_", " "))
        if isinstance(value, dict):
            yield from flattened(value, here)
        elif isinstance(value, list):
            yield ": ".join(here), ", ".join(map(str, value))
        else:
            yield ": ".join(here), f"{value:,}" if isinstance(value, int | float) else str(value)


if __name__ == "__main__":
    main()
