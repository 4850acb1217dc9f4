"""Columns of statements, addresses, times and charsets are what is said of each page alone."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neardup.kernels.page_bytes import UNKNOWN, odd_charsets, plain_times
from neardup.model import RawPage, Source
from neardup.pages import urls
from neardup.pages.fields import parse_time
from neardup.pages.raw import raw_batch
from neardup.text import metadata
from neardup.text.charset import HEAD, bodies_to_utf8, to_utf8
from neardup.text.metadata import canonical_urls, main_scripts
from neardup.text.parse import parse, parse_pages

some_bytes = st.binary(max_size=80) | st.text(max_size=40).map(lambda text: text.encode())
bodies = some_bytes | st.sampled_from(
    [b"\xef\xbb\xbfx", b"\xff\xfex\0", b"x\0y\0z\0", "茶é".encode("gbk"), b"\x1b$B0!\x1b(B", b""]
)


@given(st.lists(bodies, max_size=6))
def test_bodies_to_utf8(pages: list[bytes]) -> None:
    data = np.frombuffer(b"".join([b"before", *pages, b"after"]), np.uint8)
    ends = np.cumsum([len(b"before"), *map(len, pages)])
    made = bodies_to_utf8(data, ends, lambda row: "gbk")
    found = [(made.page(row).tobytes(), made.charsets[row]) for row in range(len(pages))]
    assert found == [to_utf8(page, "gbk") for page in pages]


@given(bodies | st.lists(st.sampled_from([b"\xe4\xb8\xad", b"a", b"\xed\xa0\x80"])).map(b"".join))
def test_pages_that_are_not_odd_stay_as_they_are(page: bytes) -> None:
    data = np.frombuffer(page, np.uint8)
    if not odd_charsets(data, np.array([0, len(page)]), HEAD)[0]:
        assert to_utf8(page) == (page, "UTF-8")


parts = st.sampled_from(
    [
        *"aZ09/?#&=.:;%-_~@!é茶 ",
        *("www.", "index.html", "Default.asp", "..", "//", "utm_x=1", "sid=", "id=4", "?"),
        *("http://", "https://", "HTTP://", "a.example", ":80", ":8080", "jsessionid"),
        "from=message",
    ]
)
addresses = st.lists(parts, max_size=9).map("".join)
web = st.builds("http://{}/{}".format, st.sampled_from(["a.example", "www.b.example"]), addresses)


@given(st.lists(addresses | web, max_size=8))
@example(
    ["", "http://www.example", "http://www.www.a.b/", "https://a.b", "http://a.b//", "http://a.b?x"]
)
@example(
    ["http://a.b/?utm_=1", "http://a.b/c?pk_id", "http://a.b/c?s=4", "http://a.b/c/index.htm/"]
)
@example(
    ["http://.a.b/", "http://a.b./", "http://a/b/.", "http://a/b/../c", "http://a/b.c/d.e?f.g=?"]
)
def test_addresses(given_urls: list[str]) -> None:
    canonical, hosts = canonical_urls(pa.array(given_urls, pa.string()))
    assert canonical.to_pylist() == [urls.canonicalise(url) for url in given_urls]
    assert hosts.to_pylist() == [urls.host(url) for url in given_urls]


digits = st.text(st.sampled_from("0123456789-:T Z+."), max_size=26)


@given(st.datetimes(), st.sampled_from(["", "Z", "+08:00", "-23:59", "+24:00"]), digits)
@example(datetime(2, 1, 1, tzinfo=UTC), "+23:00", "2023-02-29")
@example(datetime(2000, 2, 29, tzinfo=UTC), "", "1900-02-29")
def test_times(time: datetime, zone: str, text: str) -> None:
    written = time.replace(microsecond=0, tzinfo=None)
    said = [
        f"{written.isoformat()}{zone}",
        f"{written:%Y-%m-%d %H:%M:%S}",
        f"{written:%Y-%m-%d}",
        text,
    ]
    data = np.frombuffer("".join(said).encode(), np.uint8)
    for each, found in zip(said, plain_times(data, np.cumsum([0, *map(len, said)])), strict=True):
        if found != UNKNOWN:
            expected = parse_time(each)
            assert expected is not None
            assert pa.scalar(expected, pa.timestamp("us", tz="UTC")).value == found


@given(st.lists(st.lists(st.integers(0, 40), min_size=11, max_size=11), max_size=5))
def test_main_scripts(counts: list[list[int]]) -> None:
    rows = np.array(counts, np.int64).reshape(-1, len(metadata.CODES))
    assert main_scripts(rows).to_pylist() == [metadata.main_script(row) for row in counts]


titles = st.text(st.sampled_from("ab &;<\u00a0\u3000\u2003\x85\x7f\t茶é®ー。"), max_size=8)
heads = st.sampled_from(
    [
        '<link rel=canonical href="/x">',
        '<link rel=canonical href="http://a.example/p">',
        '<link rel=canonical href="http://www.a.example/p?utm_id=2">',
        '<link rel=canonical href="http://other.example/">',
        '<meta property="og:url" content="https://a.example/og">',
        '<meta name=date content="2024-01-02T03:04:05Z">',
        '<meta property="article:published_time" content="1 March 2021">',
        '<meta property="article:published_time" content="1066-10-14">',
        "<html lang=zh-cn>",
        '<meta property="og:locale" content="de_AT">',
        '<meta http-equiv="content-language" content="??">',
    ]
)
known = st.sampled_from(["", "http://a.example/p", "http://a.example/p?b=2&a=1"])
pages = st.tuples(titles, st.lists(heads, max_size=4), known, st.sampled_from(["", "known &amp;"]))


@given(st.lists(pages, min_size=1, max_size=5))
def test_a_batch_says_what_its_pages_say_alone(
    given_pages: list[tuple[str, list[str], str, str]],
) -> None:
    raws = [
        RawPage(
            str(n),
            f"<title>{title}</title>{''.join(head)}<p>Text 茶.".encode(),
            True,
            Source("s"),
            url,
            title=own,
        )
        for n, (title, head, url, own) in enumerate(given_pages)
    ]
    whole = parse(raw_batch(raws))
    assert whole.to_pylist() == [parse(raw_batch([raw])).to_pylist()[0] for raw in raws]
    assert whole.to_pylist() == [parse_pages([raw]).to_pylist()[0] for raw in raws]
    for raw, row in zip(raws, whole.to_pylist(), strict=True):
        places = _places(raw.body)
        assert row["title"] == (raw.title or metadata.stated(raw.body, places, 0))
        assert (row["url"], row["canonical_url"]) == metadata.address(raw.body, places, raw.url)
        assert row["host"] == urls.host(row["url"])
        assert row["time"] == metadata.published(raw.body, places)
        assert row["language"] == metadata.language(raw.body, places, row["script"])


def _places(body: bytes) -> metadata.Places:
    from neardup.kernels.scan import Scanner

    scanner = Scanner(1, len(body))
    scanner.scan(np.frombuffer(body, np.uint8), html=True)
    places: metadata.Places = scanner.result().places[0].tolist()
    return places


@pytest.mark.parametrize(
    "columns", [["text"], ["id", "language"], ["host", "digest"], ["sentences"]]
)
def test_only_what_is_asked_for(columns: list[str]) -> None:
    raw = raw_batch([RawPage("a", b"<html lang=en><p>One. Two.", True, Source("s"), "http://a.b/")])
    some = parse(raw, columns=columns)
    assert {*some.schema.names} == {*columns}
    assert some.equals(parse(raw).select(some.schema.names))
