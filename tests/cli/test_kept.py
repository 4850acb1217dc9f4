"""`neardup check --write-kept`: kept pages, and revisit records that other libraries can read."""

from __future__ import annotations

import gzip
import json
import sys
import warnings
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator as OtherIterator

from archive_bytes import http, packed, record
from neardup import RawPage
from neardup.cli.main import run
from neardup.model import Skip
from neardup.pages.readers import read_records
from neardup.pages.warc import IDENTICAL, NEAR
from sample_pages import long_html, write_jsonl

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of fastwarc's own import
    from fastwarc.warc import ArchiveIterator, WarcRecordType

A, B, C, D = (f"http://{name}.example/" for name in "abcd")
EARLY, LATE, LAST = (f"2024-05-0{day}T00:00:00Z" for day in (1, 2, 3))


def page(url: str, date: str, body: str, headers: str = "") -> bytes:
    return record(url, http(body.encode(), headers=headers), date=date)


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """A page, its copy, a near copy, another page, and the first one as crawled again."""
    path = tmp_path / "crawl.warc.gz"
    first, near = long_html("harbour"), long_html("harbour", edited=True)
    other = long_html("railway")
    path.write_bytes(
        packed(
            page(A, EARLY, first),
            page(B, EARLY, first, "X-Served-By: b\r\n"),
            page(C, EARLY, near),
            page(D, EARLY, other),
            page(A, LATE, first),
        )
    )
    return path


def check(*arguments: object) -> int:
    sys.argv = ["neardup", "check", *map(str, arguments)]
    try:
        run()
    except SystemExit as leaving:
        return int(leaving.code or 0)
    return 0


def fast(path: Path) -> list[dict[str, str]]:
    """The records as fastwarc reads them, each with its digests verified."""
    found = []
    with path.open("rb") as stream:
        for each in ArchiveIterator(stream, parse_http=False):
            fields = {name.lower(): value for name, value in each.headers.items()}
            if "warc-block-digest" in fields:
                assert each.verify_block_digest()
            found.append(fields)
    return found


def other(path: Path) -> list[tuple[str, str | None, bytes]]:
    """Type, profile and content of the records as warcio reads them."""
    with path.open("rb") as stream:
        return [
            (
                each.rec_type,
                each.rec_headers.get_header("WARC-Profile"),
                each.content_stream().read(),
            )
            for each in OtherIterator(stream, check_digests="raise")
        ]


def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'crawl.db'}"


