"""Kept pages: in the form they came in, converted, whole or not at all."""

from __future__ import annotations

import gzip
import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from archive_bytes import HTML, arc, http, packed, record
from neardup.errors import OutputError
from neardup.model import RawPage, Source
from neardup.pages.readers import read_records
from neardup.pages.writers import writer_for

URL = "http://site.example/a"


def pages_of(path: Path) -> list[RawPage]:
    items = list(read_records([str(path)], keep_original=True))
    pages = [item for item in items if isinstance(item, RawPage)]
    assert len(pages) == len(items), items
    return pages


def copy(source: Path, target: Path) -> list[RawPage]:
    """Read, write, read again."""
    with writer_for(target) as writer:
        for page in pages_of(source):
            writer.write(page, page.body.decode(page.charset or "utf-8"))
    return pages_of(target)


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.jsonl.zst"])
def test_json_lines_keep_all_fields(tmp_path: Path, name: str) -> None:
    lines = ['{"id":1,   "text":"x","more":{"a":null}}', '{"html":"<p>\\ud800","z":1.0}']
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    written = copy(tmp_path / "in.jsonl", tmp_path / name)
    assert [page.original.line.decode() for page in written] == lines


@pytest.mark.parametrize("name", ["out.warc", "out.warc.gz", "out.warc.zst"])
def test_warc_records_keep_heads_and_bodies(tmp_path: Path, name: str) -> None:
    body = gzip.compress(HTML)
    records = [
        record(URL, http(body, "text/html; charset=GBK", headers="Content-Encoding: gzip\r\n")),
        record(URL + "b", HTML, kind="resource", content_type="text/html", headers="X-Own: 1\r\n"),
    ]
    (tmp_path / "in.warc.gz").write_bytes(packed(*records))
    written = copy(tmp_path / "in.warc.gz", tmp_path / name)
    assert [page.original.record for page in written] == records
    assert [page.body for page in written] == [HTML, HTML]


def test_a_revisit_is_written_as_what_it_repeats(tmp_path: Path) -> None:
    digest = "WARC-Payload-Digest: sha1:A\r\n"
    profile = digest + f"WARC-Profile: x\r\nWARC-Refers-To: <urn:x:{URL}@2024-05-06T07:08:09Z>\r\n"
    again = record(
        URL + "b", http(b""), kind="revisit", date="2025-01-01T00:00:00Z", headers=profile
    )
    (tmp_path / "in.warc").write_bytes(record(URL, headers=digest) + again)
    with writer_for(tmp_path / "out.warc") as writer:
        writer.write(pages_of(tmp_path / "in.warc")[1])
    (page,) = pages_of(tmp_path / "out.warc")
    assert (page.id, page.body, page.time) == (URL + "b", HTML, datetime(2025, 1, 1, tzinfo=UTC))
    assert b"Refers-To" not in page.original.record
    assert b"WARC-Target-URI: " + URL.encode() in page.original.record


def test_arc_is_written_as_warc(tmp_path: Path) -> None:
    (tmp_path / "in.arc").write_bytes(arc((URL, http()), (URL + "b", HTML)))
    before = pages_of(tmp_path / "in.arc")
    after = copy(tmp_path / "in.arc", tmp_path / "out.warc.gz")
    assert [(p.id, p.body, p.time) for p in after] == [(p.id, p.body, p.time) for p in before]


