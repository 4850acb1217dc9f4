"""Values of options, and what a command loads to read them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.markup import escape

import neardup
from neardup.cli.main import app, run
from neardup.cli.options import escaped


@pytest.mark.parametrize(
    "text", ["a[b]", "[bold]x[/bold]", r"\[b]", "x [ y", "[1]", "[x", "a[0-9]b", "[/]", "", "["]
)
def test_text_is_escaped_as_rich_does(text: str) -> None:
    assert escaped(text) == escape(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--workers", "x"], "--workers"),
        (["--workers", "0"], "--workers"),
        (["--threshold", "1.5"], "--threshold"),
        (["--threshold", "nan"], "--threshold"),
    ],
)
def test_values_that_cannot_be_are_refused(
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["neardup", "dedup", "pages", "--out", "result", *arguments])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 2
    assert f"Invalid value for '{message}'" in capsys.readouterr().err


def test_all_commands_are_there_after_one_was_called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = [each.name for each in app.registered_commands]
    monkeypatch.setattr(sys, "argv", ["neardup", "dedup", "no-such-file", "--out", "result"])
    with pytest.raises(SystemExit):
        run()
    assert "no such file" in capsys.readouterr().err
    assert [each.name for each in app.registered_commands] == commands


# Runs a command and prints which of these modules it has loaded.
COMMAND = """
import sys
from neardup.cli.main import run
try:
    run()
finally:
    heavy = ("numba", "pydantic", "rich", "pandas", "scipy")
    print([name for name in heavy if name in sys.modules])
"""


def test_a_run_loads_no_library_that_it_can_do_without(tmp_path: Path) -> None:
    (tmp_path / "page.txt").write_text("Some text of a page, long enough to be one. " * 5)
    command = [sys.executable, "-c", COMMAND, "dedup", str(tmp_path / "page.txt"), "--no-report"]
    environment = {**os.environ, "PYTHONPATH": str(Path(neardup.__file__).parents[1])}
    for number in range(2):  # kernels may have to be compiled first
        done = subprocess.run(
            [*command, "--out", str(tmp_path / f"out-{number}"), "--workers", "1", "-q"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stdout.splitlines()[-1] == "[]"
