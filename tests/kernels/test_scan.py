"""The scanner against html5lib's tree, on awkward cases and on tag soup."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernels.reference.scan import ReferenceBlock, part_named, scan_html, scan_lines, style_hides
from neardup.kernels.scan import Scan, Scanner


def scan(page: str, *, html: bool = True, alt_texts: bool = False) -> Scan:
    data = page.encode()
    scanner = Scanner(1, len(data))
    scanner.scan(np.frombuffer(data, np.uint8), html=html, alt_texts=alt_texts)
    return scanner.result()


def lines(page: str, *, html: bool = True, alt_texts: bool = False) -> list[str]:
    result = scan(page, html=html, alt_texts=alt_texts)
    found = bytes(result.text).decode().split("\n") if len(result.kinds) else []
    assert len(found) == len(result.kinds)
    return found


def blocks(page: str, *, html: bool = True) -> list[ReferenceBlock]:
    result = scan(page, html=html)
    shares = [round(float(share), 4) for share in result.link_shares]
    columns = zip(
        lines(page, html=html), result.kinds.tolist(), result.regions.tolist(), shares, strict=True
    )
    return [ReferenceBlock(*block) for block in columns]


def rounded(reference: list[ReferenceBlock]) -> list[ReferenceBlock]:
    return [block._replace(link_share=round(block.link_share, 4)) for block in reference]


AWKWARD = [
    # unclosed tags and comments
    "<p>one<p>two<div>three",
    "a<!-- never closed <p>b",
    "a<!-->b<!--->c<!-- x --!>d<!-- - -- -->e<!----!>f<!---->g",
    "a<!-- x --! >b-->c",
    "<p>end of file in a tag <b class='x",
    "<p>end of file in a tag <b ",
    "<p>text</",
    "<p>text<",
    # bogus comments and declarations
    "a<!x>b<?php echo 1 ?>c</ d>e</>f<![CDATA[g]]>h<!doctype html>i<!>j",
    # attributes
    "<p title='a>b' data-x=\"c>d\" e=f>g</p>",
    "<p title=\"a'b\">c</p><p title='a\"b'>d</p>",
    "<p =x>a</p><p a=>b</p><p a = 'b'c='d'>e</p><p/a/b/>f</p>",
    '<p title=a"b>c</p>"d>',
    "<a href=x/>text</a>",
    # `<` in text
    "1 < 2 and 3 <4 and a<b and 5<> <- <= end",
    # references
    "a&amp;b&ampc&lt;d&gt e&copy;&copy f&notit;&notin;&not;g&nGt;h&fjlig;",
    "&#65;&#x42;&#X43&#68E&#0;&#128;&#x9f;&#55296;&#1114112;&#99999999999999;&#;&#x;&#xg;&;& &a",
    "&AElig&AEligx&unknown;&CounterClockwiseContourIntegral;&ThickSpace;x&zwnj;y",
    "x&nbsp;&nbsp;y&#32;&#10;z&ensp;w",
    # lists
    "<ul><li>a<li>b<ul><li>c<li>d</ul>e<li>f</ul>g",
    "<ol><li><p>a<li>b</ol><dl><dt>c<dd>d<dt>e<dd><p>f</dl>",
    "<li>a<li>b</li>c<div><li>d</div>",
    # tables
    "<table><tr><td>a<td>b<tr><th>c<td>d</table>e",
    "<table><caption>x</caption><thead><tr><th>a</thead><tbody><tr><td>b<tfoot><tr><td>c</table>",
    "<table><tr><td><table><tr><td>in</table>out<td>next</table>",
    "<div>a<td>b<tr>c</div>",
    "<table><tr><td><div>a</table>b</div>c",
    "<table><tr><td><p>a</td><td>b</p>c</td></tr></table>",
    # line breaks and rules
    "a<br>b<br/>c</br>d<hr>e<wbr>f",
    "a</p>b</div>c</span>d",
    # preformatted
    "<pre>\nline one\n  line  two\r\nthree<b>\nfour</b></pre>five\nsix",
    "<xmp><b>&amp;</xmp>a<listing>b\nc</listing><plaintext><p>d",
    # raw text
    "<script>if (a<b) '</p>'</script>a<style>p{}</style>b<script src=x></script >c",
    "<script><!-- document.write('<script>x</script>') --></script>after",
    "<script><!-- </script>after",
    "<script><!--<script></script>still script</script>after",
    "<script><!--></script>after",
    "<textarea><p>not</p></textarea>a<title>&lt;t</title>b<iframe><p>x</iframe>c",
    "<noscript><p>x</p></noscript>a<noframes>y</noframes>b<noembed>z</noembed>c",
    "<style>never closed <p>a",
    "<textarea>x</textareax></textarea >a",
    # hidden
    "<div hidden>a<p>b</div>c<p style='color:red;DISPLAY : none '>d</p>e",
    "<span style='visibility:hidden;'>a</span>b<p style='display:none !important'>c</p>d",
    "<p style='xdisplay:none'>a</p><p style='display:nonesuch'>b</p><p data-hidden>c",
    "<body style='display:none'><p>shown by a script",
    "<div style='display:none'><p>all there is</p></div>",
    "<span hidden>a<div>b</span>c</div>d",
    "<p style='visibility:collapse'>a</p><p style=opacity:0>b</p><p style='opacity:0.5'>c</p>d",
    "<p style='opacity:0;transform:none'>a</p><p style='opacity:.0 !important'>b</p>c",
    "<p aria-hidden=true>read all the same</p>",
    "<p>a banner</p><p style=opacity:0>the page, which fades in when its scripts have run</p>",
    "<p>a banner and more</p><p style=opacity:0>filler, not much of it</p>",
    "<p style=opacity:0>all there is</p>",
    # svg and math
    "a<svg><title>t</title><path d='x'/><text>u</text></svg>b<math><mi>x</mi></math>c",
    "a<svg><![CDATA[ <p>x</p> ]]></svg>b<svg/>c",
    "a<svg><p>broken out</svg>b",
    "a<svg><foreignObject><p>x</p></foreignObject></svg>b",
    "<div>a<svg><g>b</div>c",
    # links
    "<a href=x>one</a> two<p><a>three <b>four</a> five</b>",
    "<a>one<p>two</a>three<a>four<a>five</a>six",
    "<div><a>one</div>two<div>three</a>four",
    "<a>x<table><tr><td>y</a>z</td></tr></table>w</a>v",
    # headings, forms, quotes
    "<h1>a<h2>b</h1>c</h3>d",
    "<form>a<div>b</form>c</div>d<form>e",
    "<label>a</label><button>b<button>c</button>d<fieldset><legend>e</legend>f",
    "<p>a<button><p>b</p></button>c</p>",
    "<blockquote>a<p>b</p><ul><li>c</ul></blockquote><figure><figcaption>d",
    "a<select><option>b<option>c</select>d",
    # regions
    "<header>a</header><main>b<header>c</header><nav>d</nav></main><footer>e</footer>",
    "<div role=navigation>a</div>b<span role='Main'>c</span>d<aside>e<article>f",
    # white space
    "  a \n\t b\u00a0\u2002c\u3000d  ",
    "第一段。\u3000\u3000第二段。\u3000&emsp;第三段。&#12288;&#12288;第四段\u3000五",
    "\u3000\u3000只有一段\u3000\u3000",
    "a\u0000b\u0007c\u007fd\u0085e\u200bf\ufeffg\u2028h",
    # invisible characters: dropped, but for joiners where they shape what they follow
    "in\u00advi\u200bsi\u2060ble\u200e \u202etext\u202c",
    "&shy;x&#x200B;y&zwj;z&zwnj;\U000e0041\U000e0101",
    "a\u200db\ufe0f 中\u200d文\ufe00 ế\u200dx \u200d x\u180e\u3164\uffa0y",
    "می\u200cخواهم क्\u200dष ❤\ufe0f\u200d🔥 👩\u200d👩\u200d👧 —\u200d’\ufe0f",
    "",
    " ",
    "<",
    "&",
]


STYLES = [
    "font-size:0px",
    "font-size:0.6em",
    "font-size:10px",
    "text-indent:-9999px",
    "text-indent:-60em",
    "text-indent:2em",
    "position:absolute;left:-999px",
    "left:-999px",
    "top:-9999px",
    "margin-left:-99999px",
    "margin-left:-1200px",
    "clip:rect(0,0,0,0)",
    "clip: rect(1px, 1px",
    "clip:auto",
    "color:#fff;background:#FFFFFF",
    "color:white;background-color:rgb(255,255, 255)",
    "color:#fff;background:#000",
    "color:#fff",
    "color:red;background:red",
    "color:#fff;background:#fff url(x.png)",
    "color:#ffg;background:#ffg",
]


@pytest.mark.parametrize("style", STYLES)
def test_styles_that_hide_and_others(style: str) -> None:
    page = f"<!doctype html><p>a</p><p style='{style}'>b</p>c"
    assert blocks(page) == rounded(scan_html(page))


@pytest.mark.parametrize("page", AWKWARD)
def test_awkward_cases_agree_with_html5lib(page: str) -> None:
    page = f"<!doctype html>{page}"  # without it a table does not end a paragraph
    assert blocks(page) == rounded(scan_html(page))


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<template><p>x</p></template>a", ["a"]),
        ("<noscript><div></noscript>a<noscript></div></noscript>b", ["ab"]),
        ("a<dialog>b</dialog>c<dialog open>d</dialog>", ["a", "c", "d"]),
        ("<video>no video<track></video>a<canvas>b</canvas>", ["a"]),
        ("<table>stray<tr><td>a</table>", ["stray", "a"]),
        ("<script><!--<script></script>-->\n</script>after", ["after"]),
        ("<object>a<param></object>b", ["b"]),
    ],
)
def test_where_the_scanner_goes_its_own_way(page: str, expected: list[str]) -> None:
    assert lines(page) == expected


def test_alt_texts_are_words_of_their_own_when_asked_for() -> None:
    page = "<p>see<img alt='a &lt;big> cat' src=x>here<img alt=''><img alt=dog hidden>"
    assert lines(page) == ["seehere"]
    assert lines(page, alt_texts=True) == ["see a <big> cat here"]


def test_counts_leave_out_what_is_hidden() -> None:
    page = "<a>x</a><img><table></table><div hidden><a>y</a><img></div><noscript><img></noscript>"
    assert scan(page).counts.tolist() == [[1, 1, 1]]


@pytest.mark.parametrize("tag", ["div", "b", "table", "a", "p", "ul", "li", "svg", "x-y", "select"])
def test_a_hundred_thousand_tags(tag: str) -> None:
    many = 100_000
    opened, closed = f"<{tag}>" * many, f"</{tag}>" * many
    assert lines(f"{closed}<p>a")[-1] == "a"
    assert lines(f"{opened}{closed}<p>a")[-1] == "a"
    assert lines(f"<p>a</p>{opened}")[0] == "a"


def test_pages_follow_one_another_in_a_batch() -> None:
    pages = ["<p>one<p>two", "", "<a>three", "&nGt;" * 50]
    data = [np.frombuffer(page.encode(), np.uint8) for page in pages]
    scanner = Scanner(len(data), sum(map(len, data)))
    for page in data:
        scanner.scan(page, html=True)
    result = scanner.result()
    assert bytes(result.text).decode() == "one\ntwothree" + "≫⃒" * 50
    assert result.text_ends.tolist() == [0, 7, 7, 12, 312]
    assert result.block_ends.tolist() == [0, 2, 2, 3, 4]


def one_of(pieces: str) -> st.SearchStrategy[str]:
    """One of the pieces between newlines; ␣ is a space, ␤ a newline."""
    return st.sampled_from([each.replace("␣", " ").replace("␤", "\n") for each in pieces.split()])


WORDS = one_of(
    "word two␣words ␣ ␤ 中文。 &shy; ❤ &zwj; &#12288; &emsp; é "
    "1␣<␣2 &amp; &lt &nbsp; &copy &#x26; & 🙂 “q”"
) | st.sampled_from(["\u3000\u3000", "\u00a0", "\u200b", "\x00", "\x07", "\u200d", "\ufe0f"])
# Without main: html5lib does not know yet that it bounds list items.
BLOCK_TAGS = one_of(
    "div p section h1 h3 ul ol li dl dt dd blockquote pre aside nav header article footer"
)
TAGS = BLOCK_TAGS | one_of("span b i em a font code label button form center fieldset")
ATTRIBUTES = st.just("") | one_of(
    "␣class='a>b' ␣title='<p>' ␣x=1/ ␣data-y / "
    """␣class="a>b" ␣x="1"y="2"/ ␣x="1"="2" ␣="1" ␣x␣=␣"'" ␣x="'=␣/"␣/ ␣x=1"2" """
    f'␣x="{"12>␣" * 16}" ␣x{"y" * 64}="1"'
)
OF_BLOCKS = one_of(
    "␣hidden ␣style=display:none ␣style='a:b;␣visibility:␣hidden;' ␣role=navigation ␣role=dialog "
    "␣id=comments ␣class='x␣wpd-Comment-text' ␣class=no-comments ␣class=cookieBanner "
    '␣itemprop=comment ␣style="display:␣none" ␣class="x␣wpd-Comment-text" ␣id="x"␣hidden '
    f'␣x="{"12␣" * 20}"␣role="main" ␣class="{"long-" * 20}comments" ␣hidden␣x="{"12␣" * 30}"'
)
PROPERTIES = one_of(
    "display visibility opacity font-size text-indent left top right margin-left margin-top "
    "position color background background-color clip transform width margin-right Color"
)
VALUES = one_of(
    "none hidden collapse 0 0.0 .5 1 0px -999px -9999px -4000px -60em -1e3 +5 absolute fixed "
    "relative #fff #ffffff white #000 black rgb(0,0,0) rgb(255␣255␣255) rgb(300,0,0) rgba(0,0,0,0) "
    "rect(0␣0␣0␣0) rect(1px,1px) red ␣ 0␣!important -␣9999px"
)
WHOLE_PIECES = one_of(
    """
    <br> <hr/> <img␣alt=x> <!--␣c␣--> <!--> <!x> <?y> </> </body> </html>
    <script>if␣(a<b)␣{}</script> <style>p␣>␣a␣{}</style> <noscript>n</noscript> <title>t</title>
    <textarea><p></textarea> <select><option>o<option>p</select>
    <svg><path/><text>s</text></svg> <svg><g> </svg>
    <table><tr><td> <table><tbody><tr><th> <tr><td> <td> </td><td> </table> </td></tr></table>
    """
)


@st.composite
def tag_soup(draw: st.DrawFn) -> str:
    starts = st.builds("<{}{}>".format, TAGS, ATTRIBUTES)
    ends = st.builds("</{}>".format, TAGS)
    # Not on inline elements: HTML may move a block out of one after the fact, and brings formatting
    # elements back after the block they began in. The scanner does neither (0002-scanner.md).
    marked = st.builds("<{}{}>".format, BLOCK_TAGS, OF_BLOCKS)
    pieces = st.one_of(WORDS, WORDS, starts, starts, ends, ends, WHOLE_PIECES, marked)
    return "".join(draw(st.lists(pieces, max_size=40)))


@settings(max_examples=400, deadline=None)
@given(tag_soup(), st.sampled_from(["", "<p>" + 20 * "text "]))
def test_tag_soup_agrees_with_html5lib(page: str, more: str) -> None:
    # Blocks of 64 bytes are read where there are as many before the end. Without a doctype a table
    # does not end a paragraph.
    page = f"<!doctype html>{page}{more}"
    assert blocks(page) == rounded(scan_html(page))


NAME_PARTS = one_of(
    "comment Comments COMMENTS popup Modal cookie Cookies law Notice open has - _ ␣ x 9 é"
)


@settings(max_examples=400, deadline=None)
@given(st.lists(NAME_PARTS, max_size=8).map("".join))
@example("comments-open comment")
@example("CybotCookieConsent x-Cookie-LAW")
def test_names_of_parts_agree_with_the_reference(names: str) -> None:
    ((_, _, region, _),) = blocks(f'<div class="{names}">a</div>')
    assert region == part_named(names)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.builds("{}:{}".format, PROPERTIES, VALUES), max_size=5), one_of("; ␣;␣ ;; ;:"))
def test_styles_agree_with_the_reference(declarations: list[str], between: str) -> None:
    style = between.join(declarations)
    assert lines(f'<p>a</p><p style="{style}">b') == (["a"] if style_hides(style) else ["a", "b"])


@given(st.lists(WORDS, max_size=30).map("".join))
@example("a\r\nb\u3000\u3000c\n\n<d>&amp;")
def test_plain_text_is_lines(text: str) -> None:
    assert blocks(text, html=False) == rounded(scan_lines(text))


PIECES = one_of(
    """
    < > </ <!-- --> <! <![CDATA[ & &# &nGt; &nLt; <a␣ <svg> <table> <td> <pre> ␤ ' " = / <script
    </script <p> </p> <li> <br> </span> ␣hidden style= display:none <xmp> <meta␣ content= <title>
    <link␣rel=canonical␣href= <script␣type="application/ld+json"> "datePublished":" x 漢
    """
) | st.sampled_from(["\u3000\u3000", "\u00a0"])
RAW = st.lists(PIECES, max_size=60).map("".join) | st.binary(max_size=200).map(
    lambda raw: raw.decode("utf-8", "replace")
)


@settings(max_examples=400, deadline=None)
@given(st.lists(RAW, min_size=1, max_size=4), st.booleans(), st.booleans())
def test_any_bytes_stay_within_bounds_and_give_utf8(
    texts: list[str], html: bool, alt_texts: bool
) -> None:
    pages = [text.encode() for text in texts]
    scanner = Scanner(len(pages), sum(map(len, pages)))
    guard = 64
    text, marks = (
        np.zeros(len(scanner.text) + guard, np.uint8),
        np.zeros(len(scanner.marks) + guard, np.uint32),
    )
    text[-guard:], marks[-guard:] = 0xAA, 0xAAAAAAAA
    scanner.text, scanner.marks = text[:-guard], marks[:-guard]
    for page in pages:
        scanner.scan(np.frombuffer(page, np.uint8), html=html, alt_texts=alt_texts)
    assert (text[-guard:] == 0xAA).all()
    assert (marks[-guard:] == 0xAAAAAAAA).all()
    scanner.text = scanner.text.copy()  # of its own, as the result is
    result = scanner.result()
    for start, end in zip(result.text_ends, result.text_ends[1:], strict=False):
        bytes(result.text[start:end]).decode("utf-8")
    sizes = np.array([len(page) for page in pages])
    assert (result.places >= 0).all()
    assert (result.places <= sizes[:, None, None]).all()
    assert (result.link_shares <= 1).all()
