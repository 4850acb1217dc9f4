"""Every method on the four labelled sets, into docs/methods/results.md: `make results`."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from neardup.methods.base import REGISTRY, method_class

SETS = ["reprints-en", "reprints-zh", "versions-en", "versions-zh"]
PAGE = Path(__file__).parents[1] / "docs" / "methods" / "results.md"
HEAD = """# Results

Precision, recall and F1 over pairs of pages, as `neardup evaluate` counts them, on four labelled
sets: reprints (articles re-published inside other real page templates) and versions (documentation
pages in two releases), English and Chinese. Every method at its default, and with the rule of its
paper as printed where that differs. Written by `make results`.

"""


def main(data: Path) -> dict[str, object]:
    """Measure, write the page, and give the F1s."""
    names = list(REGISTRY)
    names += [f"{name}:paper" for name in REGISTRY if method_class(name).paper_preset]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "measured"
        sets = [str(data / name) for name in SETS]
        methods = ["--methods", ",".join(names)]
        command = [sys.executable, "-m", "neardup", "evaluate", *sets, *methods, "--out", str(out)]
        subprocess.run(command, check=True)
        results: dict[str, Any] = json.loads((out / "results.json").read_text("utf-8"))
    PAGE.write_text(HEAD + _table(results, names), encoding="utf-8")
    return {name: {each: results[each][name].get("f1") for each in SETS} for name in names}


def _table(results: dict[str, Any], names: list[str]) -> str:
    rows = ["| method | " + " | ".join(SETS) + " |", "|---" * (len(SETS) + 1) + "|"]
    for name in names:
        cells = [_cell(results[each][name]) for each in SETS]
        rows.append(f"| {name.replace(':paper', ', as printed')} | " + " | ".join(cells) + " |")
    return "\n".join([*rows, "", "Each cell: F1 (precision / recall), seconds of the run.", ""])


def _cell(measured: dict[str, Any]) -> str:
    if "f1" not in measured:
        return f"failed: {measured.get('error', 'unknown')}"
    three = measured["f1"], measured["precision"], measured["recall"]
    return "**{:.3f}** ({:.3f} / {:.3f}), {:.1f} s".format(*three, measured["seconds"])


if __name__ == "__main__":
    print(json.dumps(main(Path(__file__).parents[2] / "shared" / "data"), indent=2))
