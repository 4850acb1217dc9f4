"""The data model: frozen dataclasses and enums. Imports no other module of the package."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Any


class Relation(StrEnum):
    """The relation of the left page of a pair to the right one."""

    SAME = "same"
    NEAR = "near"
    CONTAINS = "contains"
    CONTAINED = "contained"
    OVERLAP = "overlap"
    DIFFERENT = "different"
    UNDECIDED = "undecided"  # too little text to decide; never merged

    @property
    def reverse(self) -> Relation:
        """The relation of the right page to the left one."""
        return _REVERSED.get(self, self)


_REVERSED = {Relation.CONTAINS: Relation.CONTAINED, Relation.CONTAINED: Relation.CONTAINS}


class BlockKind(IntEnum):
    """The role of a block in its page; Arrow columns hold the number."""

    TEXT = 0  # loose text, a div
    PARAGRAPH = 1
    HEADING = 2
    ITEM = 3  # of a list
    CELL = 4  # of a table
    QUOTE = 5
    CODE = 6  # pre
    CAPTION = 7
    CONTROL = 8  # a button or label of a form


class Region(IntEnum):
    """The part of the page, according to its markup, that holds a block."""

    BODY = 0
    MAIN = 1  # main or article
    HEADER = 2
    NAV = 3
    ASIDE = 4
    FOOTER = 5
    COMMENTS = 6  # of readers, by the names of the markup
    OVERLAY = 7  # a consent notice or another dialog over the page


class SkipReason(StrEnum):
    """Why a record did not become a page."""

    UNREADABLE = "unreadable"  # the file cannot be opened or read
    TRUNCATED = "truncated"  # the stream ends in the middle of a record
    BAD_RECORD = "bad-record"  # a malformed WARC record or archive member
    BAD_JSON = "bad-json"  # not JSON, or not an object
    NO_CONTENT = "no-content"  # neither html nor text
    EMPTY = "empty"  # no bytes of content
    NOT_HTML = "not-html"  # an image, a stylesheet, a DNS record ...
    HTTP_STATUS = "http-status"  # a redirect or an error page
    TOO_LARGE = "too-large"  # above the page limit, also after decompression
    LONG_URL = "long-url"  # above 8,192 characters
    UNRESOLVED_REVISIT = "unresolved-revisit"  # repeats a record that is not in the input
    DUPLICATE_ID = "duplicate-id"  # a second record under one id


@dataclass(frozen=True, slots=True)
class Source:
    """Where a record was read from; `record` counts from 0 within the file."""

    path: str
    record: int = 0


@dataclass(frozen=True, slots=True)
class Skip:
    """A record that did not become a page, and why."""

    source: Source
    reason: SkipReason
    detail: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class RawPage:
    """A page as it was read: its bytes and the metadata of the transport.

    `again` is the alternative id if another page already has `id` (a recrawl in a WARC); without
    one, the later page is skipped. `original` is the record as it was read, kept only on request
    (to write kept pages).
    """

    id: str
    body: bytes
    is_html: bool
    source: Source
    url: str = ""
    again: str = ""
    title: str = ""
    time: datetime | None = None  # always with a time zone
    charset: str = ""  # from the HTTP header; may be wrong
    original: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Block:
    """A unit of text in the page: a paragraph, a heading, a list item, a cell."""

    text: str
    kind: BlockKind = BlockKind.TEXT
    region: Region = Region.BODY
    link_share: float = 0.0  # share of its characters that are inside links


@dataclass(frozen=True, slots=True)
class Page:
    """A parsed page."""

    id: str
    url: str
    host: str
    title: str
    blocks: tuple[Block, ...]
    canonical_url: str = ""
    time: datetime | None = None
    language: str = ""  # declared by the page, or from its script; empty if unknown
    script: str = ""  # of most letters: Latn, Hans ...; empty without letters
    charset: str = ""
    tables: int = 0
    images: int = 0
    anchors: int = 0
    sentences: int = 0
    size: int = 0  # bytes of the raw page

    @property
    def text(self) -> str:
        """The text of all blocks, one per line."""
        return "\n".join(block.text for block in self.blocks)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a pair. `similarity` is None if the method could not measure one."""

    relation: Relation
    similarity: float | None
    evidence: dict[str, Any]  # always has "why", a sentence


@dataclass(frozen=True, slots=True)
class Cluster:
    """Pages a reader would consider the same. `name` is the smallest id among them."""

    name: str
    kept: str
    members: tuple[str, ...]
