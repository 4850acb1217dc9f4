"""CI runs the README's test command, and nothing it needs may be missing there."""

from __future__ import annotations

from pathlib import Path

import pytest

from real_parts import missing

ROOT = Path(__file__).parents[1]


def test_ci_runs_the_test_command_of_the_readme() -> None:
    commands = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    assert "make test" in commands
    assert "export CI=true" in commands
    assert "make test" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("value", "outcome"),
    [("true", pytest.fail.Exception), ("", pytest.skip.Exception), (None, pytest.skip.Exception)],
)
def test_a_missing_part_is_skipped_but_fails_in_ci(
    value: str | None, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    if value is not None:
        monkeypatch.setenv("CI", value)
    with pytest.raises(outcome, match="needs a browser"):
        missing("needs a browser")
