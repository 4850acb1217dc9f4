"""WARC and ARC: every kind of record, every kind of damage."""

from __future__ import annotations

import gzip
import io
import zlib
from datetime import UTC, datetime
from pathlib import Path

import brotli
import pytest
import zstandard

from archive_bytes import HTML, arc, http, packed, record
from neardup.model import RawPage, Skip, SkipReason
from neardup.pages import Limits
from neardup.pages.readers import read_records

URLS = [f"http://site.example/{number}" for number in range(4)]
FOUR = [record(url) for url in URLS]


def read_bytes(
    tmp_path: Path, data: bytes, name: str = "a.warc", limits: Limits | None = None
) -> list[RawPage | Skip]:
    path = tmp_path / name
    path.write_bytes(data)
    return list(read_records([str(path)], limits))


def only_page(items: list[RawPage | Skip]) -> RawPage:
    (page,) = items
    assert isinstance(page, RawPage), page
    return page


def told(items: list[RawPage | Skip]) -> list[str]:
    """Ids of pages and reasons of skips, in order."""
    return [item.id if isinstance(item, RawPage) else str(item.reason) for item in items]


def chunked(body: bytes) -> bytes:
    half = len(body) // 2
    parts = [body[:half], body[half:], b""]
    return b"".join(f"{len(part):x};x=y\r\n".encode() + part + b"\r\n" for part in parts)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.warc", b"".join(FOUR)),
        ("a.warc.gz", packed(*FOUR)),
        ("one-member.warc.gz", gzip.compress(b"".join(FOUR))),
        ("a.warc.zst", b"".join(zstandard.ZstdCompressor().compress(each) for each in FOUR)),
        ("no-extension", packed(*FOUR)),
        ("padded.warc.gz", packed(*FOUR) + bytes(100)),
        ("bare-line-ends.warc", b"".join(each.replace(b"\r\n", b"\n", 8) for each in FOUR)),
    ],
)
def test_all_pages_of_an_archive(tmp_path: Path, name: str, data: bytes) -> None:
    items = read_bytes(tmp_path, data, name)
    assert told(items) == URLS
    assert all(isinstance(item, RawPage) and item.body == HTML for item in items)


def test_what_a_page_carries(tmp_path: Path) -> None:
    data = record(URLS[0], http(content_type="text/html; Charset='GBK'"))
    page = only_page(read_bytes(tmp_path, data))
    assert (page.id, page.url, page.charset, page.is_html) == (URLS[0], URLS[0], "GBK", True)
    assert page.time == datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    assert page.again == f"{URLS[0]}@2024-05-06T07:08:09Z"
    assert page.source.record == 0


@pytest.mark.parametrize(
    ("coding", "encode"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda body: zlib.compress(body)[2:-4]),
        ("br", brotli.compress),
        ("zstd", zstandard.ZstdCompressor().compress),
        ("gzip, br", lambda body: brotli.compress(gzip.compress(body))),
        ("identity", bytes),
        ("gzip", bytes),  # decoded by the crawler, header left
    ],
)
@pytest.mark.parametrize("transfer", ["", "Transfer-Encoding: chunked\r\n"])
def test_codings(tmp_path: Path, coding: str, encode: object, transfer: str) -> None:
    assert callable(encode)
    body = encode(HTML)
    block = http(
        chunked(body) if transfer else body, headers=f"Content-Encoding: {coding}\r\n{transfer}"
    )
    assert only_page(read_bytes(tmp_path, record(URLS[0], block))).body == HTML


