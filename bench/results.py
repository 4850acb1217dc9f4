"""Every method on the six labelled sets, into docs/methods/results.md: `make results`.

The duplicates of the first four sets are on different hosts, the copies on their own. So the
versions sets are measured once more with the releases of a manual on one host, told apart by their
queries, as a site keeps them.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from neardup.methods.registry import BUILT_IN, method_class

SETS = ["reprints-en", "reprints-zh", "versions-en", "versions-zh", "copies-en", "copies-zh"]
ON_ONE_HOST = {"versions-en": "versions-en, one host", "versions-zh": "versions-zh, one host"}
ALL_SETS = [*SETS, *ON_ONE_HOST.values()]
PAGE = Path(__file__).parents[1] / "docs" / "methods" / "results.md"
HEAD = """# Results

Precision, recall and F1 over pairs of pages, as `neardup evaluate` counts them, on six labelled
sets, English and Chinese: reprints (articles re-published inside other real page templates),
versions (documentation pages in several releases) and copies (the reprints, each with changed
copies on its own host). Reprints and versions are on different hosts; the versions once more with
all releases of a manual on one host. Every method at its default, and with
the rule of its paper as printed where that differs. Where kernels were not compiled before, the
seconds of the first set hold that. Written by `make results`.

"""

FOOT = """Each cell: F1 (precision / recall) after clustering; where they differ, the same of the
pairs that the method's own rule joins, before clustering; seconds of the run.
"""
LEAST = 0.01  # difference of F1 that is worth telling


def main(data: Path) -> dict[str, object]:
    """Measure, write the page, and give the F1s."""
    names = list(BUILT_IN)
    names += [f"{name}:paper" for name in BUILT_IN if method_class(name).paper_preset]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "measured"
        sets = [str(data / name) for name in SETS]
        sets += [
            str(on_one_host(data / name, Path(folder) / ON_ONE_HOST[name])) for name in ON_ONE_HOST
        ]
        methods = ["--methods", ",".join(names)]
        command = [sys.executable, "-m", "neardup", "evaluate", *sets, *methods, "--out", str(out)]
        subprocess.run(command, check=True)
        results: dict[str, Any] = json.loads((out / "results.json").read_text("utf-8"))
    PAGE.write_text(HEAD + _table(results, names), encoding="utf-8")
    return {name: {each: results[each][name].get("f1") for each in ALL_SETS} for name in names}


def on_one_host(source: Path, folder: Path) -> Path:
    """A copy of a versions set in which the first part of each host, the release, is a query."""
    folder.mkdir()
    shutil.copy(source / "truth.csv", folder)
    pages = pa.input_stream(str(source / "pages.jsonl.zst"), compression="zstd")
    with (folder / "pages.jsonl").open("w", encoding="utf-8") as moved:
        for line in io.TextIOWrapper(pages, "utf-8"):
            page = json.loads(line)
            address = urlsplit(page["url"])
            release, _, host = address.netloc.partition(".")
            page["url"] = address._replace(netloc=host, query=f"release={release}").geturl()
            moved.write(json.dumps(page, ensure_ascii=False) + "\n")
    return folder


def _table(results: dict[str, Any], names: list[str]) -> str:
    rows = ["| method | " + " | ".join(ALL_SETS) + " |", "|---" * (len(ALL_SETS) + 1) + "|"]
    for name in names:
        cells = [_cell(results[each][name]) for each in ALL_SETS]
        rows.append(f"| {name.replace(':paper', ', as printed')} | " + " | ".join(cells) + " |")
    return "\n".join([*rows, "", FOOT])


def _cell(measured: dict[str, Any]) -> str:
    if "f1" not in measured:
        return f"failed: {measured.get('error', 'unknown')}"
    three = measured["f1"], measured["precision"], measured["recall"]
    cell = "**{:.3f}** ({:.3f} / {:.3f})".format(*three)
    rule = measured.get("rule_pairs")
    if rule and abs(rule["f1"] - measured["f1"]) >= LEAST:
        cell += "; pairs {:.3f} ({:.3f} / {:.3f})".format(
            rule["f1"], rule["precision"], rule["recall"]
        )
    return f"{cell}, {measured['seconds']:.1f} s"


if __name__ == "__main__":
    print(json.dumps(main(Path(__file__).parents[2] / "shared" / "data"), indent=2))