def test_parquet_keeps_its_columns(tmp_path: Path) -> None:
    table = pa.table(
        {
            "n": pa.array([1, 2, 3], pa.int8()),
            "html": pa.array([b"<p>\xff", b"<p>2", b"<p>3"]),
            "id": ["a", "b", "c"],
            "nested": [[{"x": 1}], [], None],
            "time": pa.array([1, 2, None], pa.timestamp("ns")),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    with writer_for(tmp_path / "out.parquet") as writer:
        for page in pages_of(tmp_path / "in.parquet"):
            writer.write(page)
    assert pq.read_table(tmp_path / "out.parquet").equals(table)


def mixed_page(**changes: object) -> RawPage:
    fields: dict[str, object] = {
        "id": "é1",
        "body": "<p>多".encode("gbk"),
        "is_html": True,
        "source": Source("x"),
        "url": URL,
        "title": "T",
        "time": datetime(2024, 1, 2, tzinfo=UTC),
        "charset": "gbk",
    }
    return RawPage(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
@pytest.mark.parametrize("is_html", [True, False])
def test_conversion_keeps_what_is_known(tmp_path: Path, name: str, is_html: bool) -> None:
    page = mixed_page(is_html=is_html)
    with writer_for(tmp_path / name) as writer:
        writer.write(page, "<p>多")
    (read_back,) = pages_of(tmp_path / name)
    assert read_back.body.decode() == "<p>多"
    for field in ("id", "url", "title", "time", "is_html"):
        assert getattr(read_back, field) == getattr(page, field)


@pytest.mark.parametrize("is_html", [True, False])
def test_conversion_to_warc_keeps_the_bytes(tmp_path: Path, is_html: bool) -> None:
    page = mixed_page(is_html=is_html)
    with writer_for(tmp_path / "out.warc.gz") as writer:
        writer.write(page, "<p>多")
        writer.write(mixed_page(is_html=is_html, url="", time=None, charset=""), "<p>多")
    first, second = pages_of(tmp_path / "out.warc.gz")
    assert (first.body, first.charset, first.time) == (page.body, "gbk", page.time)
    assert (first.url, first.is_html) == (URL, is_html)
    assert second.url == "urn:neardup:%C3%A91"


def test_json_lines_to_parquet_keep_other_fields(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"id":"a","html":"<p>","more":[1]}\n{"id":"b","text":"t"}')
    copy(tmp_path / "in.jsonl", tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["extra"].to_pylist() == ['{"more": [1]}', None]


def test_parquet_to_json_lines_keeps_other_columns(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": ["a"],
            "html": pa.array([b"<p>x"]),
            "time": pa.array([0], pa.timestamp("us")),
            "raw": pa.array([b"\xff"]),
            "day": pa.array([0], pa.date32()),
            "list": [[{"x": 1}]],
            "none": pa.array([None], pa.string()),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    copy(tmp_path / "in.parquet", tmp_path / "out.jsonl")
    assert json.loads((tmp_path / "out.jsonl").read_text()) == {
        "id": "a",
        "html": "<p>x",
        "time": "1970-01-01T00:00:00Z",
        "raw": "/w==",
        "day": "1970-01-01",
        "list": [{"x": 1}],
    }


def test_pages_of_several_kinds_in_one_parquet_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["p"], "html": ["<p>"]}), tmp_path / "a.parquet")
    (tmp_path / "b.jsonl").write_text('{"id":"j","html":"<p>j"}')
    with writer_for(tmp_path / "out.parquet") as writer:
        for path in ("a.parquet", "b.jsonl"):
            writer.write(pages_of(tmp_path / path)[0])
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == [
        {"id": "p", "html": "<p>"},
        {"id": "j", "html": "<p>j"},
    ]
    with writer_for(tmp_path / "out.parquet") as writer:
        writer.write(pages_of(tmp_path / "a.parquet")[0])
        with pytest.raises(OutputError, match="'url' is not in the first page's columns"):
            writer.write(mixed_page(), "<p>")


def test_undecoded_content_is_not_guessed(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="not UTF-8"), writer_for(tmp_path / "o.jsonl") as writer:
        writer.write(mixed_page())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["o.jsonl", "o.jsonl.gz", "o.jsonl.zst", "o.warc.gz", "o.parquet"])
class TestWholeOrNotAtAll:
    """Of a failure nothing is left, and what was there stays."""

    def test_failure_on_the_way(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_text("before")

        def write_and_fail() -> None:
            with writer_for(tmp_path / name) as writer:
                writer.write(mixed_page(), "x")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_and_fail()
        assert [path.name for path in tmp_path.iterdir()] == [name]
        assert (tmp_path / name).read_text() == "before"

    def test_full_disk(self, tmp_path: Path, name: str) -> None:
        import random

        random.seed(5)
        page = mixed_page(body=random.randbytes(400_000))

        def write() -> None:
            with writer_for(tmp_path / name) as writer:
                for _ in range(4):
                    writer.write(page, page.body.hex())

        with file_size_limit(100_000), pytest.raises(OutputError) as error:
            write()
        assert str(error.value) == f"cannot write {tmp_path / name}: File too large"
        assert list(tmp_path.iterdir()) == []

    def test_no_folder(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(OutputError, match="No such file or directory"):
            writer_for(tmp_path / "none" / name).__enter__()

    def test_same_bytes_again(self, tmp_path: Path, name: str) -> None:
        contents = []
        for _ in range(2):
            with writer_for(tmp_path / name) as writer:
                writer.write(mixed_page(), "<p>多")
            contents.append((tmp_path / name).read_bytes())
        assert contents[0] == contents[1]

    def test_no_pages(self, tmp_path: Path, name: str) -> None:
        with writer_for(tmp_path / name):
            pass
        assert (tmp_path / name).exists()


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """The system refuses to let files grow beyond `size`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("name", ["out.xlsx", "out", "out.parquet.gz", "out.gz"])
def test_unknown_form(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError, match=r"\.jsonl"):
        writer_for(tmp_path / name).__enter__()
