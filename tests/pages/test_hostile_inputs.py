"""Inputs made to hang a reader, to exhaust memory or descriptors, or to confuse ids."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from archive_bytes import HTML, http, packed, record
from neardup.model import RawPage, Skip, SkipReason
from neardup.pages import warc
from neardup.pages.http import inflate_bounded
from neardup.pages.limits import CODINGS, FIELD_LENGTH
from neardup.pages.readers import read, read_records
from neardup.pages.streams import chunks
from neardup.pages.urls import believable_canonical, canonicalise, host, site
from neardup.pages.writers import writer_for
from neardup.text.charset import to_utf8

PEAK = """
import resource, sys
from neardup.pages.readers import read
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(batch.pages.num_rows + len(batch.skips) for batch in read([sys.argv[1]]))
print(count, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


FAR = {"a": 2**45, "b": 2**62, "c": 2**31 - 1}  # beyond the year 9999 in each type


def reasons(path: Path) -> list[str]:
    return [
        item.id if isinstance(item, RawPage) else str(item.reason)
        for item in read_records([str(path)])
    ]


def peak_of_reading(path: Path) -> tuple[int, int]:
    """Records and megabytes of a process of its own."""
    command = [sys.executable, "-c", PEAK, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    count, megabytes = map(int, done.stdout.split())
    return count, megabytes


def test_many_comments_before_no_markup(tmp_path: Path) -> None:
    block = http(b"<!---->" * 40 + b"X", content_type="")
    page = http(b"<!-- a --> <!-- <b> -->\n<p>x", content_type="")
    (tmp_path / "a.warc").write_bytes(record("http://a/", block) + record("http://b/", page))
    started = time.perf_counter()
    assert reasons(tmp_path / "a.warc") == ["not-html", "http://b/"]
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize(
    "url",
    [
        "http://a/." + "x" * 1_000_000 + "%",
        "http://a" + "/index.html" * 90_000,
        "http://" + "www." * 250_000 + "a.example/",
        "http://a/" + "../" * 300_000,
        "http://a/?" + "s=1&" * 250_000,
        "http://" + ":" * 100_000 + "\nx",
        "http://é" + "é." * 100_000,
    ],
)
def test_a_url_of_a_megabyte_takes_linear_time(url: str) -> None:
    started = time.perf_counter()
    canonicalise(url)
    site(host(url))
    believable_canonical(url, "/x", "y/")
    assert time.perf_counter() - started < 10


def test_long_urls_are_skipped(tmp_path: Path) -> None:
    long, longest = "http://a/" + "x" * 8184, "http://b/" + "x" * 8183
    revisit = record(long, b"", kind="revisit", headers="WARC-Refers-To: <urn:x>\r\n")
    (tmp_path / "a.warc").write_bytes(record(long) + record(longest) + revisit)
    (tmp_path / "b.jsonl").write_text(f'{{"id": "1", "url": "{long}", "text": "x"}}\n')
    assert reasons(tmp_path) == ["long-url", longest, "long-url", "long-url"]
    skip = next(read_records([str(tmp_path)]))
    assert isinstance(skip, Skip)
    assert skip.reason is SkipReason.LONG_URL
    assert len(skip.id) < 300


def test_parquet_times_that_python_cannot_hold(tmp_path: Path) -> None:
    for name, kind in [("a", pa.timestamp("s")), ("b", pa.timestamp("us")), ("c", pa.date32())]:
        times = pa.array([FAR[name], 1, None]).cast(pa.int64())
        column = times.cast(pa.int32()).cast(kind) if name == "c" else times.cast(kind)
        table = pa.table({"id": ["far", "near", "none"], "text": ["x", "y", "z"], "time": column})
        pq.write_table(table, tmp_path / f"{name}.parquet")
        pages = list(read_records([str(tmp_path / f"{name}.parquet")]))
        assert [item.id for item in pages] == ["far", "near", "none"]
        known = [isinstance(page, RawPage) and page.time is not None for page in pages]
        assert known == [False, name != "c", False]


def test_deeply_nested_folders(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    page = os.open("deep.html", os.O_WRONLY | os.O_CREAT, dir_fd=here)
    os.write(page, HTML)
    os.close(page)
    os.close(here)
    try:
        assert reasons(tmp_path) == ["d/" * 1500 + "deep.html"]
    finally:  # pytest's own cleaning goes only so deep
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


def test_names_that_are_no_utf_8_stay_apart(tmp_path: Path) -> None:
    for name in (b"a\xff.html", b"a\xfe.html"):
        (tmp_path / os.fsdecode(name)).write_bytes(HTML)
    pages = list(read_records([str(tmp_path)]))
    assert [page.id for page in pages] == ["a\\xfe.html", "a\\xff.html"]
    assert [page.source.path for page in pages] == [f"{tmp_path}/{page.id}" for page in pages]


def test_links_to_folders_leak_no_descriptors(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(20):
        (tmp_path / f"{number:02d}.html").symlink_to(tmp_path / "folder")
    (tmp_path / "z.html").write_bytes(HTML)
    assert reasons(tmp_path) == ["unreadable"] * 20 + ["z.html"]
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_parquet_row_that_is_no_utf_8_is_written_as_a_json_line(tmp_path: Path) -> None:
    text = pa.array([b"caf\xe9 au lait"]).cast(pa.string(), safe=False)
    far = pa.array([2**40]).cast(pa.timestamp("s"))
    table = pa.table({"id": ["a"], "text": text, "note": text, "when": far})
    pq.write_table(table, tmp_path / "a.parquet")
    (page,) = read_records([str(tmp_path / "a.parquet")], keep_original=True)
    assert isinstance(page, RawPage)
    with writer_for(tmp_path / "b.jsonl") as writer:
        writer.write(page, to_utf8(page.body, page.charset)[0].decode())
    (again,) = read_records([str(tmp_path / "b.jsonl")])
    assert again.id == "a"
    assert '"note": "caf\ufffd au lait"' in (tmp_path / "b.jsonl").read_text("utf-8")


def test_a_dictionary_value_repeated_over_many_rows_is_held_once(tmp_path: Path) -> None:
    value = pa.array(["<p>" + "x" * 1_000_000])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 1024), value)
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"html": column}), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 10_000
    count, megabytes = peak_of_reading(path)
    assert count == 1024
    assert megabytes < 300


