"""The slow plain truth of the scanner: html5lib's tree, walked with the same rules for blocks.

html5lib builds the tree that HTML defines, so this module says nothing about tags: only what is
text, where blocks end, and what they are. It needs html5lib, which is there for development only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import html5lib

from kernels.reference.assembly import Node, flatten, node_of, run_stream
from neardup.kernels.scan_attributes import (
    COOKIE,
    MEANINGS,
    NOTICE,
    OF_COMMENTS,
    OF_OVERLAY,
    STATE,
)

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

BODY, MAIN, HEADER, NAV, ASIDE, FOOTER, COMMENTS, OVERLAY = range(8)
REGIONS = {"main": MAIN, "article": MAIN, "header": HEADER, "nav": NAV, "aside": ASIDE}
REGIONS |= {"footer": FOOTER}
ROLES = {"main": MAIN, "article": MAIN, "banner": HEADER, "navigation": NAV}
ROLES |= {"complementary": ASIDE, "contentinfo": FOOTER}
PARTS = set("article aside div dl form ol section ul".split())
BEGINNING = re.compile(
    "(?:(?<![A-Za-z])[ck]|[CK])om[me]|(?:(?<![A-Za-z])c|C)(?:ons|ook)"
    "|(?:(?<![A-Za-z])m|M)oda|(?:(?<![A-Za-z])p|P)opu"
)
DIALOGS = {"dialog", "alertdialog"}

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)")
COLOURS = {"white": "ffffff", "black": "000000"}
WHITE = "\\t\\n\\f\\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
WIDE = "[\u2003\u3000]"
INDENT = re.compile(f"[{WHITE}]*{WIDE}[{WHITE}]*{WIDE}[{WHITE}]*")
RUN_OF_WHITE = re.compile(f"[{WHITE}]+")
DROPPED = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
JOINERS = re.compile("[\u200c\u200d\ufe00-\ufe0f]")
TAKES_JOINERS = re.compile("[\u0600-\u1dff\u2180-\u2fff\ufe00-\ufe0f\U00010000-\U0003ffff]")


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
    tree = node_of(html5lib.parse(page, treebuilder="etree", scripting=True), _name)
    run_stream(tree)
    flatten(tree)
    blocks = _blocks(_pieces(tree, Context(), reveal=False))
    return blocks or _blocks(_pieces(tree, Context(), reveal=True))


def scan_lines(text: str) -> list[ReferenceBlock]:
    """The blocks of plain text: its lines."""
    lines = re.split("[\r\n]", text)
    return [block for line in lines for block in _blocks(iter([(line, Context())]))]


def _pieces(element: Node, context: Context, reveal: bool) -> Iterator[Piece]:
    """The text in an element, in order, cut where blocks end."""
    name = element.name
    if not _is_shown(element, name, reveal):
        if name in BLOCK_ELEMENTS:
            yield None
        return
    inner = _inside(element, name, context)
    apart = name in BLOCK_ELEMENTS or (element.get("role") or "").lower() in ROLES
    if apart:
        yield None
    for child in element.children:
        if child.name == "":
            yield from _lines(child.data, inner)
        elif child.name != "!":
            yield from _pieces(child, inner, reveal)
    if apart:
        yield None


def _name(element: Any) -> str:
    tag: str = element.tag
    if tag.startswith(HTML):
        return tag.removeprefix(HTML)
    return tag.rpartition("}")[2] if tag.endswith(("}svg", "}math")) else tag


def _is_shown(element: Node, name: str, reveal: bool) -> bool:
    if name in NOT_TEXT or (name == "dialog" and element.get("open") is None):
        return False
    if name in ("html", "body"):  # a body is shown once its scripts have run
        return True
    return reveal or (element.get("hidden") is None and not style_hides(element.get("style") or ""))


def style_hides(style: str) -> bool:
    """Whether a style keeps text from being seen; `scan_styles` has the rules."""
    stated: list[tuple[str, str]] = []
    for declaration in style.split(";"):
        name, _, value = declaration.partition(":")
        stated.append((_trimmed(name).lower(), _trimmed(_trimmed(value).partition("!")[0]).lower()))
    last = dict(stated)
    edges = [_pixels(value) for name, value in stated if name in ("left", "top", "right")]
    limit = -900 if last.get("position") in ("absolute", "fixed") else -4000
    backgrounds = [value for name, value in stated if name in ("background", "background-color")]
    colour = _colour(last.get("color", ""))
    return (
        ("display", "none") in stated
        or ("visibility", "hidden") in stated
        or ("visibility", "collapse") in stated
        or any(name == "font-size" and _pixels(value) == 0 for name, value in stated)
        or any(name == "text-indent" and _pixels(value) <= -900 for name, value in stated)
        or any(edge <= limit for edge in edges)
        or any(
            name in ("margin-left", "margin-top") and _pixels(value) <= -4000
            for name, value in stated
        )
        or any(name == "clip" and _is_small(value) for name, value in stated)
        or (colour != "" and colour == _colour(backgrounds[-1] if backgrounds else ""))
    )


def _trimmed(text: str) -> str:
    return text.strip(" \t\n\r\f")


def _pixels(value: str) -> float:
    number = NUMBER.match(value)
    if number is None:
        return 1e9
    return float(number[0]) * (16 if value[number.end() : number.end() + 1] in ("e", "r") else 1)


def _is_small(value: str) -> bool:
    return value.startswith("rect(") and _pixels(value[5:]) in (0, 1)


def _colour(value: str) -> str:
    if re.fullmatch("#([0-9a-f]{3}|[0-9a-f]{6})", value):
        return value[1:] if len(value) == 7 else "".join(2 * digit for digit in value[1:])
    parts = re.fullmatch(r"rgb\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})\s*\)", value)
    if parts and all(int(part) <= 255 for part in parts.groups()):
        return "".join(f"{int(part):02x}" for part in parts.groups())
    return COLOURS.get(value, "")


def _inside(element: Node, name: str, context: Context) -> Context:
    kind = KINDS.get(name, context.kind)
    if (name, context.kind) == ("p", QUOTE):
        kind = QUOTE
    return Context(
        kind,
        _region(element, name, context.region),
        context.linked or name == "a",
        context.preformatted or name in PREFORMATTED,
    )


def _region(element: Node, name: str, outer: int) -> int:
    role = (element.get("role") or "").lower()
    region = ROLES.get(role, REGIONS.get(name))
    if name in PARTS and outer in (BODY, MAIN) and region in (None, MAIN):
        parts = {part_named(element.get(names) or "") for names in ("class", "id")}
        if COMMENTS in parts or (element.get("itemprop") or "").lower() == "comment":
            return COMMENTS
        if OVERLAY in parts or role in DIALOGS:
            return OVERLAY
    if region is None or (outer in (COMMENTS, OVERLAY) and region in (MAIN, HEADER, FOOTER)):
        return outer
    if outer == MAIN and role not in ROLES and region in (HEADER, FOOTER):
        return MAIN
    return region


def part_named(names: str) -> int:
    """The part of a page that a class or id names: comments, a dialog, or none in particular."""
    parts = set()
    for name in re.split("[ \t\n\f\r]", names):
        words = re.findall("[A-Za-z][a-z]+|[A-Z]+|[a-z]", name)
        meanings = {MEANINGS.get(word.lower(), 0) for word in words}
        if STATE in meanings or not BEGINNING.search(name):
            continue
        if OF_COMMENTS in meanings:
            parts.add(COMMENTS)
        elif OF_OVERLAY in meanings or {COOKIE, NOTICE} <= meanings:
            parts.add(OVERLAY)
    return min(parts, default=BODY)


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
            for each in DROPPED.sub("", text):
                before = characters[-1][0] if characters else ""
                if not JOINERS.match(each) or TAKES_JOINERS.match(before):
                    characters.append((each, context))
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