def test_chunked_header_over_a_plain_body(tmp_path: Path) -> None:
    block = http(headers="Transfer-Encoding: chunked\r\n")
    assert only_page(read_bytes(tmp_path, record(URLS[0], block))).body == HTML


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (http(b"\x89PNG", "image/png"), SkipReason.NOT_HTML),
        (http(b"\x89PNG\r\n", ""), SkipReason.NOT_HTML),
        (http(b"<rss/>", "text/xml"), SkipReason.NOT_HTML),
        (http(status=404), SkipReason.HTTP_STATUS),
        (http(b"", status=301), SkipReason.HTTP_STATUS),
        (http(b""), SkipReason.EMPTY),
        (
            http(gzip.compress(HTML)[:-12], headers="Content-Encoding: gzip\r\n"),
            SkipReason.TRUNCATED,
        ),
        (
            http(b"\x1f\x8b\x08\0" + b"\xff" * 30, headers="Content-Encoding: gzip\r\n"),
            SkipReason.BAD_RECORD,
        ),
        (
            http(brotli.compress(HTML)[:-4], headers="Content-Encoding: br\r\n"),
            SkipReason.TRUNCATED,
        ),
        (http(b"ff\r\nshort", headers="Transfer-Encoding: chunked\r\n"), SkipReason.TRUNCATED),
        (http(b"2\r\nhixx", headers="Transfer-Encoding: chunked\r\n"), SkipReason.BAD_RECORD),
    ],
)
def test_responses_that_are_no_pages(tmp_path: Path, block: bytes, reason: SkipReason) -> None:
    (skip,) = read_bytes(tmp_path, record(URLS[0], block))
    assert isinstance(skip, Skip)
    assert (skip.reason, skip.id) == (reason, URLS[0])


@pytest.mark.parametrize(
    "block",
    [
        http(content_type=""),
        http(b"<!-- saved -->\n<!DOCTYPE html><p>x", content_type=""),
        http(b'<?xml version="1.0"?><html xmlns="x"/>', content_type="application/xml"),
        http(content_type="application/xhtml+xml"),
    ],
)
def test_html_told_by_type_or_by_look(tmp_path: Path, block: bytes) -> None:
    assert only_page(read_bytes(tmp_path, record(URLS[0], block))).is_html


def test_resources_conversions_and_what_is_not_a_page(tmp_path: Path) -> None:
    data = b"".join(
        [
            record(
                URLS[0], b"software: x", kind="warcinfo", content_type="application/warc-fields"
            ),
            record(URLS[0], b"GET / HTTP/1.1\r\n\r\n", kind="request"),
            record(URLS[0], b"a: b", kind="metadata", content_type="application/warc-fields"),
            record(URLS[1], HTML, kind="resource", content_type="text/html; charset=big5"),
            record(URLS[2], "多文字".encode(), kind="conversion", content_type="text/plain"),
            record("dns:site.example", b"A 192.0.2.1", content_type="text/dns"),
            record(URLS[3], b"part", kind="continuation"),
        ]
    )
    page, text, dns, part = read_bytes(tmp_path, data)
    assert isinstance(page, RawPage)
    assert (page.is_html, page.charset, page.body) == (True, "big5", HTML)
    assert isinstance(text, RawPage)
    assert (text.is_html, text.charset, text.body.decode()) == (False, "utf-8", "多文字")
    assert told([dns, part]) == ["not-html", "bad-record"]
    assert [item.source.record for item in (page, text, dns, part)] == [3, 4, 5, 6]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of fastwarc's own import
def test_agrees_with_fastwarc(tmp_path: Path) -> None:
    from fastwarc.warc import ArchiveIterator

    data = packed(*FOUR, record("http://x.example/", http(HTML * 5000)))
    expected = [
        (each.headers["WARC-Target-URI"], each.reader.read())
        for each in ArchiveIterator(io.BytesIO(data))
    ]
    pages = read_bytes(tmp_path, data, "a.warc.gz")
    assert [(page.id, page.body) for page in pages if isinstance(page, RawPage)] == expected


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", ["a.arc", "a.arc.gz"])
def test_arc(tmp_path: Path, version: int, name: str) -> None:
    data = arc((URLS[0], http()), ("http://x.example/a b", HTML), version=version)
    items = read_bytes(tmp_path, gzip.compress(data) if name.endswith("gz") else data, name)
    assert told(items) == [URLS[0], "http://x.example/a b"]
    first = items[0]
    assert isinstance(first, RawPage)
    assert (first.body, first.time) == (HTML, datetime(2005, 6, 7, 8, 9, 10, tzinfo=UTC))


def test_arc_goes_on_after_a_wrong_length(tmp_path: Path) -> None:
    right = f"text/html {len(http())}\n".encode()
    data = arc(*((url, http()) for url in URLS)).replace(right, b"text/html 50\n", 1)
    assert b"text/html 50\n" in data
    assert told(read_bytes(tmp_path, data, "a.arc")) == ["bad-record", *URLS[1:]]


