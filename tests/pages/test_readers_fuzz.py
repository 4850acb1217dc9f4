"""Random and mutated bytes through every reader: nothing escapes but an error before any record."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from neardup.errors import NeardupError
from neardup.model import RawPage, Skip, Source
from neardup.pages import Limits, read_records
from neardup.pages.writers import writer_for

FORMS = "html html.gz txt warc warc.gz warc.zst arc jsonl jsonl.gz jsonl.zst parquet unknown"
LIMITS = Limits(page_bytes=5000)


def check(name: str, data: bytes) -> None:
    """Read the bytes under this name; a reader may refuse them whole, or give pages and skips."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        items = read_records([str(path)], LIMITS, keep_original=True)
        try:
            first = next(items, None)
        except NeardupError:
            return
        for item in [first, *items]:
            assert item is None or isinstance(item, RawPage | Skip)
            if isinstance(item, RawPage):
                assert 0 < len(item.body) <= LIMITS.page_bytes
                assert item.id.encode()


@pytest.mark.parametrize("form", FORMS.split())
@given(data=st.binary(max_size=2000))
def test_random_bytes(form: str, data: bytes) -> None:
    check(f"a.{form}", data)


def page(number: int) -> RawPage:
    return RawPage(
        id=f"p{number}",
        body=f"<html><p>Page {number} 你好".encode() * 20,
        is_html=number % 3 > 0,
        source=Source("x", number),
        url=f"http://site.example/{number}",
        time=datetime(2024, 1, 1, tzinfo=UTC),
        charset="utf-8",
    )


@cache
def good(form: str) -> bytes:
    """Some pages, written well."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x{form}"
        with writer_for(path) as writer:
            for number in range(6):
                writer.write(page(number))
        return path.read_bytes()


PACKED = gzip.compress(b"<p>" * 900, mtime=0)
BLOCKS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(PACKED), PACKED),
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: br\r\n\r\n"
    + brotli.compress(b"<p>" * 900),
)
HEAD = (
    b"WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: http://x.example/\r\nWARC-Refers-To: <a>\r\n"
    b"WARC-Record-ID: <a>\r\nWARC-Date: 2024-01-01T00:00:00Z\r\nContent-Length: %d\r\n\r\n"
)
RESPONSES = b"".join(
    HEAD % (kind, len(block)) + block + b"\r\n\r\n"
    for kind in (b"response", b"revisit")
    for block in BLOCKS
)
ARC = (
    b"filedesc://x.arc 0.0.0.0 20050607080910 text/plain 8\n1 0 Arc\n\n"
    + b"http://x.example/ 192.0.2.1 20050607080910 text/html 12\n<html>a page\n" * 4
)
SEEDS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "warc": ("a.warc", lambda: good(".warc")),
    "warc.gz": ("a.warc.gz", lambda: good(".warc.gz")),
    "warc.zst": ("a.warc.zst", lambda: good(".warc.zst")),
    "responses": ("a.warc", lambda: RESPONSES),
    "one member": ("a.warc.gz", lambda: gzip.compress(RESPONSES, mtime=0)),
    "arc": ("a.arc", lambda: ARC),
    "jsonl": ("a.jsonl", lambda: good(".jsonl")),
    "jsonl.gz": ("a.jsonl.gz", lambda: good(".jsonl.gz")),
    "jsonl.zst": ("a.jsonl.zst", lambda: good(".jsonl.zst")),
    "parquet": ("a.parquet", lambda: good(".parquet")),
    "html.gz": ("a.html.gz", lambda: gzip.compress(b"<p>" * 500, mtime=0)),
    "html.zst": ("a.html.zst", lambda: zstandard.ZstdCompressor().compress(b"<p>" * 500)),
}
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["set", "cut", "insert", "repeat"]),
        st.floats(0, 1),
        st.integers(0, 60),
        st.binary(min_size=1, max_size=8),
    ),
    min_size=1,
    max_size=5,
)


def mutated(data: bytes, edits: list[tuple[str, float, int, bytes]]) -> bytes:
    for how, where, length, fresh in edits:
        at = int(where * len(data))
        if how == "set":
            data = data[:at] + fresh + data[at + len(fresh) :]
        elif how == "cut":
            data = data[:at] + data[at + length :]
        elif how == "insert":
            data = data[:at] + fresh + data[at:]
        else:
            data = data[:at] + data[max(0, at - length * 20) :]
    return data


@pytest.mark.parametrize("seed", SEEDS)
@given(edits=EDITS)
def test_mutated_files(seed: str, edits: list[tuple[str, float, int, bytes]]) -> None:
    name, make = SEEDS[seed]
    check(name, mutated(make(), edits))


@pytest.mark.parametrize("seed", SEEDS)
@given(where=st.floats(0, 1))
def test_truncated_files(seed: str, where: float) -> None:
    name, make = SEEDS[seed]
    data = make()
    check(name, data[: int(where * len(data))])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_seeds_are_good(seed: str, tmp_path: Path) -> None:
    name, make = SEEDS[seed]
    (tmp_path / name).write_bytes(make())
    items = list(read_records([str(tmp_path)]))
    assert items
    assert all(isinstance(item, RawPage) for item in items), items
