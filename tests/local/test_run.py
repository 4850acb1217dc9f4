"""How a run uses the machine."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import pytest

from neardup.local import run


def test_freed_memory_is_reused_where_the_c_library_can(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: dict[int, int] = {}
    library = SimpleNamespace(mallopt=limits.__setitem__)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    run.reuse_freed_memory()
    assert limits == {run.M_MMAP_THRESHOLD: 32 * 1024**2, run.M_TRIM_THRESHOLD: 64 * 1024**2}


def test_little_memory_is_kept_for_reuse_where_there_is_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits: dict[int, int] = {}
    library = SimpleNamespace(mallopt=limits.__setitem__)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    run.reuse_freed_memory(640_000_000)
    assert limits == {run.M_MMAP_THRESHOLD: 10_000_000, run.M_TRIM_THRESHOLD: 20_000_000}


@pytest.mark.parametrize(("memory", "trims"), [(None, 0), (2 * 10**12, 0), (1, 1)])
def test_a_stage_returns_freed_memory_if_much_is_held(
    memory: int | None, trims: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    trimmed: list[int] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(malloc_trim=trimmed.append))
    with run.Stages(run.Silent(), memory)("judge"):
        pass
    assert trimmed == [0] * trims


def test_other_c_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
    run.reuse_freed_memory()