def test_revisits_are_bounded_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headers = f"WARC-Refers-To: <urn:x>\r\nX: {'x' * 60_000}\r\n"
    revisits = [
        record(f"http://a/{number}", b"", kind="revisit", headers=headers) for number in range(1000)
    ]
    (tmp_path / "a.warc.gz").write_bytes(gzip.compress(b"".join(revisits)))
    count, megabytes = peak_of_reading(tmp_path / "a.warc.gz")
    assert count == 1000
    assert megabytes < 40
    monkeypatch.setattr(warc, "REVISIT_BYTES", 5_000)
    (tmp_path / "b.warc.gz").write_bytes(packed(*revisits[:20]))
    skips = list(read_records([str(tmp_path / "b.warc.gz")]))
    assert [str(item.reason) for item in skips if isinstance(item, Skip)] == [
        "unresolved-revisit"
    ] * 20


def test_codings_in_codings_are_bounded(tmp_path: Path) -> None:
    pages = []
    for count in (CODINGS, CODINGS + 1):
        body = HTML
        for _ in range(count):
            body = gzip.compress(body)
        named = ", ".join(["identity", *["gzip"] * count])
        block = http(body, headers=f"Content-Encoding: {named}\r\n")
        pages.append(record(f"http://a.example/{count}", block))
    (tmp_path / "a.warc.gz").write_bytes(packed(*pages))
    found = list(read_records([str(tmp_path / "a.warc.gz")]))
    assert [isinstance(each, RawPage) for each in found] == [True, False]
    assert isinstance(found[1], Skip)
    assert found[1].reason is SkipReason.BAD_RECORD
    assert "5 content codings" in found[1].detail


@pytest.mark.parametrize("field", ["id", "title"])
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_long_fields_are_skipped_with_their_reason(tmp_path: Path, field: str, ending: str) -> None:
    rows = [{"id": str(n), "title": "t", "text": "Tea."} for n in range(3)]
    rows[0][field], rows[1][field] = "é" * FIELD_LENGTH, "é" * (FIELD_LENGTH + 1)
    path = tmp_path / f"a.{ending}"
    if ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    [batch] = read([str(path)])
    assert batch.pages["record"].to_pylist() == [0, 2]
    [skip] = batch.skips
    assert (skip.reason, skip.source.record) == (SkipReason.TOO_LARGE, 1)
    assert field in skip.detail


def test_empty_zstd_blocks_take_linear_time() -> None:
    frame = zstandard.ZstdCompressor(write_content_size=False).compress(b"tea")
    header, rest = frame[:6], frame[6:]
    assert int.from_bytes(rest[:3], "little") >> 3 == 3  # one raw block of three bytes
    content = header + bytes(3) * 300_000 + rest
    started = time.process_time()
    assert inflate_bounded(content, "zstd", 100) == b"tea"
    assert b"".join(data for data, _, _ in chunks(io.BytesIO(content))) == b"tea"
    assert time.process_time() - started < 2
