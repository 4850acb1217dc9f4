"""JSON lines: fields, bad lines, compression, limits."""

from __future__ import annotations

import gzip
import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard

from neardup.model import RawPage, Skip
from neardup.pages import Limits
from neardup.pages.jsonl import read_lines
from neardup.pages.readers import read_records
from neardup.pages.streams import chunks


def read_text(tmp_path: Path, *lines: str, limits: Limits | None = None) -> list[RawPage | Skip]:
    path = tmp_path / "a.jsonl"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    return list(read_records([str(path)], limits))


def page_of(tmp_path: Path, **fields: object) -> RawPage:
    (page,) = read_text(tmp_path, json.dumps(fields))
    assert isinstance(page, RawPage), page
    return page


def reasons(items: list[RawPage | Skip]) -> list[str]:
    return [item.id if isinstance(item, RawPage) else str(item.reason) for item in items]


def test_all_fields(tmp_path: Path) -> None:
    fields = {"id": "a", "url": "http://x.example/", "html": "<p>你好", "title": "t", "more": [1]}
    page = page_of(tmp_path, **fields, time="2024-01-02T03:04:05+08:00")
    assert (page.id, page.url, page.title, page.is_html) == ("a", "http://x.example/", "t", True)
    assert (page.body.decode(), page.charset) == ("<p>你好", "utf-8")
    assert page.time == datetime(2024, 1, 1, 19, 4, 5, tzinfo=UTC)
    assert (page.again, page.original) == ("", None)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"id": 7}, "7"),
        ({"id": 1.5}, "1.5"),
        ({"id": "x"}, "x"),
        ({"id": None, "url": "http://u.example"}, "http://u.example"),
        ({"id": "", "url": "http://u.example"}, "http://u.example"),
        ({"id": True}, "a.jsonl:0"),
        ({"id": ["x"], "url": 5}, "a.jsonl:0"),
        ({}, "a.jsonl:0"),
        ({"id": "\ud800x"}, "\ufffdx"),
    ],
)
def test_ids(tmp_path: Path, fields: dict[str, object], expected: str) -> None:
    assert page_of(tmp_path, text="t", **fields).id == expected


def test_records_without_id_are_told_apart_by_their_path(tmp_path: Path) -> None:
    assert page_of(tmp_path, text="t").again == f"{tmp_path}/a.jsonl:0"


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("2024-01-02", datetime(2024, 1, 2, tzinfo=UTC)),
        ("2024-01-02T03:04:05Z", datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (1704164645.0, datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)),
        (1704164645000, datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("yesterday", None),
        (1e300, None),
        (True, None),
        (["x"], None),
        ("0001-01-01T00:00:00+14:00", None),
    ],
)
def test_times(tmp_path: Path, time: object, expected: datetime | None) -> None:
    assert page_of(tmp_path, text="t", time=time).time == expected


def test_html_is_preferred_and_emptiness_is_not(tmp_path: Path) -> None:
    assert page_of(tmp_path, html="<p>h", text="t").is_html
    assert not page_of(tmp_path, html="", text="t").is_html
    assert not page_of(tmp_path, html=None, text="t").is_html


def test_nul_bytes_and_lone_surrogates(tmp_path: Path) -> None:
    (page,) = read_text(tmp_path, r'{"id": "a", "html": "x\u0000y\ud83d!\ud83d\ude00"}')
    assert isinstance(page, RawPage)
    assert page.body == b"x\0y" + "\ufffd!\U0001f600".encode()


def test_bad_lines_are_skipped_by_name_and_number(tmp_path: Path) -> None:
    items = read_text(
        tmp_path,
        "\ufeff" + '{"id": "first", "text": "x"}',
        "{not json",
        "[1, 2]",
        "",
        '"text"',
        '{"id": "none"}',
        '{"id": "empty", "html": ""}',
        '{"id": "wrong", "html": 5}',
        "[" * 100_000,
        '{"id": "number", "text": "x", "n": ' + "9" * 5000 + "}",
        '{"id": "\udcff", "text": "x"}',
        '{"id": "last", "text": "x"}\r',
    )
    assert reasons(items) == [
        "first",
        "bad-json",
        "bad-json",
        "bad-json",
        "no-content",
        "empty",
        "no-content",
        "bad-json",
        "bad-json",
        "bad-json",
        "last",
    ]
    assert isinstance(items[1], Skip)
    assert items[1].detail.startswith("line 2: not JSON")
    assert isinstance(items[9], Skip)
    assert items[9].detail == "line 11: not UTF-8"
    assert [item.source.record for item in items] == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11]
    assert [item.id for item in items[4:7]] == ["none", "empty", "wrong"]


