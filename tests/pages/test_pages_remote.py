"""Storage behind fsspec, tried on its memory file system."""

from __future__ import annotations

import builtins
import gzip
import uuid
from collections.abc import Iterator
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.errors import InputError, MissingExtraError
from neardup.model import RawPage, Skip, SkipReason
from neardup.pages.readers import read_records


@pytest.fixture
def root() -> Iterator[str]:
    name = f"memory://bucket-{uuid.uuid4().hex}"
    yield name
    fsspec.filesystem("memory").rm(name, recursive=True)


def put(path: str, data: bytes) -> None:
    with fsspec.open(path, "wb") as stream:
        stream.write(data)


def ids(*inputs: str) -> list[str]:
    return [item.id for item in read_records(inputs)]


def test_folders_globs_and_every_kind(root: str) -> None:
    put(f"{root}/site/a.html", b"<p>a")
    put(f"{root}/site/sub/b.txt.gz", gzip.compress(b"b"))
    put(f"{root}/site/.hidden/c.html", b"<p>c")
    put(f"{root}/lines.jsonl", b'{"id": "j", "text": "t"}\n')
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": ["p"], "html": ["<p>"]}), sink)
    put(f"{root}/rows.parquet", sink.getvalue().to_pybytes())
    assert ids(f"{root}/site") == ["a.html", "sub/b.txt.gz"]
    assert ids(f"{root}/*.jsonl", f"{root}/rows.parquet") == ["j", "p"]
    assert ids(f"{root}/site", f"{root}/site/a.html") == ["a.html", "sub/b.txt.gz"]
    (page,) = read_records([f"{root}/site/*.html"])
    assert page.source.path.startswith("memory://")
    assert page.source.path.endswith("/site/a.html")


@pytest.mark.parametrize("name", ["none.html", "*.html"])
def test_nothing_there(root: str, name: str) -> None:
    put(f"{root}/a.jsonl", b"")
    with pytest.raises(InputError, match=r"memory://"):
        read_records([f"{root}/{name}"])


def test_unknown_scheme() -> None:
    with pytest.raises(InputError, match="nowhere://"):
        read_records(["nowhere://x/y.html"])


def test_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def no_fsspec(name: str, *rest: Any) -> Any:
        if name == "fsspec":
            raise ImportError(name)
        return real_import(name, *rest)

    monkeypatch.setattr(builtins, "__import__", no_fsspec)
    with pytest.raises(MissingExtraError, match=r"s3://.*neardup\[remote\]"):
        read_records(["s3://bucket/x.html"])


def test_missing_back_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(scheme: str) -> None:
        raise ImportError(scheme)

    monkeypatch.setattr(fsspec, "filesystem", fail)
    with pytest.raises(MissingExtraError, match="gs://"):
        read_records(["gs://bucket/x.html"])


def test_a_connection_that_breaks_is_a_skip(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from fsspec.implementations.memory import MemoryFile

    put(f"{root}/a.html", b"<p>a")
    put(f"{root}/b.html", b"<p>b")

    def fail(file: object, size: int = -1) -> bytes:
        raise RuntimeError("connection lost")

    monkeypatch.setattr(MemoryFile, "read", fail, raising=False)
    first, second = read_records([root])
    assert isinstance(first, Skip)
    assert isinstance(second, Skip)
    assert (first.reason, first.detail) == (SkipReason.UNREADABLE, "RuntimeError: connection lost")
    monkeypatch.undo()
    assert all(isinstance(item, RawPage) for item in read_records([root]))
