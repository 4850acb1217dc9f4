"""A run that is killed at any moment and resumed gives the bytes of an undisturbed one."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sample_pages import long_html, write_jsonl

pytestmark = pytest.mark.slow

KILLS = 6
FILES = ["clusters.jsonl", "pairs.jsonl", "rejected.jsonl", "skipped.jsonl"]


def command(pages: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "neardup", "dedup", str(pages), "--out", str(out), *more]


def result(out: Path) -> dict[str, Any]:
    summary = json.loads((out / "summary.json").read_text())
    del summary["run"]
    return {**{name: (out / name).read_bytes() for name in FILES}, "summary": summary}


def write_pages(path: Path) -> Path:
    topics = ["harbour", "railway", "orchard", "茶山", "渡口"]
    pages = [
        {"id": f"p{n}", "html": long_html(topics[n % 5], edited=n % 3 == 0) + f"<p>{n % 1000}"}
        for n in range(6000)
    ]
    return write_jsonl(path, [*pages, {"id": "p1", "html": "again"}, {"id": "empty"}])


@pytest.mark.parametrize("seed", range(KILLS))
def test_kill_and_resume(tmp_path: Path, undisturbed: tuple[Path, Path, float], seed: int) -> None:
    pages, whole, seconds = undisturbed
    out = tmp_path / "out"
    process = subprocess.Popen(command(pages, out), stderr=subprocess.DEVNULL)
    time.sleep(random.Random(seed).uniform(0.2, 1.0) * seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()
    memory = "20MB" if seed % 2 else "4GB"  # a run that died may be given other means
    again = command(pages, out, "--resume", "--memory", memory)
    subprocess.run(again, check=True, capture_output=True)
    assert result(out) == result(whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, float]:
    folder = tmp_path_factory.mktemp("undisturbed")
    pages, whole = write_pages(folder / "pages.jsonl"), folder / "whole"
    subprocess.run(command(pages, whole), check=True, capture_output=True)  # compiles
    started = time.monotonic()
    subprocess.run(command(pages, whole), check=True, capture_output=True)
    return pages, whole, time.monotonic() - started