class TestDamage:
    """One skip for what is broken; nothing else is lost."""

    @pytest.mark.parametrize("wrong", [10, 150, 700, 10**12, "none", -5])
    @pytest.mark.parametrize("gzipped", [False, True])
    def test_wrong_length(self, tmp_path: Path, wrong: object, gzipped: bool) -> None:
        records = [FOUR[0], record("http://bad.example/", length=wrong), *FOUR[1:]]
        data = packed(*records) if gzipped else b"".join(records)
        items = read_bytes(tmp_path, data, "a.warc.gz" if gzipped else "a.warc")
        assert told(items) == [URLS[0], "bad-record", *URLS[1:]]
        assert isinstance(items[1], Skip)
        assert items[1].id == "http://bad.example/"

    @pytest.mark.parametrize("cut", [3, 30, 100, 200])
    @pytest.mark.parametrize("gzipped", [False, True])
    def test_truncated_file(self, tmp_path: Path, cut: int, gzipped: bool) -> None:
        data = (packed(*FOUR) if gzipped else b"".join(FOUR))[:-cut]
        items = read_bytes(tmp_path, data, "a.warc.gz" if gzipped else "a.warc")
        # With only the end of the envelope missing, the page is whole
        rest = "truncated" if cut > 3 else URLS[3]
        assert told(items)[:4] == [*URLS[:3], rest]
        assert told(items)[4:] == (["truncated"] if gzipped and cut == 3 else [])

    def test_corrupt_member(self, tmp_path: Path) -> None:
        members = [gzip.compress(each, mtime=0) for each in FOUR]
        broken = bytearray(members[1])
        broken[60:70] = b"\xff" * 10
        data = members[0] + bytes(broken) + members[2] + members[3]
        assert told(read_bytes(tmp_path, data, "a.warc.gz")) == [
            URLS[0],
            "bad-record",
            URLS[2],
            URLS[3],
        ]

    def test_wrong_checksum_puts_the_page_in_doubt(self, tmp_path: Path) -> None:
        members = [gzip.compress(each, mtime=0) for each in FOUR]
        broken = bytearray(members[1])
        broken[-7] ^= 1
        data = members[0] + bytes(broken) + members[2] + members[3]
        items = read_bytes(tmp_path, data, "a.warc.gz")
        assert told(items) == [URLS[0], "bad-record", URLS[2], URLS[3]]

    def test_nothing_before_the_damage_of_one_long_member_is_lost(self, tmp_path: Path) -> None:
        urls = [f"http://site.example/{number}/{number * 7919}" for number in range(400)]
        data = bytearray(gzip.compress(b"".join(map(record, urls)), mtime=0))
        at = len(data) // 2
        data[at : at + 8] = b"\xff" * 8
        items = read_bytes(tmp_path, bytes(data), "a.warc.gz")
        pages = [item.id for item in items if isinstance(item, RawPage)]
        assert pages[:150] == urls[:150]
        assert len(pages) < 260
        assert isinstance(items[-1], Skip)

    @pytest.mark.parametrize("gzipped", [False, True])
    def test_garbage_between_records(self, tmp_path: Path, gzipped: bool) -> None:
        parts = [packed(each) for each in FOUR] if gzipped else FOUR
        data = parts[0] + b"\0\1garbage\nWARC/nonsense\n" * 9 + b"".join(parts[1:])
        items = read_bytes(tmp_path, data, "a.warc.gz" if gzipped else "a.warc")
        assert told(items) == [URLS[0], "bad-record", *URLS[1:]]

    def test_endless_head(self, tmp_path: Path) -> None:
        data = FOUR[0] + b"WARC/1.0\r\n" + b"x: y\r\n" * 50_000 + b"\r\n" + FOUR[1]
        assert told(read_bytes(tmp_path, data)) == [URLS[0], "bad-record", URLS[1]]

    def test_gives_up_when_nothing_makes_sense(self, tmp_path: Path) -> None:
        data = b"WARC/1.0\r\n\r\n" * 3000
        items = read_bytes(tmp_path, data)
        assert len(items) == 1001
        assert all(isinstance(item, Skip) for item in items)

    def test_not_an_archive_at_all(self, tmp_path: Path) -> None:
        assert told(read_bytes(tmp_path, b"<html>no archive</html>")) == ["bad-record"]


