"""The demo pages are what their truth says, and load nothing from the real web."""

from __future__ import annotations

import csv
import gzip
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import neardup.cli

DEMO = Path(neardup.cli.__file__).parent / "demo_pages"
PAGES = DEMO / "pages"

KINDS = {
    *("original", "mirror", "exact", "edited", "trimmed", "extended", "reflowed", "print"),
    *("session", "traditional", "excerpt", "partial", "short"),
}
COPIES = KINDS - {"original", "excerpt", "partial", "short"}

GBK = ["jiangchengwanbao.example/epaper/20240316/A05.html"]
GBK += ["jiangchengwanbao.example/epaper/20240319/A07.html"]
BIG5 = ["xiwanribao.example/20240420/gudao.html", "xiwanribao.example/20240422/yeshi.html"]
WITH_BOM = "yuntingzaixian.example/news/20240316/77960.html"
LYING = "lanchuanxinwen.example/xinwen/yinghuochong.htm"  # says gb2312, is UTF-8

# Addresses that a browser would fetch or follow, also those that leave out the scheme.
LINK = re.compile(r"""(?:src|href|action)\s*=\s*["']?((?:https?:)?//[^"'\s>]+)""", re.IGNORECASE)
CANONICAL = re.compile(r'rel="canonical" href="https://([^/"]+)/[^"]*"', re.IGNORECASE)
HAN = re.compile(r"[\u4e00-\u9fff]")


def read_truth() -> dict[str, tuple[str, str]]:
    with (DEMO / "truth.csv").open(encoding="utf-8", newline="") as file:
        return {row["id"]: (row["article"], row["kind"]) for row in csv.DictReader(file)}


TRUTH = read_truth()
NAMES = sorted(TRUTH)


def body(name: str) -> bytes:
    data = (PAGES / name).read_bytes()
    return gzip.decompress(data) if name.endswith(".gz") else data


def charset(name: str) -> str:
    if name in GBK:
        return "gbk"
    return "big5" if name in BIG5 else "utf-8"


def text(name: str) -> str:
    return body(name).decode(charset(name))


def decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def test_truth_lists_every_page_once() -> None:
    with (DEMO / "truth.csv").open(encoding="utf-8", newline="") as file:
        listed = [row["id"] for row in csv.DictReader(file)]
    found = [path.relative_to(PAGES).as_posix() for path in PAGES.rglob("*") if path.is_file()]
    assert sorted(listed) == sorted(found)


def test_every_kind_is_there_and_no_other() -> None:
    assert {kind for _, kind in TRUTH.values()} == KINDS


def test_every_copy_has_exactly_one_original() -> None:
    originals = [article for article, kind in TRUTH.values() if kind == "original"]
    assert len(originals) == len(set(originals))
    assert {article for article, kind in TRUTH.values() if kind in COPIES} <= set(originals)


def test_short_pages_are_articles_of_their_own() -> None:
    short = [article for article, kind in TRUTH.values() if kind == "short"]
    others = {article for article, kind in TRUTH.values() if kind != "short"}
    assert len(short) == len(set(short))
    assert others.isdisjoint(short)


def test_the_demo_stays_small() -> None:
    assert sum(path.stat().st_size for path in PAGES.rglob("*") if path.is_file()) < 600_000


def test_english_and_chinese_are_about_half_each() -> None:
    chinese = sum(len(HAN.findall(text(name))) > 50 for name in NAMES)
    assert 0.4 < chinese / len(NAMES) < 0.6


@pytest.mark.parametrize("name", GBK)
def test_gbk_pages_are_gbk_and_say_gb2312(name: str) -> None:
    data = body(name)
    assert b"charset=gb2312" in data
    assert "江城晚报" in data.decode("gbk")
    assert not decodes(data, "utf-8")
    assert not decodes(data, "big5")


def test_a_page_that_says_gb2312_needs_gbk() -> None:
    assert not all(decodes(body(name), "gb2312") for name in GBK)


@pytest.mark.parametrize("name", BIG5)
def test_big5_pages_are_big5(name: str) -> None:
    data = body(name)
    assert b"charset=big5" in data
    assert "汐灣日報" in data.decode("big5")
    assert not decodes(data, "utf-8")
    # Nearly all Big5 is also valid GBK, only as nonsense.
    assert "日報" not in data.decode("gbk", errors="replace")


@pytest.mark.parametrize("name", sorted(set(NAMES) - {*GBK, *BIG5}))
def test_all_other_pages_are_utf_8(name: str) -> None:
    assert decodes(body(name), "utf-8")


def test_one_page_has_a_byte_order_mark() -> None:
    assert [name for name in NAMES if body(name).startswith(b"\xef\xbb\xbf")] == [WITH_BOM]


def test_one_page_lies_about_its_charset() -> None:
    says_gb2312 = {name for name in NAMES if b"charset=gb2312" in body(name)}
    assert says_gb2312 - set(GBK) == {LYING}
    assert "萤火虫" in text(LYING)


def test_mirrors_are_the_same_bytes() -> None:
    mirrors = [name for name in NAMES if TRUTH[name][1] == "mirror"]
    assert len(mirrors) == 2
    for name in mirrors:
        original = name.split("/", 2)[2].removesuffix(".gz")
        assert TRUTH[original] == (TRUTH[name][0], "original")
        assert body(original) == body(name)


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_to_example_hosts_only(name: str) -> None:
    hosts = {urlsplit(link).hostname or "" for link in LINK.findall(text(name))}
    assert {host for host in hosts if not host.endswith(".example")} == set()


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith(".txt")])
def test_html_pages_state_their_address(name: str) -> None:
    folders = name.split("/")
    host = folders[2] if TRUTH[name][1] == "mirror" else folders[0]
    (stated,) = CANONICAL.findall(text(name))
    assert stated.removeprefix("www.") == host
