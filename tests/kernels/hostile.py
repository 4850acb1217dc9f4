"""Inputs that make careless code slow: pieces to repeat, for text, for markup, for any pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from re import _constants as sre
from re import _parser
from typing import Any

# Pieces of text. Repeated they are long runs, words, sentences, marks that join, lines, escapes.
TEXTS = (
    *("a", "1", " ", ".", ". ", "a.", "a. ", "Mr. ", "1. ", "A. B! ", "!", "?", "…", "“", "”", "'"),
    *("\n", "a\n", " \n", "\x00", "a\x00", "\x1f", '"', "\\", "é", "e\u0301", "\u0301", ".\u0301"),
    *(
        "中",
        "中a",
        "中 ",
        "中。",
        "。",
        "」",
        "！",
        "　",
        "„1•3",
        "½",
        "㍿",
        "\ufdfa",
        "ŀ",
        "ﬁ",
        "\u00ad",
    ),
    *(
        "한",
        "\u1100",
        "\u1161",
        "\u11a8",
        "\u1100\u1161\u11a8",
        "\uff9e",
        "か\uff9e",
        "ก",
        "ก\u0e31",
    ),
    *("а", "aа", "aа ", "щx", "❤\ufe0f", "\u200d"),
    *("\U0001f600", "a\u200b", "\u0345\u0301", "don't ", "example.org", "a中\u0301", "．", "1．"),
)

# `(before, repeated)` of pages.
MARKUP = (
    *(("", piece) for piece in ("<", ">", "&", "&#", "&#x", "&#1", "&amp", "&nbsp;", "</", "<a")),
    *(
        ("", piece)
        for piece in ("</a", "<a ", "<a b", "<a b=", "<a b='", "<!", "<!-", "<!--", "<?")
    ),
    *(("", piece) for piece in ("<!--x--", "<!-->", "<![CDATA[", "<svg>", "<svg/>", "<math><mi>")),
    *(
        ("", f"<{tag}>")
        for tag in ("div", "p", "b", "a", "li", "table", "form", "select", "button")
    ),
    *(("", f"</{tag}>") for tag in ("div", "p", "b", "a", "li", "table", "form", "select", "br")),
    *(("", piece) for piece in ("<p><b>", "<b><p>", "<b></p>", "<a><table>", "<table><b>", "<x1>")),
    *(("", piece) for piece in ("<a>x</a>", "<a><p>x", "<div hidden>", "<title>", "<script>")),
    *(
        ("", piece)
        for piece in ("<meta name=date content=", "<time datetime=", "<link rel=canonical")
    ),
    ("<script>", "<"),
    ("<script>", "</"),
    ("<script>", "</s"),
    ("<script>", "<!--"),
    ("<script><!--", "<a"),
    ("<script><!--", "<script"),
    ("<script><!--", "<script>-->"),
    ("<style>", "</styl"),
    ("<textarea>", "</textareas"),
    ("<div style='", ";"),
    ("<div style='", "display:"),
    ("<div ", "style=;"),
    ("<div ", "role=main "),
    ("<meta ", "name "),
    ("<script type=application/ld+json>", '"datePublished"'),
    ("<script type=application/ld+json>", '"datePublished":" "'),
    ("<script type=application/ld+json>", '"articleBody":"'),
    ("<script type=application/ld+json>", '"articleBody":" "'),
    ('<script type=application/ld+json>"articleBody":"', '\\"'),
    ('<script type=application/ld+json>"articleBody":"', "<"),
    ("<div style='", "left:-1;"),
    ("<div style='", "color:rgb("),
    *(("", piece) for piece in ('<template id="B:0">', '<div hidden id="S:0">', "<slot>")),
    *(("", f"{piece}<!--/$-->") for piece in ("", '<!--$?--><template id="B:0"></template>')),
    ("", "<x-y><template shadowrootmode=open>"),
    ("", "<x-y><template shadowrootmode=open><slot>a</slot></template>b</x-y>"),
    ('<div hidden id="S:0"></div>' * 5000 + "<script>", '$RC("B:0","S:1")'),
    (f"<x-y><template shadowrootmode=open>{'<slot>a</slot>' * 2000}</template>", "<i slot=n>b</i>"),
    ("<b>" * 2000, "<p>"),
    ("<form>" + "<div>" * 2000, "</form>"),
    ("<svg>" * 2000, "<p>"),
)


def attacks(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """`(before, repeated, after)` that may make a pattern try again and again.

    The text of each prefix of the pattern is repeated as it is (many places to begin at), and after
    a prefix each repetition in it is repeated and then broken off (many ways to go on).
    """
    text = (
        pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    )
    items = list(_parser.parse(text, pattern.flags))
    seen = set()
    for alternative in islice(_alternatives(items), 40):
        before = ""
        for item in alternative:
            piece = _example(item)
            for attack in (("", before + piece, ""), (before, piece, "\x01")):
                if attack[1] and attack not in seen:
                    seen.add(attack)
                    yield attack
            before += piece


def _alternatives(items: list[Any]) -> Iterator[list[Any]]:
    """The items in a row without groups and branches, once for each branch."""
    if not items:
        yield []
        return
    (kind, value), *rest = items
    if kind is sre.SUBPATTERN:
        heads = _alternatives(list(value[3]))
    elif kind is sre.BRANCH:
        heads = (head for branch in value[1] for head in _alternatives(list(branch)))
    elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT) and len(value[2]) > 1:
        heads = ([*head, (kind, value)] for head in _alternatives(list(value[2])))
    else:
        heads = iter([[(kind, value)]])
    for head in heads:
        for tail in _alternatives(rest):
            yield head + tail


def _example(item: tuple[Any, Any]) -> str:
    """Some text that one item of a pattern matches."""
    kind, value = item
    if kind is sre.LITERAL:
        return chr(value)
    if kind is sre.NOT_LITERAL:
        return "x" if value != ord("x") else "y"
    if kind is sre.ANY:
        return "x"
    if kind is sre.IN:
        return _member(value)
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        least, _, inner = value
        return "".join(map(_example, inner)) * max(int(least), 1)
    if kind is sre.SUBPATTERN:
        return "".join(map(_example, value[3]))
    if kind is sre.BRANCH:
        return "".join(map(_example, value[1][0]))
    return ""  # an assertion


CATEGORIES = {sre.CATEGORY_DIGIT: "1", sre.CATEGORY_SPACE: " ", sre.CATEGORY_WORD: "a"}


def _member(choices: list[tuple[Any, Any]]) -> str:
    """A character of a class; of a negated one, a letter that it leaves."""
    kind, value = choices[0]
    if kind is sre.NEGATE:
        taken = {chr(each) for kind, each in choices if kind is sre.LITERAL}
        return next(letter for letter in "xyz09 -" if letter not in taken)
    if kind is sre.LITERAL:
        return chr(value)
    return chr(value[0]) if kind is sre.RANGE else CATEGORIES[value]
