"""`neardup dedup --method exact` over the real pages: where the time goes, and how much memory.

Each run is a process of its own, so that its peak memory is its own. Ten copies of the file must
not need more memory than one.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

COPIES = 10
AFTER_PARSING = ["features", "candidates", "judge", "cluster", "write"]


def main(data: Path) -> dict[str, object]:
    """Seconds after parsing as a share of parsing, and peak memory, for one and ten copies."""
    source = data / "real-pages.warc.gz"
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        _run([source], work / "warm")  # compiles the kernels, fills the file cache
        one = _run([source], work / "one")
        copies = [work / f"copy-{number}.warc.gz" for number in range(COPIES)]
        for copy in copies:
            shutil.copy(source, copy)
        ten = _run(copies, work / "ten")
    return {"one file": _figures(one), "ten copies": _figures(ten)}


def _run(inputs: list[Path], out: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "neardup", "dedup", *map(str, inputs), "--out", str(out)]
    subprocess.run([*command, "--method", "exact"], check=True, capture_output=True)
    summary: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return summary


def _figures(summary: dict[str, Any]) -> dict[str, object]:
    seconds = summary["run"]["seconds"]
    after = sum(seconds[name] for name in AFTER_PARSING)
    return {
        "pages read": summary["counts"]["records"],
        "seconds": seconds,
        "after parsing / parsing (at most 0.25)": round(after / seconds["parse"], 3),
        "peak memory MB (under 600)": round(summary["run"]["peak_memory_bytes"] / 1e6),
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(__file__).parents[2] / "shared" / "data"), indent=2))
