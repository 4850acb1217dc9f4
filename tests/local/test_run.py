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


def test_other_c_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace())
    run.reuse_freed_memory()
