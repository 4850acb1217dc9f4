"""From raw pages to records."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup.model import Block, BlockKind, Page, RawPage, Region, Source
from neardup.pages.raw import raw_batch
from neardup.schemas import PAGES
from neardup.text.parse import pages_from, parse, parse_pages

MARKUP = """<!doctype html><html lang="en"><head><title>Ferries &amp; tides</title>
<link rel=canonical href="/ferry"><meta property="article:published_time" content="2021-05-06">
<style>p {}</style></head><body><nav><ul><li><a href="/">Home</a><li><a href="/x">News</a></ul>
</nav><article><h1>The ferry</h1><p>It runs <a href="/t">every</a> hour. It is late.<p>Second one.
<table><tr><td>Mon<td>Tue</table><img src=a.png><blockquote><p>Quoted.</p></blockquote></article>
<footer>© <a href=/>us</a></footer><script>var x = "<p>no</p>"</script></body></html>"""


def raw(body: str | bytes, *, is_html: bool = True, **fields: object) -> RawPage:
    data = body if isinstance(body, bytes) else body.encode()
    return RawPage("id", data, is_html, Source("pages.warc", 7), **fields)  # type: ignore[arg-type]


def page(body: str | bytes, **fields: object) -> Page:
    return pages_from(parse(raw_batch([raw(body, **fields)])))[0]  # type: ignore[arg-type]


def test_a_page_becomes_a_full_record() -> None:
    parsed = page(MARKUP, url="http://harbour.example/a?utm_source=x")
    nav, main = Region.NAV, Region.MAIN
    assert [(block.text, block.kind, block.region) for block in parsed.blocks] == [
        ("Home", BlockKind.ITEM, nav),
        ("News", BlockKind.ITEM, nav),
        ("The ferry", BlockKind.HEADING, main),
        ("It runs every hour. It is late.", BlockKind.PARAGRAPH, main),
        ("Second one.", BlockKind.PARAGRAPH, main),
        ("Mon", BlockKind.CELL, main),
        ("Tue", BlockKind.CELL, main),
        ("Quoted.", BlockKind.QUOTE, main),
        ("© us", BlockKind.TEXT, Region.FOOTER),
    ]
    assert [block.link_share for block in parsed.blocks] == pytest.approx(
        [1, 1, 0, 5 / 25, 0, 0, 0, 0, 2 / 3]
    )
    assert parsed.title == "Ferries & tides"
    assert parsed.url == "http://harbour.example/a?utm_source=x"
    assert parsed.canonical_url == "http://harbour.example/ferry"
    assert parsed.host == "harbour.example"
    assert parsed.time == datetime(2021, 5, 6, tzinfo=UTC)
    assert (parsed.language, parsed.script, parsed.charset) == ("en", "Latn", "UTF-8")
    assert (parsed.tables, parsed.images, parsed.anchors) == (1, 1, 4)
    assert parsed.size == len(MARKUP.encode())
    assert parsed.sentences >= len(parsed.blocks)


def test_batches_follow_the_schema_and_the_order() -> None:
    raws = [raw(MARKUP), raw(""), raw("line one\n\n  line <two>\n", is_html=False)]
    batch = parse(raw_batch(raws))
    assert batch.schema == PAGES
    batch.validate(full=True)
    assert batch.column("size").to_pylist() == [len(each.body) for each in raws]
    assert batch.column("digest").to_pylist() == [
        xxhash.xxh3_64_intdigest(each.body) for each in raws
    ]
    assert batch.column("text")[2].as_py() == "line one\nline <two>"
    assert batch.column("record").to_pylist() == [7, 7, 7]
    assert parse(raw_batch([])).schema == PAGES
    assert parse(raw_batch([])).num_rows == 0


def test_the_batch_does_not_matter() -> None:
    raws = [raw(MARKUP), raw("<p>一二三。四五六。"), raw("a\nb", is_html=False), raw(b"")]
    singly = pa.Table.from_batches([parse(raw_batch([each])) for each in raws])
    together = pa.Table.from_batches([parse(raw_batch(raws))])
    assert together.equals(singly.combine_chunks())
    assert together.equals(pa.Table.from_batches([parse_pages(raws)]))


def test_the_record_wins_over_the_page() -> None:
    time = datetime(2001, 2, 3, tzinfo=UTC)
    parsed = page(MARKUP, title="Given", time=time)
    assert (parsed.title, parsed.time) == ("Given", time)


def test_a_page_without_url_takes_the_one_it_states() -> None:
    parsed = page("<link rel=canonical href='https://www.a.example/x/?utm_source=y'>text")
    assert parsed.url == "https://www.a.example/x/?utm_source=y"
    assert parsed.host == "www.a.example"
    assert "utm_source" not in parsed.canonical_url


@pytest.mark.parametrize(
    "body",
    [
        "<div>第一段文字。<br>第二段文字。<br/>第三段文字。</div>",
        "<div>\u3000\u3000第一段文字。\u3000\u3000第二段文字。\n\u3000\u3000第三段文字。</div>",
        "<td>&emsp;&emsp;第一段文字。&#12288;&#12288;第二段文字。<p>第三段文字。",
    ],
)
@pytest.mark.parametrize("charset", ["utf-8", "gb18030"])
def test_chinese_paragraphs_are_kept_apart(body: str, charset: str) -> None:
    markup = f'<meta charset="{charset}"><title>新闻</title>{body}'
    parsed = page(markup.encode(charset))
    assert [block.text for block in parsed.blocks] == [
        "第一段文字。",
        "第二段文字。",
        "第三段文字。",
    ]
    assert (parsed.language, parsed.script, parsed.sentences) == ("zh", "Hani", 3)


def test_alt_texts_on_request() -> None:
    pages = [raw("<p>a<img alt='b c'>d")]
    assert parse(raw_batch(pages)).column("text").to_pylist() == ["ad"]
    assert parse(raw_batch(pages), alt_texts=True).column("text").to_pylist() == ["a b c d"]


ARTICLE = " ".join(rf"Sentence {number} of the article says \"so\"." for number in range(12))
LINKED = f'<script type="application/ld+json">{{"articleBody":"{ARTICLE}"}}</script>'
PLAIN = ARTICLE.replace("\\", "")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<p>Please enable JavaScript.</p>" + LINKED, PLAIN),
        (f"<p>{PLAIN}</p>" + LINKED, PLAIN),
        (f"<h1>Shown</h1><p>{PLAIN}</p>" + LINKED, f"Shown\n{PLAIN}"),
        ("<p>A list</p>" + LINKED + LINKED.replace("Sentence", "Other"), "A list"),
        ("<p>A teaser</p>" + LINKED.replace(ARTICLE, "Short."), "A teaser"),
        ("<p>Broken</p>" + LINKED.replace(ARTICLE, ARTICLE + "\\x"), "Broken"),
        ("<p>Markup</p>" + LINKED.replace(ARTICLE, f"<p>One.<p>{ARTICLE}"), f"One.\n{PLAIN}"),
    ],
)
def test_an_article_that_the_page_does_not_show_is_its_text(body: str, expected: str) -> None:
    others = [raw("<p>before"), raw(body), raw("<p>after")]
    texts = parse(raw_batch(others))["text"].to_pylist()
    assert texts == ["before", expected, "after"]


def test_words_of_mixed_scripts_are_written_in_one() -> None:
    parsed = page("<title>Тhe раge</title><p>Тhе соpу of Москва")
    assert (parsed.title, parsed.blocks[0].text) == ("The page", "The copy of Москва")


def test_objects_have_no_blocks_where_there_is_no_text() -> None:
    assert page("<p> </p>").blocks == ()
    assert page("x").blocks == (Block("x"),)


@pytest.mark.parametrize(
    ("url", "title"), [("http://a.example/\ud800", ""), ("", "\udfff"), ("http://[", "")]
)
def test_lone_surrogates_and_broken_urls_do_no_harm(url: str, title: str) -> None:
    parse(raw_batch([raw("<p>x", url=url, title=title)])).validate(full=True)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400), st.booleans())
def test_random_bytes_never_raise(body: bytes, is_html: bool) -> None:
    parse(raw_batch([raw(body, is_html=is_html)])).validate(full=True)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["utf-8", "gb18030", "utf-16", "big5"]))
def test_mutated_pages_never_raise(seed: int, charset: str) -> None:
    chance = random.Random(seed)
    body = bytearray((MARKUP + "第一段。").encode(charset, "replace"))
    for _ in range(chance.randrange(1, 12)):
        at = chance.randrange(len(body))
        body[at : at + chance.randrange(6)] = chance.randbytes(chance.randrange(6))
    parse(raw_batch([raw(bytes(body))])).validate(full=True)


REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "real-pages.warc.gz"


@pytest.mark.skipif(not REAL.exists(), reason="needs the real pages at ../shared/data")
def test_the_text_of_real_pages_is_that_of_resiliparse() -> None:
    from bench import documents, parsing

    pages = documents.read_pages(REAL)[::25]
    scores = sorted(parsing.agreement(pages))
    assert scores[len(scores) // 2] > 0.98


@settings(max_examples=60)
@given(
    st.lists(
        st.text(st.sampled_from("ab é。\n\t\r\0 <p>&amp;中\xa0") | st.characters()), max_size=8
    )
)
def test_texts_alone_are_parsed_as_texts_beside_a_page(texts: list[str]) -> None:
    """A batch without markup does not go through the scanner."""
    bodies = [text.encode("utf-8", "replace") for text in texts]
    alone = [raw(body, is_html=False) for body in bodies]
    beside = parse(raw_batch([*alone, raw(MARKUP)])).slice(0, len(texts))
    assert parse(raw_batch(alone)).to_pylist() == beside.to_pylist()
