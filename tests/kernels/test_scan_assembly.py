"""Streamed pages and shadow roots, against a tree that is changed as a browser changes it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.reference.scan import scan_html
from kernels.test_scan import blocks, lines, rounded, scan
from neardup.kernels.scan_assembly import MAX_PIECES

GAP = '<!--$?--><template id="B:{0}"></template><p>Loading {0}</p><!--/$-->'
SEGMENT = '<div hidden id="S:{0}">{1}</div>'
COMPLETE = '<script>$RC("B:{0}","S:{0}")</script>'


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        pytest.param(
            "<main>a"
            + GAP.format(0)
            + "z</main>"
            + SEGMENT.format(0, "<p>b <b>c</b></p>")
            + COMPLETE.format(0),
            ["a", "b c", "z"],
            id="a segment takes the place of its fallback",
        ),
        pytest.param(
            '<p>Price: <!--$?--><template id="B:0"></template><i>…</i><!--/$--> only</p>'
            + SEGMENT.format(0, "<i>5 euros</i>")
            + COMPLETE.format(0),
            ["Price: 5 euros only"],
            id="in the middle of a line",
        ),
        pytest.param(
            GAP.format(0)
            + SEGMENT.format(0, "<p>a</p>" + GAP.format(1) + "<p>z</p>")
            + COMPLETE.format(0)
            + SEGMENT.format(1, "<p>inner</p>")
            + COMPLETE.format(1),
            ["a", "inner", "z"],
            id="a boundary in a segment",
        ),
        pytest.param(
            '<!--$?--><template id="B:0"></template><p>outer'
            + GAP.format(1)
            + "</p>rest<!--/$-->"
            + SEGMENT.format(1, "inner")
            + COMPLETE.format(1)
            + SEGMENT.format(0, "all")
            + COMPLETE.format(0),
            ["all"],
            id="a boundary in a fallback goes with it",
        ),
        pytest.param(
            '<div>a<template id="P:1"></template>z</div>'
            + SEGMENT.format(1, "b")
            + '<script>$RS("S:1","P:1")</script>',
            ["abz"],
            id="a gap in a segment",
        ),
        pytest.param(
            '<table><tbody><tr><td>1</td></tr><template id="P:1"></template></tbody></table>'
            '<table hidden><tbody id="S:1"><tr><td>2</td></tr></tbody></table>'
            '<table><tr><td>3</td><template id="P:2"></template></tr></table>'
            '<table hidden><tr id="S:2"><td>4</td></tr></table>'
            '<script>$RS("S:1","P:1");$RS("S:2","P:2")</script>',
            ["1", "2", "3", "4"],
            id="rows and cells",
        ),
        pytest.param(
            GAP.format(0) + SEGMENT.format(0, "a") + """<script>$RR('B:0' , 'S:0',[["x.css"]])""",
            ["a"],
            id="with style sheets, other quotes, an unclosed script",
        ),
        pytest.param(
            GAP.format(0) + SEGMENT.format(0, "a") + '<script>$RC("B:0","S:0","digest")</script>',
            ["Loading 0"],
            id="a segment that failed",
        ),
        pytest.param(
            GAP.format(0) + '<script>$RX("B:0","digest")</script>', ["Loading 0"], id="no segment"
        ),
        pytest.param(
            GAP.format(0) + SEGMENT.format(0, "never") + "<script>1</script>",
            ["Loading 0"],
            id="no call: hidden stays hidden",
        ),
        pytest.param(
            GAP.format(0) + "-" + GAP.format(1) + SEGMENT.format(1, "b") + SEGMENT.format(0, "a"),
            ["a-b"],
            id="stored without its scripts",
        ),
        pytest.param(
            '<template id="B:0"></template><p>f</p>' + SEGMENT.format(0, "<p>a</p>"),
            ["a", "f"],
            id="stored without its scripts and comments",
        ),
        pytest.param("<p>x</p>" + SEGMENT.format(0, "never"), ["x"], id="no boundary, no scripts"),
        pytest.param(
            "<p>x</p>" + SEGMENT.format(0, "never") + COMPLETE.format(0), ["x"], id="no boundary"
        ),
        pytest.param(
            GAP.format(0) + SEGMENT.format(0, "a" + GAP.format(0)) + COMPLETE.format(0) * 3,
            ["a", "Loading 0"],
            id="used once",
        ),
        pytest.param(
            SEGMENT.format(0, "a" + GAP.format(1))
            + SEGMENT.format(1, "b" + GAP.format(0))
            + COMPLETE.format(0)
            + COMPLETE.format(1)
            + "<p>x",
            ["x"],
            id="in a circle",
        ),
        pytest.param(
            '<!--$?--><template id="my-B:a"></template>f<!--/$--><div hidden id="my-S:a">t</div>'
            '<script>$RC("my-B:a","my-S:a")</script>',
            ["t"],
            id="ids with a prefix",
        ),
    ],
)
def test_streams(page: str, expected: list[str]) -> None:
    assert lines(page) == expected


CARD = '<x-card><template shadowrootmode="open">{}</template>{}</x-card>'


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (CARD.format("<p>shown</p>", "") + "after", ["shown", "after"]),
        (CARD.format("<p>shown</p>", "hidden"), ["shown"]),
        (CARD.format("a <slot>default</slot> z", "b<i>c</i>"), ["a bc z"]),
        (CARD.format("a <slot>default</slot> z", ""), ["a default z"]),
        (
            CARD.format(
                "<h2><slot name=t>none</slot></h2><slot></slot>",
                "x <b slot=t>T</b> y<u slot=u>U</u>",
            ),
            ["T", "x y"],
        ),
        (CARD.format("<slot></slot>|<slot></slot>", "once"), ["once|"]),
        (CARD.format(CARD.format("[<slot></slot>]", "<slot></slot>"), "through"), ["[through]"]),
        (CARD.format("<slot></slot>", CARD.format("in <slot></slot>", "light")), ["in light"]),
        ("<ul><template shadowrootmode=open>no host</template><li>a</ul>", ["a"]),
        ("<x-y><template shadowrootmode=other>no mode</template>a</x-y>", ["a"]),
        ("<p><template shadowrootmode=CLOSED>a</template>light<p>b", ["a", "b"]),
        (CARD.format("a", "<template shadowrootmode=open>second</template>"), ["a"]),
        ("<template><x-y><template shadowrootmode=open>inert</template></x-y></template>a", ["a"]),
        (
            GAP.format(0)
            + SEGMENT.format(0, CARD.format("<slot></slot>!", "a"))
            + COMPLETE.format(0),
            ["a!"],
        ),
    ],
)
def test_shadow_roots(page: str, expected: list[str]) -> None:
    assert lines(page) == expected


def test_what_a_page_states_is_read_where_it_stands() -> None:
    page = (
        GAP.format(0) + "<title>T</title>" + SEGMENT.format(0, "<time datetime=2020-01-02>d</time>")
    )
    places = scan(page + COMPLETE.format(0)).places[0]
    noted = {page[start:end] for start, end in places.tolist() if start < end}
    assert noted == {"T", "2020-01-02"}


@st.composite
def contents(draw: st.DrawFn, depth: int = 3) -> str:
    """Balanced markup with cards and slots in it, as a server writes it."""
    if depth == 0:
        return draw(
            st.sampled_from(["a ", "<b>c</b>", "<i slot=n>n</i>", "<slot>f</slot>", "x<br>"])
        )
    inner = contents(depth=depth - 1)
    several = st.lists(inner, min_size=1, max_size=3).map("".join)
    wrapped = st.builds(
        "<{0}>{1}</{0}>".format, st.sampled_from(["div", "section", "span"]), several
    )
    named = st.builds("<slot name=n>{}</slot>".format, inner)
    slotted = st.builds("<div slot=n>{}</div>".format, inner)
    cards = st.builds(CARD.format, several, several)
    drawn: str = draw(st.one_of(several, wrapped, wrapped, named, slotted, cards, cards))
    return drawn


@st.composite
def streams(draw: st.DrawFn) -> str:
    """A page in segments: each after the first has its gap in one before it."""
    count = draw(st.integers(1, 5))
    segments = [draw(contents()) for _ in range(count)]
    calls = [""] * count
    for number in range(1, count):
        host = draw(st.integers(0, number - 1))
        if draw(st.booleans()):
            gap, call = GAP.format(number), COMPLETE.format(number)
        else:
            gap = f'<template id="P:{number}"></template>'
            call = f'<script>$RS("S:{number}","P:{number}")</script>'
        segments[host] = draw(st.sampled_from([gap + segments[host], segments[host] + gap]))
        calls[number] = draw(st.sampled_from([call, call, call, ""]))
    later = [SEGMENT.format(number, segments[number]) + calls[number] for number in range(1, count)]
    return f"<!doctype html><main>{segments[0]}</main>{''.join(later)}"


@settings(max_examples=500, deadline=None)
@given(streams())
def test_streams_agree_with_the_tree(page: str) -> None:
    assert blocks(page) == rounded(scan_html(page))


PIECES = [
    GAP.format(0), GAP.format(1), '<template id="B:0">', '<template id="P:1">', "</template>",
    '<div hidden id="S:0">', '<div hidden id="S:1">', "</div>", COMPLETE.format(0),
    COMPLETE.format(1), '<script>$RS("S:1","P:1")</script>', '<script>$RC("B', "<!--/$-->",
    "<!--$-->", "<x-y>", "</x-y>", "<template shadowrootmode=open>", "<slot>", "<slot name=n>",
    "</slot>", "<p slot=n>", "<p>", "<table>", "<tr id=S:0>", "text", "<div>",
]  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_soup_of_pieces_stays_within_the_page(page: str) -> None:
    text = "\n".join(lines(page))
    assert text.count("text") <= page.count("text")
    assert text.count("Loading") <= page.count("Loading")


@pytest.mark.parametrize("piece", [GAP.format(0), CARD.format("<slot>a</slot>", "b"), PIECES[5]])
def test_more_pieces_than_there_is_room_for(piece: str) -> None:
    assert lines(piece * (MAX_PIECES + 10) + COMPLETE.format(0) + "<p>end</p>")
