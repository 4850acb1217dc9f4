"""Readers, writers and stores that other packages add."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from neardup.errors import OutputError, UsageError
from neardup.model import RawPage, Skip, Source
from neardup.pages import Limits
from neardup.pages.formats import FORMATS, Format
from neardup.pages.inputs import File
from neardup.pages.readers import read, read_records
from neardup.pages.streams import Chunks
from neardup.pages.writers import WRITERS, writer_for
from neardup.plugins import Registry
from neardup.stores.memory import MemoryStore, open_memory
from neardup.stores.store import SCHEMES, open_store


class ToyReader:
    """A page of text per line, and one more at the end that counts them."""

    def __init__(self, limits: Limits, keep_original: bool) -> None:
        self.count = 0

    def read(self, file: File, content: Chunks) -> Iterator[RawPage | Skip]:
        for number, line in enumerate(b"".join(each.data for each in content).splitlines()[1:]):
            self.count += 1
            yield RawPage(f"{file.name}/{number}", line, False, Source(file.source, number))

    def finish(self) -> Iterator[RawPage | Skip]:
        yield RawPage("count", str(self.count).encode(), False, Source("toy"))


TOY = Format(("toy",), ToyReader, lambda start: start.startswith(b"TOY\n"))


@pytest.fixture
def toy_format() -> Iterator[None]:
    FORMATS.register("toy", TOY)
    yield
    FORMATS.unregister("toy")


@pytest.mark.usefixtures("toy_format")
def test_a_registered_reader_reads_by_ending_and_by_content(tmp_path: Path) -> None:
    (tmp_path / "a.toy").write_bytes(b"TOY\none\ntwo\n")
    (tmp_path / "b").write_bytes(b"TOY\nthree\n")
    pages = read_records([str(tmp_path / "a.toy"), str(tmp_path / "b")])
    assert [page.id for page in pages] == ["a.toy/0", "a.toy/1", "b/0", "count"]
    bodies = [body for batch in read([str(tmp_path / "b")]) for body in batch.pages["body"]]
    assert [body.as_py() for body in bodies] == [b"three", b"1"]


def test_a_file_that_no_format_claims_lists_those_there_are(tmp_path: Path) -> None:
    (tmp_path / "a.toy").write_bytes(b"TOY\none\n")
    (tmp_path / "b.html").write_bytes(b"<p>x")
    skip, _ = read_records([str(tmp_path / "a.toy"), str(tmp_path / "b.html")])
    assert isinstance(skip, Skip)
    assert ".warc" in skip.detail
    assert ".parquet" in skip.detail


def test_a_registered_store_is_opened_by_its_scheme() -> None:
    with pytest.raises(UsageError, match=r"sqlite://, postgresql://, postgres://, memory://"):
        open_store("toy://x")
    SCHEMES.register("toy", open_memory)
    try:
        store = open_store("toy://x")
        assert isinstance(store, MemoryStore)
        store.close()
    finally:
        SCHEMES.unregister("toy")


class ToyWriter:
    """The ids, a line each."""

    may_be_packed = False

    def __init__(self, stream: object, packer: object) -> None:
        self.stream = stream

    def write(self, raw: RawPage, html_text: str | None = None) -> None:
        self.stream.write(raw.id.encode() + b"\n")  # type: ignore[attr-defined]

    def finish(self) -> None:
        pass


def test_a_registered_writer_writes_by_ending(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"\.jsonl .*\.warc .*\.parquet"), writer_for("a.toy"):
        pass
    WRITERS.register("toy", ToyWriter)
    try:
        with writer_for(tmp_path / "a.toy") as writer:
            writer.write(RawPage("x", b"y", True, Source("z")))
        assert (tmp_path / "a.toy").read_bytes() == b"x\n"
        with pytest.raises(OutputError), writer_for(tmp_path / "a.toy.gz"):
            pass
    finally:
        WRITERS.unregister("toy")


def test_parts_of_installed_packages_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toy_package.py").write_text("PART = 'a part'\n")
    about = tmp_path / "toy_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-package\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[neardup.toys]\nown = toy_package:PART\nx = no:no\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    registry: Registry[str] = Registry("neardup.toys", {"x": "string:digits"})
    assert registry.names == ["x", "own"]
    assert registry.get("own") == "a part"
    assert registry.get("x") == "0123456789"  # neardup's own wins
    assert registry.get("y") is None
