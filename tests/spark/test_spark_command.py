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
from neardup.spark.session import check_java
from sample_pages import sample_records, write_jsonl


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--engine", "spark", "--memory", "1GB"], "--memory needs --engine local"),
        (["--engine", "spark", "--workers", "2"], "--workers needs --engine local"),
        (["--engine", "spark", "--resume"], "need --engine local"),
        (["--engine", "spark", "--write-kept", "kept.jsonl"], "need --engine local"),
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
