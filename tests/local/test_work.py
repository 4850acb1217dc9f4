from __future__ import annotations

from contextlib import suppress
from errno import ENOSPC
from pathlib import Path

import pyarrow as pa
import pytest

from neardup.errors import InputError, OutputError, UsageError
from neardup.local.run import Silent, Stage, Stages
from neardup.local.work import (
    FINISHED,
    FileParts,
    MemoryParts,
    Parts,
    Room,
    Run,
    in_order_of_keys,
    work_folder,
)
from neardup.schemas import COUNTS

SCHEMA = pa.schema([("number", pa.int64()), ("name", pa.string())])
NO_MEMORY = 1  # for parts


def stage() -> Stage:
    return Stage("test", Silent())


def batch(number: int) -> tuple[pa.RecordBatch, int]:
    return pa.record_batch([[number] * 3, ["x"] * 3], schema=SCHEMA), 10


def numbers(parts: Parts | None) -> list[int]:
    assert parts is not None
    return [each["number"][0].as_py() for each in parts.each()]


@pytest.mark.parametrize("compressed", [True, False])
def test_parts_come_back_in_order(tmp_path: Path, compressed: bool) -> None:
    parts = FileParts(tmp_path / "p", SCHEMA, compressed=compressed)
    done = stage()
    parts.fill(range(5), batch, 3, done)
    assert numbers(parts) == [0, 1, 2, 3, 4]
    assert (done.count, done.size) == (15, 50)
    again = FileParts(tmp_path / "p", SCHEMA, compressed=compressed)
    for each in (parts, again):
        assert each.read(2, ["name"]).to_pydict() == {"name": ["x"] * 3}


def test_what_is_not_listed_is_found_by_the_run_that_put_it_there(tmp_path: Path) -> None:
    parts = FileParts(tmp_path / "p", SCHEMA, compressed=False)
    parts.put(2, batch(7)[0])
    assert parts.find(1) is None
    assert parts.find(2) == batch(7)[0]
    assert parts.listed == []
    assert FileParts(tmp_path / "p", SCHEMA, compressed=False).find(2) is None


def test_what_is_there_is_not_computed_again(tmp_path: Path) -> None:
    FileParts(tmp_path / "p", SCHEMA, compressed=True).fill(range(3), batch, 1, stage())
    computed = []

    def counting(number: int) -> tuple[pa.RecordBatch, int]:
        computed.append(number)
        return batch(number)

    again, done = FileParts(tmp_path / "p", SCHEMA, compressed=True), stage()
    again.fill(range(5), counting, 1, done)
    assert computed == [3, 4]
    assert numbers(again) == [0, 1, 2, 3, 4]
    assert (done.count, done.size) == (15, 50)


def test_what_was_cut_otherwise_is_computed_again(tmp_path: Path) -> None:
    def parts(cuts: int) -> FileParts:
        return FileParts(tmp_path / "p", SCHEMA, compressed=True, cuts=cuts)

    parts(3).fill(range(3), batch, 1, stage())
    assert len(parts(3).listed) == 3
    other = parts(2)
    assert other.listed == []
    other.fill(range(7, 9), batch, 1, stage())
    assert numbers(parts(2)) == [7, 8]
    assert numbers(FileParts(tmp_path / "p", SCHEMA, compressed=True)) == [7, 8]  # to read only


def test_a_finished_stage_is_known_to_the_next_run(tmp_path: Path) -> None:
    run = Run(tmp_path, NO_MEMORY, 1, Stages(Silent()))
    assert run.finished("p", SCHEMA) is None
    parts = run.parts("p", SCHEMA, cuts=3)
    parts.fill(range(2), batch, 1, stage())
    assert run.finished("p", SCHEMA) is None
    parts.finish()
    assert numbers(run.finished("p", SCHEMA)) == [0, 1]
    run.parts("p", SCHEMA, cuts=2).fill(range(2), batch, 1, stage())  # cut otherwise: begun anew
    assert run.finished("p", SCHEMA) is None
    parts.finish()
    FileParts(tmp_path / "p", SCHEMA, compressed=True).path(1).unlink()
    assert run.finished("p", SCHEMA) is None
    parts.drop()
    assert not (tmp_path / "p").exists()
    assert run.finished("p", SCHEMA) is None


@pytest.mark.parametrize("damage", ["part", "missing", "line", "garbage"])
def test_a_damaged_part_and_all_after_it_are_computed_again(tmp_path: Path, damage: str) -> None:
    parts = FileParts(tmp_path / "p", SCHEMA, compressed=True)
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
    again = FileParts(tmp_path / "p", SCHEMA, compressed=True)
    assert [part.number for part in again.listed] == [0, 1]
    again.fill(range(4), batch, 1, stage())
    assert numbers(FileParts(tmp_path / "p", SCHEMA, compressed=True)) == [0, 1, 2, 3]


