"""URLs: what is one address, what is one site, what a page may claim."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.pages.urls import believable_canonical, canonicalise, host, site


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTP://User:Pass@WWW.Example.COM.:80/a", "http://example.com/a"),
        ("https://example.com:443", "http://example.com/"),
        ("https://example.com:8443/", "http://example.com:8443/"),
        ("//example.com/a", "http://example.com/a"),
        ("  http://example.com/a \n", "http://example.com/a"),
        ("http://www.com/", "http://www.com/"),
        (
            "http://例子.中国/路?问=答",
            "http://xn--fsqu00a.xn--fiqs8s/%E8%B7%AF?%E9%97%AE=%E7%AD%94",
        ),
        ("http://EXAMPLE.com/A/B", "http://example.com/A/B"),
        ("http://example.com/a/./b/../c", "http://example.com/a/c"),
        ("http://example.com/a/%2e%2E/b", "http://example.com/b"),
        ("http://example.com/../../b", "http://example.com/b"),
        ("http://example.com/%7Euser/%e4%b8%ad/%2f", "http://example.com/~user/%E4%B8%AD/%2F"),
        ("http://example.com/100%/a b", "http://example.com/100%25/a%20b"),
        ("http://example.com\\a\\b", "http://example.com/a/b"),
        ("http://example.com/a#top", "http://example.com/a"),
        ("http://example.com/#!/a", "http://example.com/#!/a"),
        ("http://example.com/a/", "http://example.com/a"),
        ("http://example.com/a/index.html", "http://example.com/a"),
        ("http://example.com/Default.aspx", "http://example.com/"),
        ("http://example.com/index.php?id=3", "http://example.com/?id=3"),
        ("http://example.com/myindex.html", "http://example.com/myindex.html"),
        ("http://example.com/a?", "http://example.com/a"),
        ("http://example.com/a?b=2&a=1&&b=1", "http://example.com/a?a=1&b=1&b=2"),
        ("http://example.com/a?utm_source=x&UTM_Medium=y&id=1", "http://example.com/a?id=1"),
        ("http://example.com/a?gclid=1&fbclid=2&spm=3&mc_cid=4&yclid=5", "http://example.com/a"),
        ("http://example.com/a?from=singlemessage&x=1", "http://example.com/a?x=1"),
        ("http://example.com/a?from=paris", "http://example.com/a?from=paris"),
        ("http://example.com/a?PHPSESSID=abc", "http://example.com/a"),
        ("http://example.com/a?ASPSESSIONIDQQ=abc", "http://example.com/a"),
        ("http://example.com/a;jsessionid=1F?x=1", "http://example.com/a?x=1"),
        ("http://example.com/a?sid=0123456789abcdef0123", "http://example.com/a"),
        ("http://example.com/story.php?sid=42", "http://example.com/story.php?sid=42"),
        ("http://[2001:DB8::1]:80/a", "http://[2001:db8::1]/a"),
        ("urn:uuid:A", "urn:uuid:A"),
        ("mailto:A@b.example", "mailto:A@b.example"),
        ("not a url", "not a url"),
        ("", ""),
        ("http://", "http://"),
    ],
)
def test_canonical_form(url: str, expected: str) -> None:
    assert canonicalise(url) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://u@WWW.Example.com.:8080/a", "www.example.com"),
        ("http://例子.中国/", "xn--fsqu00a.xn--fiqs8s"),
        ("http://[::1]:80/", "[::1]"),
        ("//example.com", "example.com"),
        ("example.com/a", ""),
        ("urn:x", ""),
        ("", ""),
    ],
)
def test_host(url: str, expected: str) -> None:
    assert host(url) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("www.example.com", "example.com"),
        ("example.com", "example.com"),
        ("localhost", "localhost"),
        ("a.b.news.co.uk", "news.co.uk"),
        ("news.sina.com.cn", "sina.com.cn"),
        ("www.one.cn.example", "one.cn.example"),
        ("www.beijing.gov.cn", "beijing.gov.cn"),
        ("a.b.edu.cn", "b.edu.cn"),
        ("www.x.bj.cn", "x.bj.cn"),
        ("a.b.com.hk", "b.com.hk"),
        ("a.b.co.jp", "b.co.jp"),
        ("a.b.com.au", "b.com.au"),
        ("user.github.io", "user.github.io"),
        ("a.user.github.io", "user.github.io"),
        ("me.blogspot.com", "me.blogspot.com"),
        ("me.blogspot.de", "me.blogspot.de"),
        ("x.bucket.s3.amazonaws.com", "bucket.s3.amazonaws.com"),
        ("192.168.1.1", "192.168.1.1"),
        ("[::1]", "[::1]"),
        ("", ""),
    ],
)
def test_site(name: str, expected: str) -> None:
    assert site(name) == expected


@pytest.mark.parametrize(
    ("page", "declared", "base", "expected"),
    [
        ("http://x.example/a?p=1", "http://x.example/a", "", "http://x.example/a"),
        ("http://x.example/a/b", "../c", "", "http://x.example/c"),
        ("http://x.example/a/b", "c", "/base/", "http://x.example/base/c"),
        ("http://m.x.example/a", "https://www.x.example/a", "", "http://x.example/a"),
        ("http://x.example/a", "http://other.example/a", "", ""),
        ("http://a.github.io/p", "http://b.github.io/p", "", ""),
        ("http://x.example/a", "http://x.example/", "", ""),
        ("http://x.example/a", "http://x.example/index.html", "", ""),
        ("http://x.example/index.html", "http://x.example/", "", "http://x.example/"),
        ("http://x.example/?id=5", "http://x.example/", "", ""),
        ("http://x.example/a", "", "", ""),
        ("http://x.example/a", "javascript:void(0)", "", ""),
        ("http://x.example/a", "http://[bad/", "", ""),
        ("", "http://x.example/a", "", ""),
    ],
)
def test_what_a_page_may_declare(page: str, declared: str, base: str, expected: str) -> None:
    assert believable_canonical(page, declared, base) == expected


PARTS = r"""http:// https:// // www. example.com EXAMPLE 例 ./ ../ / // \ %2e %2F %zz % ; ;sid=1 ?
 & = # #! index.html utm_source=x sid=0123456789abcdef0 @ : :80 :443 [::1] [ ] ／ 。 . .. a b"""
URL_PARTS = st.sampled_from([*PARTS.split(), "\ud800", " "])
ANY_URL = st.one_of(
    st.text(), st.lists(URL_PARTS).map("".join), st.lists(URL_PARTS).map("http://x".join)
)


@given(ANY_URL)
def test_canonicalising_twice_changes_nothing(url: str) -> None:
    once = canonicalise(url)
    assert canonicalise(once) == once


@given(ANY_URL, ANY_URL, ANY_URL)
def test_nothing_raises(a: str, b: str, c: str) -> None:
    assert isinstance(site(host(a)), str)
    assert isinstance(believable_canonical(a, b, c), str)
