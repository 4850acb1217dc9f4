"""Floors go up by themselves and down only with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from neardup.errors import UsageError
from neardup.evaluation.floors import Floor, broken, raised, read_floors, write_floors


def results(f1: float) -> dict[str, dict[str, dict[str, Any]]]:
    return {"set": {"minhash": {"f1": f1}}}


def test_a_method_below_its_floor_is_told() -> None:
    floors = {("set", "minhash"): Floor(0.8, 0.8), ("other", "minhash"): Floor(0.9, 0.9)}
    assert broken(floors, results(0.8)) == []
    assert broken(floors, results(0.79)) == ["minhash on set: F1 0.79 is below its floor 0.8"]
    failed: dict[str, Any] = {"set": {"minhash": {"error": "out of memory"}}}
    assert broken(floors, failed) == ["minhash on set: out of memory; its floor is 0.8"]


def test_floors_rise_with_the_results_and_never_fall() -> None:
    floors = raised({}, results(0.9))
    assert floors == {("set", "minhash"): Floor(0.895, 0.895)}
    assert raised(floors, results(0.5)) == floors
    assert raised(floors, results(0.95)) == {("set", "minhash"): Floor(0.945, 0.945)}
    assert raised({}, {"set": {"minhash": {"error": "no"}}}) == {}
    assert raised({}, results(0.0)) == {}  # a floor of 0 could not fail


def test_a_lowered_floor_keeps_its_reason_until_it_is_made_good() -> None:
    lowered = {("set", "minhash"): Floor(0.8, 0.95, "the guard is on by default now")}
    assert raised(lowered, results(0.9)) == {
        ("set", "minhash"): Floor(0.895, 0.95, "the guard is on by default now")
    }
    assert raised(lowered, results(0.99)) == {("set", "minhash"): Floor(0.985, 0.985)}


def test_floors_are_written_and_read_back(tmp_path: Path) -> None:
    floors = {
        ("新闻 set", "two-phase:paper"): Floor(0.1, 0.3, 'a "reason"'),
        ("a", "exact"): Floor(0.2, 0.2),
    }
    write_floors(tmp_path / "floors.toml", floors)
    assert read_floors(tmp_path / "floors.toml") == floors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a.b]\nf1 = 0.8\nhighest = 0.9\n", "lowered from 0.9 to 0.8 without a reason"),
        ("[a.b]\nf1 = 0.8\nhighest = 0.9\nreason = ' '\n", "without a reason"),
        ("[a.b]\nfloor = 0.8\n", "a floor has f1"),
        ("[a.b]\nf1 = 80\n", "must be above 0 and at most 1"),
        ("[a.b]\nf1 = 0.0\n", "must be above 0 and at most 1"),
        ("a = 1\n", "must be a table of methods"),
    ],
)
def test_bad_files_are_told(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "floors.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_floors(tmp_path / "floors.toml")
