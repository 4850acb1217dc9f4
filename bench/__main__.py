"""`python -m bench [NAME...]`: run the benchmarks and print what they measured."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

BENCHMARKS = ["parsing", "whole_run", "edit_distance", "simhash", "minhash"]
SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--data", type=Path, default=SHARED_DATA, help="folder of the real pages")
    chosen = parser.parse_args()
    unknown = set(chosen.names) - set(BENCHMARKS)
    if unknown:
        parser.error(
            f"unknown benchmark {sorted(unknown)[0]!r}; there are: {', '.join(BENCHMARKS)}"
        )
    for name in chosen.names or BENCHMARKS:
        print(f"== {name}", flush=True)
        measured = importlib.import_module(f"bench.{name}").main(chosen.data)
        print(json.dumps(measured, indent=2, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
