"""A run that is killed at any moment and resumed gives the bytes of an undisturbed one.

What it had finished is not computed again: the parts it has listed stay the files they were.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import neardup
from interrupting import IN_FILES
from neardup.local.run import Silent
from sample_pages import long_html, write_jsonl

pytestmark = pytest.mark.slow

KILLS = 60 if os.environ.get("NEARDUP_TORTURE") else 6
FILES = ["clusters.jsonl", "pairs.jsonl", "rejected.jsonl", "skipped.jsonl"]


def command(pages: Path, out: Path, *more: str) -> list[str]:
    inputs_and_out = ["dedup", str(pages), "--out", str(out), "--force"]
    return [sys.executable, "-c", IN_FILES, *inputs_and_out, *more]


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


def finished_parts(out: Path) -> dict[str, tuple[int, int]]:
    """The parts listed in the work folder of a run, by name: which file each is, and since when.

    A part that is computed again is a new file, even where its bytes are the same.
    """
    work = out.parent / f".{out.name}.work"
    found = {}
    for manifest in work.rglob("manifest.jsonl"):
        for line in manifest.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                part = manifest.parent / f"{json.loads(line)['number']:09d}.arrow"
                stat = part.stat()
                found[str(part.relative_to(work))] = (stat.st_ino, stat.st_mtime_ns)
    return found


class Watched(Silent):
    """Keeps what the work folder holds when the last stage begins; later it is gone."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.parts: dict[str, tuple[int, int]] = {}

    def stage(self, name: str, total: int | None = None) -> None:
        self.parts = finished_parts(self.out)


def killed_run(pages: Path, out: Path, when: Callable[[], bool]) -> dict[str, tuple[int, int]]:
    """Start a run, kill it at once when `when` is true (or it is done); what it had finished."""
    process = subprocess.Popen(command(pages, out), stderr=subprocess.DEVNULL)
    while process.poll() is None and not when():
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return finished_parts(out)


@pytest.mark.parametrize("seed", range(KILLS))
def test_kill_and_resume(tmp_path: Path, undisturbed: tuple[Path, Path, float], seed: int) -> None:
    pages, whole, seconds = undisturbed
    out = tmp_path / "out"
    moment = time.monotonic() + random.Random(seed).uniform(0.2, 1.0) * seconds
    killed_run(pages, out, lambda: time.monotonic() > moment)
    # A run that died may be given other means.
    means = ["--memory", "1GB", "--workers", "1"] if seed % 2 else ["--memory", "4GB"]
    again = command(pages, out, "--resume", *means)
    subprocess.run(again, check=True, capture_output=True)
    assert result(out) == result(whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


@pytest.mark.parametrize("stage", ["pages", "features", "verdicts"])
def test_finished_parts_are_not_computed_again(
    tmp_path: Path, undisturbed: tuple[Path, Path, float], stage: str
) -> None:
    pages, whole, _ = undisturbed
    out = tmp_path / "out"
    manifest = tmp_path / ".out.work" / stage / "manifest.jsonl"
    left = killed_run(pages, out, lambda: manifest.exists() and manifest.stat().st_size > 0)
    before = {name: what for name, what in left.items() if not name.startswith("keys/")}  # dropped
    assert any(name.startswith(f"{stage}/") for name in before)
    watched = Watched(out)
    neardup.dedup(str(pages), out, resume=True, force=True, progress=watched)
    assert {name: watched.parts[name] for name in before} == before
    assert result(out) == result(whole)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, float]:
    folder = tmp_path_factory.mktemp("undisturbed")
    pages, whole = write_pages(folder / "pages.jsonl"), folder / "whole"
    subprocess.run(command(pages, whole), check=True, capture_output=True)  # compiles
    started = time.monotonic()
    subprocess.run(command(pages, whole), check=True, capture_output=True)
    return pages, whole, time.monotonic() - started


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 10 MB; mounting one takes the rights of root."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=10M", "none", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no disk may be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_run_goes_on_when_a_full_disk_has_room_again(
    disk: Path, undisturbed: tuple[Path, Path, float]
) -> None:
    pages, whole, _ = undisturbed
    out = disk / "out"
    full = subprocess.run(command(pages, out), text=True, capture_output=True, check=False)
    assert full.returncode == 1
    assert f"cannot write {out}: No space left on device" in full.stderr
    assert "--resume continues it" in full.stderr
    before = finished_parts(out)
    assert before
    subprocess.run(["mount", "-o", "remount,size=200M", str(disk)], check=True)
    watched = Watched(out)
    neardup.dedup(str(pages), out, resume=True, force=True, progress=watched)
    assert {name: watched.parts[name] for name in before} == before
    assert result(out) == result(whole)