def test_duplicates_are_left_out_of_the_kept_pages(crawl: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.warc.gz"
    assert check(crawl, "--store", store(tmp_path), "--write-kept", kept) == 0
    records = fast(kept)
    assert [each["warc-target-uri"] for each in records] == [A, D]
    originals = {each["warc-record-id"] for each in fast(crawl)}
    assert {each["warc-record-id"] for each in records} < originals
    rows = tmp_path / "kept.jsonl"
    assert check(crawl, "--store", "memory://", "--write-kept", rows) == 0
    assert [json.loads(line)["url"] for line in rows.read_text().splitlines()] == [A, D]


@pytest.mark.parametrize("suffix", ["warc", "warc.gz"])
def test_equal_payloads_become_revisits_and_near_ones_stay(
    crawl: Path, tmp_path: Path, suffix: str
) -> None:
    kept = tmp_path / f"new.{suffix}"
    assert check(crawl, "--store", store(tmp_path), "--write-kept", kept, "--revisit") == 0
    first, copy, near, different, again = fast(kept)
    assert [each["warc-type"] for each in (first, near, different)] == ["response"] * 3
    for revisit, url, date in ((copy, B, EARLY), (again, A, LATE)):
        assert revisit["warc-type"] == "revisit"
        assert revisit["warc-profile"] == IDENTICAL
        assert (revisit["warc-target-uri"], revisit["warc-date"]) == (url, date)
        assert revisit["warc-refers-to"] == first["warc-record-id"]
        assert revisit["warc-refers-to-target-uri"] == A
        assert revisit["warc-refers-to-date"] == EARLY
        assert revisit["warc-payload-digest"].startswith("sha1:")
        assert revisit["warc-truncated"] == "length"
    assert copy["warc-payload-digest"] == again["warc-payload-digest"]
    written = other(kept)
    assert [(kind, profile) for kind, profile, _ in written] == [
        ("response", None),
        ("revisit", IDENTICAL),
        ("response", None),
        ("response", None),
        ("revisit", IDENTICAL),
    ]
    assert written[1][2] == b""  # the HTTP head is kept, the payload is elsewhere
    raw = kept.read_bytes()
    if suffix == "warc.gz":
        raw = gzip.decompress(raw)
    assert b"X-Served-By: b\r\n\r\n\r\n\r\nWARC" in raw
    assert raw.count(b"WARC/1.1\r\n") == 2


def test_what_was_written_reads_as_what_was_read(crawl: Path, tmp_path: Path) -> None:
    kept = tmp_path / "new.warc.gz"
    assert check(crawl, "--store", store(tmp_path), "--write-kept", kept, "--revisit") == 0

    def pages(path: Path) -> set[tuple[str, bytes, str]]:
        return {
            (each.url, each.body, str(each.time))
            for each in read_records([str(path)])
            if isinstance(each, RawPage)
        }

    assert pages(kept) == pages(crawl)


def test_near_duplicates_are_revisits_of_our_own_kind_when_asked(
    crawl: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "new.warc.gz"
    assert check(crawl, "--store", store(tmp_path), "--write-kept", kept, "--revisit-near") == 0
    records = fast(kept)
    assert [each.get("warc-profile") for each in records] == [
        None,
        IDENTICAL,
        NEAR,
        None,
        IDENTICAL,
    ]
    near = records[2]
    assert near["warc-refers-to"] == records[0]["warc-record-id"]
    assert near["warc-neardup-relation"] == "near"
    assert 0.5 < float(near["warc-neardup-similarity"]) < 1
    assert near["warc-payload-digest"] != records[1]["warc-payload-digest"]
    # nobody may take the content of the other page for its own
    read = list(read_records([str(kept)]))
    [skipped] = [each for each in read if isinstance(each, Skip)]
    assert (skipped.reason, skipped.id) == ("unresolved-revisit", C)
    with kept.open("rb") as stream:
        types = [each.record_type for each in ArchiveIterator(stream, parse_http=False)]
    assert types.count(WarcRecordType.revisit) == 3


def test_the_next_crawl_refers_to_the_last_one(crawl: Path, tmp_path: Path) -> None:
    place, first = store(tmp_path), tmp_path / "first.warc.gz"
    assert check(crawl, "--store", place, "--write-kept", first, "--revisit") == 0
    later = tmp_path / "later.warc.gz"
    changed = long_html("harbour").replace("<body", "<body data-visit='2'")
    later.write_bytes(packed(page(D, LAST, long_html("railway")), page(A, LAST, changed)))
    second = tmp_path / "second.warc.gz"
    assert check(later, "--store", place, "--write-kept", second, "--revisit") == 0
    revisit, whole = fast(second)
    assert (revisit["warc-type"], revisit["warc-refers-to-date"]) == ("revisit", EARLY)
    assert revisit["warc-refers-to"] in {each["warc-record-id"] for each in fast(first)}
    assert whole["warc-type"] == "response"  # the text is the same, the payload is not


def test_after_a_file_that_was_not_finished_records_are_whole(
    crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything is in the store already, but nothing may refer to a file that never was."""
    place, kept = store(tmp_path), tmp_path / "new.warc.gz"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
        assert check(crawl, "--store", place, "--write-kept", kept, "--revisit") == 1
    assert not kept.exists()
    assert check(crawl, "--store", place, "--write-kept", kept, "--revisit") == 0
    kinds = [each["warc-type"] for each in fast(kept)]
    assert kinds == ["response", "revisit", "response", "response", "revisit"]


def test_pages_of_other_forms_become_records_too(tmp_path: Path) -> None:
    text = long_html("harbour")
    rows = [{"id": "a", "url": A, "html": text}, {"id": "b", "url": B, "html": text}]
    file, kept = write_jsonl(tmp_path / "pages.jsonl", rows), tmp_path / "new.warc"
    assert check(file, "--store", "memory://", "--write-kept", kept, "--revisit") == 0
    whole, revisit = fast(kept)
    assert (whole["warc-type"], revisit["warc-type"]) == ("resource", "revisit")
    assert revisit["content-length"] == "0"
    assert other(kept)[1][:2] == ("revisit", IDENTICAL)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--revisit",), "--write-kept"),
        (("--write-kept", "new.jsonl", "--revisit"), "WARC"),
        (("--write-kept", "new.warc", "--dry-run"), "--dry-run"),
    ],
)
def test_what_cannot_be_done_is_said(
    crawl: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert check(crawl, "--store", store(tmp_path), *options) == 2
    assert words in capsys.readouterr().err


def test_files_are_not_replaced(crawl: Path, tmp_path: Path) -> None:
    place, kept = store(tmp_path), tmp_path / "new.warc.gz"
    assert check(crawl, "--store", place, "--write-kept", crawl, "--force") == 1
    kept.write_bytes(b"precious")
    assert check(crawl, "--store", place, "--write-kept", kept) == 1
    assert kept.read_bytes() == b"precious"
    assert check(crawl, "--store", place, "--write-kept", kept, "--force") == 0
    assert kept.read_bytes()[:2] == b"\x1f\x8b"
