from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

from neardup.errors import OutputError
from neardup.local.run import Silent, Stage
from neardup.local.work import Parts, read_part, work_folder

SCHEMA = pa.schema([("number", pa.int64()), ("name", pa.string())])


def stage() -> Stage:
    return Stage("test", Silent())


def batch(number: int) -> tuple[pa.RecordBatch, int]:
    return pa.record_batch([[number] * 3, ["x"] * 3], schema=SCHEMA), 10


def numbers(parts: Parts) -> list[int]:
    return [each["number"][0].as_py() for each in parts.each()]


@pytest.mark.parametrize("compressed", [True, False])
def test_parts_come_back_in_order(tmp_path: Path, compressed: bool) -> None:
    parts = Parts(tmp_path / "p", SCHEMA, compressed=compressed)
    done = stage()
    parts.fill(range(5), batch, 3, done)
    assert numbers(parts) == [0, 1, 2, 3, 4]
    assert (done.count, done.size) == (15, 50)
    assert read_part(parts.path(2), ["name"]).schema.names == ["name"]


def test_what_is_there_is_not_computed_again(tmp_path: Path) -> None:
    Parts(tmp_path / "p", SCHEMA, compressed=True).fill(range(3), batch, 1, stage())
    computed = []

    def counting(number: int) -> tuple[pa.RecordBatch, int]:
        computed.append(number)
        return batch(number)

    again, done = Parts(tmp_path / "p", SCHEMA, compressed=True), stage()
    again.fill(range(5), counting, 1, done)
    assert computed == [3, 4]
    assert numbers(again) == [0, 1, 2, 3, 4]
    assert (done.count, done.size) == (15, 50)


def test_what_was_cut_otherwise_is_computed_again(tmp_path: Path) -> None:
    def parts(cuts: int) -> Parts:
        return Parts(tmp_path / "p", SCHEMA, compressed=True, cuts=cuts)

    parts(3).fill(range(3), batch, 1, stage())
    assert len(parts(3).listed) == 3
    other = parts(2)
    assert other.listed == []
    other.fill(range(7, 9), batch, 1, stage())
    assert numbers(parts(2)) == [7, 8]
    assert numbers(Parts(tmp_path / "p", SCHEMA, compressed=True)) == [7, 8]  # to read only


@pytest.mark.parametrize("damage", ["part", "missing", "line", "garbage"])
def test_a_damaged_part_and_all_after_it_are_computed_again(tmp_path: Path, damage: str) -> None:
    parts = Parts(tmp_path / "p", SCHEMA, compressed=True)
    parts.fill(range(4), batch, 1, stage())
    manifest = tmp_path / "p" / "manifest.jsonl"
    lines = manifest.read_bytes().splitlines(keepends=True)
    if damage == "part":
        parts.path(2).write_bytes(parts.path(2).read_bytes()[:-1] + b"?")
    elif damage == "missing":
        parts.path(2).unlink()
    elif damage == "line":
        manifest.write_bytes(b"".join(lines[:2]) + lines[2][:7])
    else:
        manifest.write_bytes(b"".join(lines[:2]) + b"\xff\xfe[]\n")
    again = Parts(tmp_path / "p", SCHEMA, compressed=True)
    assert [part.number for part in again.listed] == [0, 1]
    again.fill(range(4), batch, 1, stage())
    assert numbers(Parts(tmp_path / "p", SCHEMA, compressed=True)) == [0, 1, 2, 3]


def test_the_folder_is_gone_after_success_and_after_failure(tmp_path: Path) -> None:
    with work_folder(tmp_path / "out", "run", resume=False, resumable=True) as work:
        (work / "pages").mkdir()
    with (
        pytest.raises(ValueError, match="bad"),
        work_folder(tmp_path / "out", "run", resume=False, resumable=True),
    ):
        raise ValueError("bad")
    assert list(tmp_path.iterdir()) == []


def interrupted(out: Path, run: str, *, resumable: bool = True) -> None:
    with (
        suppress(KeyboardInterrupt),
        work_folder(out, run, resume=False, resumable=resumable) as at,
    ):
        (at / "left").write_text("here")
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("run", "resume", "found"), [("a", True, True), ("b", True, False), ("a", False, False)]
)
def test_only_the_same_run_is_taken_up_and_only_when_asked(
    tmp_path: Path, run: str, resume: bool, found: bool
) -> None:
    interrupted(tmp_path / "out", "a")
    with work_folder(tmp_path / "out", run, resume=resume, resumable=True) as work:
        assert (work / "left").exists() == found


def test_what_cannot_be_resumed_is_not_kept(tmp_path: Path) -> None:
    interrupted(tmp_path / "out", "a", resumable=False)
    assert list(tmp_path.iterdir()) == []


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    with (
        work_folder(tmp_path / "out", "a", resume=False, resumable=True) as work,
        pytest.raises(OutputError, match="another run is writing"),
        work_folder(tmp_path / "out", "a", resume=True, resumable=True),
    ):
        pass
    assert not work.exists()
