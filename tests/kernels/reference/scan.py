"""The slow plain truth of the scanner: html5lib's tree, walked with the same rules for blocks.

html5lib builds the tree that HTML defines, so this module says nothing about tags: only what is
text, where blocks end, and what they are. It needs html5lib, which is there for development only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import html5lib

HTML = "{http://www.w3.org/1999/xhtml}"

BLOCK_ELEMENTS = set(
    "address article aside blockquote br button caption center colgroup dd details dialog dir div "
    "dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr label legend "
    "li listing main marquee menu nav ol optgroup option p plaintext pre search section summary "
    "table tbody td tfoot th thead tr ul xmp".split()
)
NOT_TEXT = set(
    "applet audio canvas datalist head iframe math noembed noframes noscript object script select "
    "style svg template textarea title video".split()
)
PREFORMATTED = {"pre", "listing", "xmp", "plaintext"}

TEXT, PARAGRAPH, HEADING, ITEM, CELL, QUOTE, CODE, CAPTION, CONTROL = range(9)
KINDS = {"p": PARAGRAPH, "li": ITEM, "dt": ITEM, "dd": ITEM, "td": CELL, "th": CELL}
KINDS |= {f"h{level}": HEADING for level in range(1, 7)}
KINDS |= {"blockquote": QUOTE, "caption": CAPTION, "figcaption": CAPTION, "legend": CAPTION}
KINDS |= dict.fromkeys(PREFORMATTED, CODE) | {"button": CONTROL, "label": CONTROL}

BODY, MAIN, HEADER, NAV, ASIDE, FOOTER = range(6)
REGIONS = {"main": MAIN, "article": MAIN, "header": HEADER, "nav": NAV, "aside": ASIDE}
REGIONS |= {"footer": FOOTER}
ROLES = {"main": MAIN, "article": MAIN, "banner": HEADER, "navigation": NAV}
ROLES |= {"complementary": ASIDE, "contentinfo": FOOTER}

HIDING_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\s*(?:!.*?)?(?:;|$)", re.I | re.S
)
WHITE = "\\t\\n\\f\\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
WIDE = "[\u2003\u3000]"
INDENT = re.compile(f"[{WHITE}]*{WIDE}[{WHITE}]*{WIDE}[{WHITE}]*")
RUN_OF_WHITE = re.compile(f"[{WHITE}]+")
DROPPED = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\u200b\ufeff]")


class Context(NamedTuple):
    """What the elements around a text make of it."""

    kind: int = TEXT
    region: int = BODY
    linked: bool = False
    preformatted: bool = False


class ReferenceBlock(NamedTuple):
    """A block as the scanner should write it."""

    text: str
    kind: int
    region: int
    link_share: float


Piece = tuple[str, Context] | None  # text and what it stands in; None ends a block


def scan_html(page: str) -> list[ReferenceBlock]:
    """The blocks of an HTML page."""
    tree = html5lib.parse(page, treebuilder="etree", scripting=True)
    blocks = _blocks(_pieces(tree, Context(), reveal=False))
    return blocks or _blocks(_pieces(tree, Context(), reveal=True))


def scan_lines(text: str) -> list[ReferenceBlock]:
    """The blocks of plain text: its lines."""
    lines = re.split("[\r\n]", text)
    return [block for line in lines for block in _blocks(iter([(line, Context())]))]


def _pieces(element: Any, context: Context, reveal: bool) -> Iterator[Piece]:
    """The text in an element, in order, cut where blocks end."""
    name = _name(element)
    if not _is_shown(element, name, reveal):
        if name in BLOCK_ELEMENTS:
            yield None
        return
    inner = _inside(element, name, context)
    apart = name in BLOCK_ELEMENTS or element.get("role", "").lower() in ROLES
    if apart:
        yield None
    yield from _lines(element.text or "", inner)
    for child in element:
        if isinstance(child.tag, str):  # comments have none
            yield from _pieces(child, inner, reveal)
        yield from _lines(child.tail or "", inner)
    if apart:
        yield None


def _name(element: Any) -> str:
    tag: str = element.tag
    if tag.startswith(HTML):
        return tag.removeprefix(HTML)
    return tag.rpartition("}")[2] if tag.endswith(("}svg", "}math")) else tag


def _is_shown(element: Any, name: str, reveal: bool) -> bool:
    if name in NOT_TEXT or (name == "dialog" and element.get("open") is None):
        return False
    if reveal or name in ("html", "body"):  # a body is shown once its scripts have run
        return True
    return element.get("hidden") is None and not HIDING_STYLE.search(element.get("style", ""))


def _inside(element: Any, name: str, context: Context) -> Context:
    kind = KINDS.get(name, context.kind)
    if (name, context.kind) == ("p", QUOTE):
        kind = QUOTE
    region = REGIONS.get(name, context.region)
    if context.region == MAIN and region in (HEADER, FOOTER):
        region = MAIN
    return Context(
        kind,
        ROLES.get(element.get("role", "").lower(), region),
        context.linked or name == "a",
        context.preformatted or name in PREFORMATTED,
    )


def _lines(text: str, context: Context) -> Iterator[Piece]:
    """A text, cut at newlines where these count."""
    lines = re.split("[\r\n]", text) if context.preformatted else [text]
    for number, line in enumerate(lines):
        if number:
            yield None
        yield line, context


def _blocks(pieces: Iterator[Piece]) -> list[ReferenceBlock]:
    blocks: list[ReferenceBlock] = []
    characters: list[tuple[str, Context]] = []
    for piece in [*pieces, None]:
        if piece is None:
            blocks += _cut_at_indents(characters)
            characters = []
        else:
            text, context = piece
            characters += [(each, context) for each in DROPPED.sub("", text)]
    return blocks


def _cut_at_indents(characters: list[tuple[str, Context]]) -> Iterator[ReferenceBlock]:
    """Wide spaces begin a paragraph."""
    text = "".join(character for character, _ in characters)
    start = 0
    for indent in INDENT.finditer(text):
        yield from _block(characters[start : indent.start()])
        start = indent.end()
    yield from _block(characters[start:])


def _block(characters: list[tuple[str, Context]]) -> Iterator[ReferenceBlock]:
    text = RUN_OF_WHITE.sub(" ", "".join(character for character, _ in characters)).strip(" ")
    if not text:
        return
    marks = [context for character, context in characters if not RUN_OF_WHITE.match(character)]
    share = sum(mark.linked for mark in marks) / len(marks)
    yield ReferenceBlock(text, marks[0].kind, marks[0].region, share)