SIZE = batch(0)[0].get_total_buffer_size()


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.arrow"))


def test_few_parts_stay_in_memory(tmp_path: Path) -> None:
    parts = FileParts(tmp_path / "p", SCHEMA, compressed=True, room=Room(3 * SIZE))
    parts.fill(range(3), batch, 2, stage())
    parts.finish()
    assert numbers(parts) == [0, 1, 2]
    assert parts.mapped()[1] == [None] * 3
    assert list((tmp_path / "p").iterdir()) == []
    assert FileParts(tmp_path / "p", SCHEMA, compressed=True).listed == []


@pytest.mark.parametrize("compressed", [True, False])
def test_when_there_are_more_all_go_to_files(tmp_path: Path, compressed: bool) -> None:
    """Also those of other stages, those that are not listed, and what is done already."""
    room = Room(5 * SIZE)
    one = FileParts(tmp_path / "one", SCHEMA, compressed=compressed, room=room)
    one.fill(range(3), batch, 1, stage())
    one.put(7, batch(7)[0])
    one.finish()
    other = FileParts(tmp_path / "other", SCHEMA, compressed=compressed, room=room)
    other.fill(range(1), batch, 1, stage())
    assert files(tmp_path / "one") == files(tmp_path / "other") == []
    other.fill(range(3), batch, 2, stage())
    assert (len(files(tmp_path / "one")), len(files(tmp_path / "other"))) == (4, 3)
    assert one.find(7) == batch(7)[0]
    for parts in (one, other):
        assert numbers(parts) == [0, 1, 2]
        assert parts.read(1, ["name"]).to_pydict() == {"name": ["x"] * 3}
        again = FileParts(parts.folder, SCHEMA, compressed=compressed)
        assert again.listed == parts.listed
        assert again.is_finished is (parts is one)


def test_a_part_may_leave_the_memory_before_it_is_listed(tmp_path: Path) -> None:
    room = Room(2 * SIZE)
    parts = FileParts(tmp_path / "p", SCHEMA, compressed=True, room=room)

    def making_room_scarce(number: int) -> tuple[pa.RecordBatch, int]:
        if number == 2:
            with room.lock:  # as whoever writes a part
                room.admit(parts, 10 * SIZE)
            assert files(tmp_path / "p")
        return batch(number)

    parts.fill(range(4), making_room_scarce, 3, stage())
    assert numbers(parts) == [0, 1, 2, 3]
    assert FileParts(tmp_path / "p", SCHEMA, compressed=True).listed == parts.listed


def test_what_is_dropped_makes_room(tmp_path: Path) -> None:
    room = Room(3 * SIZE)
    for _ in range(4):
        parts = FileParts(tmp_path / "p", SCHEMA, compressed=True, room=room)
        parts.fill(range(3), batch, 1, stage())
        parts.finish()
        assert files(tmp_path / "p") == []
        parts.drop()
    assert not (tmp_path / "p").exists()
    FileParts(tmp_path / "q", SCHEMA, compressed=True, room=room).fill(range(4), batch, 1, stage())
    assert len(files(tmp_path / "q")) == 4
    assert not (tmp_path / "p" / FINISHED).exists()


def test_what_an_earlier_run_has_left_stays_in_files(tmp_path: Path) -> None:
    FileParts(tmp_path / "p", SCHEMA, compressed=True).fill(range(1), batch, 1, stage())
    again = FileParts(tmp_path / "p", SCHEMA, compressed=True, room=Room(100 * SIZE))
    again.fill(range(3), batch, 1, stage())
    assert len(files(tmp_path / "p")) == 3


@pytest.mark.parametrize("size", [0, 40, 300, 100_000])
def test_ranges_of_keys_are_the_same_wherever_parts_are(tmp_path: Path, size: int) -> None:
    def counted(number: int) -> tuple[pa.RecordBatch, int]:
        keys = pa.array([number, 5, 2**63 + number], pa.uint64())
        return in_order_of_keys(pa.record_batch([keys, [1, 2, 3]], schema=COUNTS)), 0

    parts = FileParts(tmp_path / "p", COUNTS, compressed=False, room=Room(size))
    known = MemoryParts(COUNTS)
    for each in (parts, known):
        each.fill(range(9), counted, 2, stage())
    for cut in [(0, 2**64 - 1), (0, 4), (5, 5), (6, 2**64 - 1)]:
        assert [*parts.each_range(*cut)] == [*known.each_range(*cut)]


