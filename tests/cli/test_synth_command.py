"""`neardup synth` as a user types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from interrupting import INTERRUPTED


def synth(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "neardup", "synth", *map(str, arguments)]
    return subprocess.run(command, text=True, capture_output=True, check=False)


def test_a_set_is_written_and_its_place_told(tmp_path: Path) -> None:
    out = tmp_path / "set"
    done = synth("--pages", 1200, "--seed", 4, "--out", out, "--texts", "--workers", 2)
    assert done.returncode == 0, done.stderr
    assert str(out / "pages.jsonl.zst") in done.stdout
    assert "generating pages (1,200)" in done.stderr
    assert len((out / "truth.csv").read_text().splitlines()) == 1201


def test_bad_usage_is_told(tmp_path: Path) -> None:
    done = synth("--pages", 10, "--out", tmp_path / "set", "--language", "latin")
    assert done.returncode == 2
    assert "unknown language 'latin'" in done.stderr
    assert not (tmp_path / "set").exists()


def test_profile_copies_and_stops_are_options(tmp_path: Path) -> None:
    settings = []
    for name, options in (
        ("frozen", ("--profile", "2026-11")),
        ("other", ("--copies", 0.4, "--no-template-stops")),
    ):
        done = synth("--pages", 20, "--out", tmp_path / name, "--workers", 1, *options)
        assert done.returncode == 0, done.stderr
        about = json.loads((tmp_path / name / "synth.json").read_text())
        settings.append((about["profile"], about["copies"], about["template_stops"]))
    assert settings == [("2026-11", 0.0, True), ("2026-12", 0.4, False)]
    shown = synth("--help").stdout
    assert "--profile" in shown
    assert "--copies" in shown
    assert "stops" in shown


def test_an_interrupted_run_leaves_no_set(tmp_path: Path) -> None:
    out = tmp_path / "set"
    command = [sys.executable, "-m", "neardup", "synth", "--pages", "2000000", "--out", str(out)]
    with subprocess.Popen(
        [*command, "--workers", "2"], text=True, stderr=subprocess.PIPE, start_new_session=True
    ) as running:
        while running.poll() is None and not [*out.glob(".pages.jsonl.zst.*.tmp")]:
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGINT)  # as Ctrl-C does: the workers get it too
        try:
            _, output = running.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            raise
    assert running.returncode in INTERRUPTED, output
    assert output.splitlines()[-1] == "neardup: interrupted; no set was written"
    assert "Traceback" not in output
    assert [path.name for path in out.iterdir()] == ["synth.json"]
