"""Settings for the tests of commands."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from neardup.cli import messages
from neardup.cli.main import run


@pytest.fixture
def neardup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Callable[..., tuple[int, str, str]]]:
    """Exit code, output and errors of a command, run in a folder of its own."""
    logger = logging.getLogger("neardup")
    before = list(logger.handlers), logger.level

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["neardup", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        code = 0
        try:
            run()
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    monkeypatch.chdir(tmp_path)
    yield call
    for handler in logger.handlers:
        handler.close()
    logger.handlers[:], logger.level = before[0], before[1]
    messages.quiet = False