class TestRevisits:
    """A revisit becomes the page it repeats, under its own URL and date."""

    digest = "WARC-Payload-Digest: sha1:ABC\r\n"
    later = "2024-06-01T00:00:00Z"

    def revisit(self, headers: str, status: int = 200) -> bytes:
        return record(
            URLS[1], http(b"", status=status), kind="revisit", date=self.later, headers=headers
        )

    @pytest.mark.parametrize(
        "headers",
        [
            f"WARC-Refers-To: <urn:x:{URLS[0]}@2024-05-06T07:08:09Z>\r\n",
            f"WARC-Refers-To-Target-URI: {URLS[0]}\r\n"
            "WARC-Refers-To-Date: 2024-05-06T07:08:09Z\r\n",
            "WARC-Payload-Digest: SHA1:abc\r\n",
        ],
    )
    @pytest.mark.parametrize("status", [200, 304])
    @pytest.mark.parametrize("first", [False, True])
    def test_resolved(self, tmp_path: Path, headers: str, status: int, first: bool) -> None:
        records = [record(URLS[0], headers=self.digest), self.revisit(headers, status)]
        if first:
            records.reverse()
        original, repeat = read_bytes(tmp_path, packed(*records), "a.warc.gz")
        assert isinstance(original, RawPage)
        assert isinstance(repeat, RawPage)
        assert (repeat.id, repeat.again, repeat.body) == (URLS[1], f"{URLS[1]}@{self.later}", HTML)
        assert repeat.source.record == (0 if first else 1)

    def test_resolved_from_another_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.warc").write_bytes(self.revisit(self.digest) + self.revisit(self.digest))
        (tmp_path / "b.warc").write_bytes(record(URLS[0], headers=self.digest))
        items = list(read_records([str(tmp_path)]))
        assert told(items) == [URLS[0], URLS[1], URLS[1]]

    def test_unresolved(self, tmp_path: Path) -> None:
        data = self.revisit("WARC-Payload-Digest: sha1:OTHER\r\n") + self.revisit("") + FOUR[2]
        items = read_bytes(tmp_path, data)
        assert told(items) == [URLS[2], "unresolved-revisit", "unresolved-revisit"]
        assert [(item.id, item.source.record) for item in items[1:]] == [(URLS[1], 0), (URLS[1], 1)]

    def test_of_an_image(self, tmp_path: Path) -> None:
        image = record(URLS[0], http(b"\x89PNG", "image/png"), headers=self.digest)
        items = read_bytes(tmp_path, image + self.revisit(self.digest))
        assert told(items) == ["not-html", "not-html"]
        assert items[1].source.record == 1


class TestLimits:
    """Large pages are let go; what follows is read."""

    limits = Limits(page_bytes=100_000)

    @pytest.mark.parametrize("size", [100_001, 150_000, 400_000])
    @pytest.mark.parametrize("gzipped", [False, True])
    def test_large_page(self, tmp_path: Path, size: int, gzipped: bool) -> None:
        large = record(URLS[0], http(HTML.ljust(size)))
        data = packed(large, FOUR[1]) if gzipped else large + FOUR[1]
        name = "a.warc.gz" if gzipped else "a.warc"
        items = read_bytes(tmp_path, data, name, self.limits)
        assert told(items) == ["too-large", URLS[1]]

    def test_large_image_is_no_page(self, tmp_path: Path) -> None:
        data = record(URLS[0], http(bytes(400_000), "image/png")) + FOUR[1]
        assert told(read_bytes(tmp_path, data, limits=self.limits)) == ["not-html", URLS[1]]

    @pytest.mark.parametrize(
        ("coding", "encode"),
        [
            ("gzip", gzip.compress),
            ("deflate", zlib.compress),
            ("br", brotli.compress),
            ("zstd", zstandard.ZstdCompressor().compress),
        ],
    )
    def test_bomb_in_the_body(self, tmp_path: Path, coding: str, encode: object) -> None:
        assert callable(encode)
        block = http(encode(bytes(30_000_000)), headers=f"Content-Encoding: {coding}\r\n")
        data = record(URLS[0], block) + FOUR[1]
        assert told(read_bytes(tmp_path, data, limits=self.limits)) == ["too-large", URLS[1]]

    def test_page_at_the_limit(self, tmp_path: Path) -> None:
        data = record(URLS[0], http(HTML.ljust(100_000)))
        assert len(only_page(read_bytes(tmp_path, data, limits=self.limits)).body) == 100_000


def test_real_pages(shared_data: Path) -> None:
    items = list(read_records([str(shared_data / "real-pages.warc.gz")]))
    assert len(items) == 1086
    assert all(isinstance(item, RawPage) for item in items)
