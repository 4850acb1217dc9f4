"""`neardup dedup --engine spark`: what it refuses, and what it says without Java."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from neardup.cli.main import app
from neardup.errors import NeardupError, UsageError
from neardup.spark import session
from neardup.spark.session import check_java, explain
from sample_pages import sample_records, write_jsonl
from spark_runs import need_spark


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--engine", "spark", "--workers", "2"], "--workers needs --engine local"),
        (["--engine", "spark", "--dry-run"], "--dry-run needs --engine local"),
        (["--master", "local[2]"], "--master needs --engine spark"),
        (["--partitions", "3"], "--partitions needs --engine spark"),
        (["--engine", "dask"], "unknown engine 'dask'; there are: local, spark"),
    ],
)
def test_options_of_the_other_engine(given: list[str], told: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["dedup", "pages", "--out", str(tmp_path / "out"), *given])
    assert isinstance(result.exception, UsageError)
    assert told in str(result.exception)


def test_help_names_the_options() -> None:
    text = CliRunner().invoke(app, ["dedup", "--help"], env={"COLUMNS": "200"}).output
    for option in ("--engine", "--master", "--partitions"):
        assert option in text


def test_missing_java_is_one_clear_line(tmp_path: Path) -> None:
    pages = write_jsonl(tmp_path / "pages.jsonl", sample_records())
    command = [sys.executable, "-m", "neardup", "dedup", str(pages), "--engine", "spark"]
    environment = {**os.environ, "PATH": str(tmp_path)}
    environment.pop("JAVA_HOME", None)
    ended = subprocess.run(
        [*command, "--out", str(tmp_path / "out")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert "needs Java 17 or 21" in line
    assert "apt-get install openjdk-17-jre-headless" in line


def test_java_without_memory_is_one_clear_line(tmp_path: Path) -> None:
    """What Spark says at length goes to a file; nothing is left behind."""
    need_spark()
    pages = write_jsonl(tmp_path / "pages.jsonl", sample_records())
    command = [sys.executable, "-m", "neardup", "dedup", str(pages), "-q", "--engine", "spark"]
    command += ["--master", "local[1]", "--memory", "200MB", "--out", str(tmp_path / "out")]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    line, where = ended.stderr.splitlines()
    assert "ran out of memory: give Java more with --memory 4GB" in line
    log = Path(where.rpartition(" ")[2])
    assert "INVALID_DRIVER_MEMORY" in log.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == [log.name, "pages.jsonl"]


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("x\nCaused by: java.lang.OutOfMemoryError: Java heap space\n", "--memory 4GB"),
        ("java.io.IOException: No space left on device", "a disk is full"),
        ("Python worker exited unexpectedly (crashed)", "a Python worker ended"),
        ("ModuleNotFoundError: No module named 'neardup'", "spark.pyspark.python"),
        ("a\nneardup.errors.UsageError: too many pages\n", "too many pages"),
        (
            "a.b.SomeException: x\n\tat y\nCaused by: a.OtherError: z\n",
            "Spark failed: a.OtherError: z",
        ),
        ("[Errno 111] Connection refused", "Connection refused"),
        ("", "Java has ended"),
        (
            "[CANNOT_READ_FILE_FOOTER] file:/old/remembered/pages/x",
            "earlier result /old is damaged",
        ),
    ],
)
def test_errors_of_spark_in_one_line(message: str, told: str) -> None:
    line = str(explain(message, "", "/old"))
    assert told in line
    assert "\n" not in line


def test_memory_that_fits_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    gigabyte = 1 << 30
    monkeypatch.setattr(session, "default_workers", lambda: 2)
    for machine, heap in ((2, 1), (6, 2), (16, 7), (64, 8)):
        monkeypatch.setattr(session, "machine_memory", lambda size=machine: size * gigabyte)
        assert session.fitting_heap("local[*]") == heap * gigabyte
    assert session.fitting_heap("spark://host:7077") == gigabyte
    monkeypatch.undo()
    assert 0 < session.machine_memory() <= 1 << 50


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo 'openjdk version \"11.0.2\" 2019' >&2", "is Java 11"),
        ("exit 3", "does not run"),
    ],
)
def test_java_that_will_not_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, told: str
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(NeardupError, match=told):
        check_java()
