"""`python -m bench [NAME...]`: run benchmarks and print their figures.

`--write FILE` also writes the figures to a Markdown file, one section per benchmark; sections of
benchmarks that did not run stay as they are. `--full` includes the sizes that take minutes.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.documents import DATA

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
HEAD = """# Benchmarks

Written by `python -m bench --write docs/benchmarks.md` (`--full` for the large sizes); do not edit.
Compare ratios: seconds depend on the machine. Targets are in brackets after the figure's name.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    every = ", ".join(BENCHMARKS)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", choices=BENCHMARKS, default=BENCHMARKS, help=every
    )
    parser.add_argument("--data", type=Path, default=DATA, help="directory of the real pages")
    parser.add_argument("--full", action="store_true", help="include the large sizes")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the figures to a file")
    arguments = parser.parse_args()
    for name in arguments.names:
        print(f"== {name}", flush=True)
        figures = run(name, arguments.data, full=arguments.full)
        print(json.dumps(figures, indent=2, ensure_ascii=False), flush=True)
        if arguments.write is not None:
            write_section(arguments.write, name, figures)


def run(name: str, data: Path, *, full: bool) -> dict[str, object]:
    """The figures of a benchmark; its `main` takes `data` and `full` if it uses them."""
    benchmark = importlib.import_module(f"bench.{name}").main
    values = {"data": data, "full": full}
    figures: dict[str, object] = benchmark(
        **{name: values[name] for name in inspect.signature(benchmark).parameters}
    )
    return figures


def write_section(path: Path, name: str, figures: dict[str, object]) -> None:
    """Write the figures of a benchmark to the file, in place of earlier ones."""
    sections = {}
    if path.exists():
        for part in path.read_text("utf-8").split("\n## ")[1:]:
            sections[part.partition("\n")[0]] = part.strip()
    sections[name] = section(name, figures)
    ordered = [sections[each] for each in BENCHMARKS if each in sections]
    path.write_text(HEAD + "".join(f"\n## {each}\n" for each in ordered), "utf-8")


def section(name: str, figures: dict[str, object]) -> str:
    """The benchmark's docstring and a table of its figures."""
    about = inspect.getdoc(importlib.import_module(f"bench.{name}")) or ""
    rows = [f"| {figure} | {value} |" for figure, value in flattened(figures)]
    return "\n".join([name, "", about, "", "| figure | value |", "|---|---|", *rows])


def flattened(figures: dict[Any, object], names: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Nested figures as one list, each under all its names."""
    for name, value in figures.items():
        path = (*names, str(name).replace("_", " "))
        if isinstance(value, dict):
            yield from flattened(value, path)
        elif isinstance(value, list):
            yield ": ".join(path), ", ".join(map(str, value))
        else:
            yield ": ".join(path), f"{value:,}" if isinstance(value, int | float) else str(value)


if __name__ == "__main__":
    main()