def ended(out: Path, run: str, error: BaseException | None, *, resumable: bool = True) -> None:
    """A run that computes a part and then ends, with an error if there is one."""
    with (
        suppress(type(error) if error else KeyboardInterrupt),
        work_folder(out, run, resume=False, resumable=resumable) as at,
    ):
        FileParts(at / "left", SCHEMA, compressed=True).fill([1], batch, 1, stage())
        if error:
            raise error


@pytest.mark.parametrize("error", [None, UsageError("bad"), InputError("bad")])
def test_the_folder_is_gone_when_it_is_of_no_more_use(
    tmp_path: Path, error: Exception | None
) -> None:
    ended(tmp_path / "out", "run", error)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [OSError(ENOSPC, "full"), MemoryError(), KeyboardInterrupt()])
def test_a_failure_leaves_what_was_computed(tmp_path: Path, error: BaseException) -> None:
    ended(tmp_path / "out", "run", error)
    with work_folder(tmp_path / "out", "run", resume=True, resumable=True) as work:
        assert numbers(FileParts(work / "left", SCHEMA, compressed=True)) == [1]
    assert list(tmp_path.iterdir()) == []


def test_a_failure_before_anything_was_computed_leaves_nothing(tmp_path: Path) -> None:
    with suppress(OSError), work_folder(tmp_path / "out", "run", resume=False, resumable=True):
        raise OSError(ENOSPC, "full")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("kind", ["link", "folder", "file", "linked lock", "folder with a lock"])
def test_what_is_not_ours_is_refused_and_left_as_it_is(
    tmp_path: Path, kind: str, resume: bool
) -> None:
    victim, place = tmp_path / "victim", tmp_path / ".out.work"
    victim.mkdir()
    (victim / "precious").write_text("still here")
    if kind == "link":
        (victim / "lock").write_text("a work folder of neardup\n")
        place.symlink_to(victim)
    elif kind == "file":
        place.write_text("still here")
    else:
        place.mkdir()
        (place / "precious").write_text("still here")
        if kind == "linked lock":
            (place / "lock").symlink_to(victim / "precious")
        elif kind == "folder with a lock":
            (place / "lock").touch()
    with (
        pytest.raises(OutputError, match="not a work folder of neardup"),
        work_folder(tmp_path / "out", "run", resume=resume, resumable=True),
    ):
        pytest.fail("it was taken for a work folder")
    assert (victim / "precious").read_text() == "still here"
    assert (place if kind == "file" else place / "precious").read_text() == "still here"


def test_links_inside_a_work_folder_are_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "precious").write_text("still here")
    ended(tmp_path / "out", "run", KeyboardInterrupt())
    (tmp_path / ".out.work" / "pages").symlink_to(victim)
    with work_folder(tmp_path / "out", "run", resume=False, resumable=True) as work:
        assert not (work / "pages").is_symlink()
    assert (victim / "precious").read_text() == "still here"


def test_a_run_killed_as_it_began_is_not_in_the_way(tmp_path: Path) -> None:
    (tmp_path / ".out.work").mkdir()
    (tmp_path / ".out.work" / "lock").touch()
    with work_folder(tmp_path / "out", "run", resume=True, resumable=True) as work:
        assert work.is_dir()


def test_the_lock_goes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is killed as it cleans up leaves a folder that the next one takes for ours."""

    def killed(folder: Path, **_: object) -> None:
        assert [path.name for path in folder.iterdir()] == ["lock"]

    monkeypatch.setattr("neardup.local.work._remove", killed)
    ended(tmp_path / "out", "run", None)
    monkeypatch.undo()
    ended(tmp_path / "out", "run", None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("run", "resume", "found"), [("a", True, True), ("b", True, False), ("a", False, False)]
)
def test_only_the_same_run_is_taken_up_and_only_when_asked(
    tmp_path: Path, run: str, resume: bool, found: bool
) -> None:
    ended(tmp_path / "out", "a", KeyboardInterrupt())
    with work_folder(tmp_path / "out", run, resume=resume, resumable=True) as work:
        assert (work / "left").exists() == found


def test_what_cannot_be_resumed_is_not_kept(tmp_path: Path) -> None:
    ended(tmp_path / "out", "a", KeyboardInterrupt(), resumable=False)
    assert list(tmp_path.iterdir()) == []


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    with (
        work_folder(tmp_path / "out", "a", resume=False, resumable=True) as work,
        pytest.raises(OutputError, match="another run is writing"),
        work_folder(tmp_path / "out", "a", resume=True, resumable=True),
    ):
        pass
    assert not work.exists()
