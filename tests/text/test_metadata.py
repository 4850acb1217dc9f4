"""What pages say about themselves."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.kernels import scan_meta
from neardup.kernels.scan import Scanner
from neardup.text import metadata

URL = "http://news.example/a/1"


def noted(page: str) -> tuple[bytes, metadata.Places]:
    data = page.encode()
    scanner = Scanner(1, len(data))
    scanner.scan(np.frombuffer(data, np.uint8), html=True)
    places: metadata.Places = scanner.result().places[0].tolist()
    return data, places


def title(page: str) -> str:
    return metadata.stated(*noted(page), scan_meta.TITLE)


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<title> A &amp;\n B\u3000C </title>", "A & B C"),
        ("<title></title><body><title>second</title>", "second"),
        ("<title>first</title><title>second</title>", "first"),
        ("<svg><title>icon</title></svg><title>page</title>", "page"),
        ("<TITLE>a<b>c</TITLE>", "a<b>c"),
        ("<title>never ends", "never ends"),
        ("<title>nul\x00 and bell\x07</title>", "nul and bell"),
        ("<!-- <title>no</title> --><script>'<title>no</title>'</script>", ""),
    ],
)
def test_title(page: str, expected: str) -> None:
    assert title(page) == expected


def test_a_title_that_never_ends_is_cut() -> None:
    assert len(title("<title>" + "字" * 100_000)) == metadata.LONGEST // 3


@pytest.mark.parametrize(
    ("page", "canonical"),
    [
        ("", "http://news.example/a/1"),
        ("<link rel=canonical href='/a/one'>", "http://news.example/a/one"),
        ('<LINK HREF="https://www.news.example/a/one?utm_source=x" REL="Canonical">', None),
        ("<base href='http://news.example/b/'><link rel=canonical href=one>", None),
        ("<link rel=canonical href='http://other.example/a/1'>", "http://news.example/a/1"),
        (
            "<link rel=stylesheet href=/x.css><link rel=canonical href=''>",
            "http://news.example/a/1",
        ),
        ("<!-- <link rel=canonical href=/no> -->", "http://news.example/a/1"),
        ("<link rel=canonical href='http://[bad'>", "http://news.example/a/1"),
    ],
)
def test_canonical_url(page: str, canonical: str | None) -> None:
    url, found = metadata.address(*noted(page), URL)
    assert url == URL
    if canonical is None:
        assert found.startswith("http://news.example/")
        assert found.endswith("/one")
    else:
        assert found == canonical


@pytest.mark.parametrize(
    ("page", "url"),
    [
        (
            "<link rel=canonical href='https://a.example/x?y=1&amp;z=2'>",
            "https://a.example/x?y=1&z=2",
        ),
        ("<meta property='og:url' content='http://a.example/x'>", "http://a.example/x"),
        ("<link rel=canonical href='/relative'>", ""),
        ("", ""),
    ],
)
def test_a_page_without_url_may_state_its_own(page: str, url: str) -> None:
    assert metadata.address(*noted(page), "")[0] == url


@pytest.mark.parametrize(
    ("page", "script", "expected"),
    [
        ("<html lang=en>", "Latn", "en"),
        ("<html xml:lang='zh-hant-tw'>", "Hani", "zh-Hant-TW"),
        ("<html lang='en'><meta http-equiv=Content-Language content='zh-cn, en'>", "Hani", "zh-CN"),
        ("<meta property=og:locale content=pt_BR>", "Latn", "pt-BR"),
        ("<html lang='{{ lang }}'>", "Latn", ""),
        ("<html lang=en>", "Hani", "zh"),
        ("<html lang=zh>", "Latn", "zh"),
        ("", "Kore", "ko"),
        ("", "", ""),
    ],
)
def test_language(page: str, script: str, expected: str) -> None:
    assert metadata.language(*noted(page), script) == expected


@pytest.mark.parametrize(
    "page",
    [
        '<meta property="article:published_time" content="2019-03-04T13:06:07+08:00">',
        "<meta content='2019-03-04 05:06:07' name=publishdate>",
        '<script type="application/ld+json">{"x":"y", "datePublished" : "2019-03-04T05:06:07Z"}',
        "<meta itemprop=datePublished content=20190304050607>",
        "<span itemprop='datePublished' content='2019-03-04T05:06:07'>today</span>",
        "<time itemprop=datePublished datetime='2019-03-04T05:06:07'>today</time>",
        "<time>no</time><time datetime='Mon, 04 Mar 2019 05:06:07 GMT'>today</time>",
        "<meta name='weibo: article:create_at' content='2019年3月4日 5时6分7秒'>",
        "<meta name=_pubtime content='2019/3/4 5:06:07'>",
        "<meta name=pubdate content=soon><meta name=dc.date content='2019-03-04T05:06:07.5Z'>",
        "<meta name=apub:time content='1551675967'>",
        "<meta name=publish_time content='1551675967000'>",
    ],
)
def test_publication_time(page: str) -> None:
    assert metadata.published(*noted(page)) == datetime(2019, 3, 4, 5, 6, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("2020-02-30", None),
        ("1989-12-31", None),
        ("2101-01-01", None),
        ("0001-01-01T00:00:00+23:00", None),
        ("2020-01-02", datetime(2020, 1, 2, tzinfo=UTC)),
        ("20200102", datetime(2020, 1, 2, tzinfo=UTC)),
        ("2 January 2020", datetime(2020, 1, 2, tzinfo=UTC)),
        ("Thu, January 2nd, 2020", datetime(2020, 1, 2, tzinfo=UTC)),
        ("yesterday", None),
        ("13/2020", None),
        ("２０２０-01-02", datetime(2020, 1, 2, tzinfo=UTC)),
        ("", None),
    ],
)
def test_reading_times(said: str, expected: datetime | None) -> None:
    assert metadata.read_time(said) == expected


@given(st.text(alphabet="0123456789-/:.TZ+年月日 GMTJanuary,", max_size=40))
def test_no_date_is_too_odd(said: str) -> None:
    time = metadata.read_time(said)
    assert time is None or (time.tzinfo is UTC and time.year in metadata.YEARS)