def test_empty_file(tmp_path: Path) -> None:
    assert reasons(read_text(tmp_path, "")) == ["empty"]


def lines(count: int) -> bytes:
    return b"".join(
        json.dumps({"id": str(n), "html": f"<p>page {n} {n * 7919}"}).encode() + b"\n"
        for n in range(count)
    )


def wide_zstd(data: bytes) -> bytes:
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=27)
    writer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return writer.compress(data) + writer.flush()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", lines(5000)),
        ("a.ndjson", lines(5000)),
        ("a.json", lines(5000).rstrip()),
        ("a.jsonl.gz", gzip.compress(lines(5000))),
        ("members.jsonl.gz", b"".join(map(gzip.compress, lines(5000).splitlines(keepends=True)))),
        ("a.jsonl.zst", wide_zstd(lines(5000))),
        ("untold", wide_zstd(lines(5000))),
    ],
)
def test_forms(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    items = list(read_records([str(tmp_path / name)]))
    assert reasons(items) == [str(n) for n in range(5000)]


@pytest.mark.parametrize("pack", [gzip.compress, wide_zstd])
def test_truncated_compression_gives_all_whole_lines(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    data = pack(lines(50_000))
    (tmp_path / "a.jsonl").write_bytes(data[: len(data) // 2])
    items = list(read_records([str(tmp_path / "a.jsonl")]))
    pages = [item for item in items if isinstance(item, RawPage)]
    assert len(pages) > 15_000
    assert [page.id for page in pages] == [str(n) for n in range(len(pages))]
    assert reasons(items[len(pages) :]) == ["truncated"]


def test_goes_on_with_the_next_member_after_a_broken_one(tmp_path: Path) -> None:
    members = [gzip.compress(line) for line in lines(4).splitlines(keepends=True)]
    members[1] = members[1][:15] + b"\xff" * 10 + members[1][25:]
    (tmp_path / "a.jsonl.gz").write_bytes(b"".join(members))
    assert reasons(list(read_records([str(tmp_path)]))) == ["0", "bad-record", "2", "3"]


class CountingStream(io.BytesIO):
    """Counts what is asked of it."""

    given = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.given += len(data)
        return data


def test_a_line_beyond_the_limit_is_not_kept(tmp_path: Path) -> None:
    limits = Limits(page_bytes=1000)
    long = json.dumps({"id": "long", "html": "x" * 3_000_000})
    page = json.dumps({"id": "page", "html": "x" * 1001})
    fits = json.dumps({"id": "fits", "html": "x" * 1000})
    items = read_text(tmp_path, long, page, fits, limits=limits)
    assert reasons(items) == ["too-large", "too-large", "fits"]


def test_fifty_megabytes_are_too_large(tmp_path: Path) -> None:
    line = json.dumps({"id": "huge", "html": "x" * 50_000_000})
    items = read_text(tmp_path, line, '{"id": "b", "text": "x"}')
    assert reasons(items) == ["too-large", "b"]


def test_reading_stops_where_the_caller_stops() -> None:
    stream = CountingStream(lines(100_000))
    items = read_lines("x", chunks(stream), Limits())
    assert isinstance(next(items), RawPage)
    assert stream.given < 200_000 < len(stream.getvalue())


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").write_bytes(gzip.compress(lines(3) + b'{"text": "no id"}'))
    with (tmp_path / "in").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        items = list(read_records(["-"]))
        assert not stream.closed
    assert reasons(items) == ["0", "1", "2", "-:3"]
    assert items[0].source.path == "-"


def test_keeps_the_line_when_asked(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id":1,  "text":"x","more":null}\n')
    (page,) = read_records([str(tmp_path)], keep_original=True)
    assert isinstance(page, RawPage)
    assert page.original.line == b'{"id":1,  "text":"x","more":null}'


@pytest.mark.parametrize(
    ("name", "count"),
    [("reprints-en", 1026), ("reprints-zh", 963), ("versions-en", 880), ("versions-zh", 558)],
)
def test_labelled_sets(shared_data: Path, name: str, count: int) -> None:
    items = list(read_records([str(shared_data / name / "pages.jsonl.zst")]))
    assert len(items) == count
    assert all(isinstance(item, RawPage) and item.is_html for item in items)
