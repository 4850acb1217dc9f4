# ruff: noqa: PLR1714 - compiled: comparisons, not tuples to search
"""Where a page states things about itself: title, description, language, canonical link, time.

The kernel only notes the places (the first of each kind); `text/metadata.py` reads them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels import scan_tags as t
from neardup.kernels.jit import borrowing_kernel as kernel
from neardup.kernels.scan_attributes import DATED, find_attribute, next_attribute
from neardup.kernels.scan_bytes import (
    Bytes,
    after_space,
    find,
    hash_of,
    hash_table,
    look_up,
    name_hash,
    trim,
)

# What may be noted; the columns of `places`.
TITLE, LANG, CONTENT_LANGUAGE, LOCALE, CANONICAL, OG_URL, BASE = range(7)
PUBLISHED, LD_PUBLISHED, TIME, DATE, LD_BODY, LD_OTHER_BODY = range(7, 13)
DESCRIPTION = 13
KINDS = 14

_META_NAMES = {
    "content-language": CONTENT_LANGUAGE,
    "og:locale": LOCALE,
    "og:url": OG_URL,
    "description": DESCRIPTION,
    # Names that say "published" ...
    **dict.fromkeys(
        (
            "article:published_time",
            "article:published",
            "og:published_time",
            "og:article:published_time",
            "bytedance:published_time",
            "shareaholic:article_published_time",
            "rnews:datepublished",
            "datepublished",
            "publishdate",
            "publish_date",
            "publish-date",
            "publishtime",
            "publish_time",
            "published_time",
            "published-date",
            "pubdate",
            "pubtime",
            "_pubtime",
            "publication_date",
            "publication-date",
            "originalpublicationdate",
            "article_date_original",
            "parsely-pub-date",
            "sailthru.date",
            "apub:time",
            "weibo: article:create_at",
            "weibo:article:create_at",
            "og:release_date",
            "dc.date.issued",
            "dcterms.issued",
            "dc.terms.issued",
            "citation_publication_date",
            "bt:pubdate",
            "cxenseparse:recs:publishtime",
        ),
        PUBLISHED,
    ),
    # ... and names that leave open which date they mean.
    **dict.fromkeys(
        (
            "date",
            "dc.date",
            "dc.date.created",
            "dcterms.date",
            "dcterms.created",
            "og:time",
            "article.created",
            "created",
            "article_create_time",
        ),
        DATE,
    ),
}
MAY_STATE = np.zeros(len(t.FLAGS), np.bool_)  # tags that may state something; and any with a date
MAY_STATE[[t.META, t.LINK, t.TIME, t.HTML, t.BASE]] = True
_KEYS, _VALUES = hash_table({name: kind + 1 for name, kind in _META_NAMES.items()}, 256)


_NAME, _PROPERTY, _ITEMPROP, _HTTP_EQUIV, _CONTENT, _HREF, _REL, _LANG, _XML_LANG = (
    np.uint64(hash_of(name))
    for name in "name property itemprop http-equiv content href rel lang xml:lang".split()
)
_DATETIME, _TYPE, _CANONICAL_WORD, _LD_JSON, _DATE_PUBLISHED, _ARTICLE_BODY = (
    np.uint64(hash_of(name))
    for name in "datetime type canonical application/ld+json datepublished articlebody".split()
)
QUOTE, COLON, BACKSLASH = 34, 58, 92


@kernel
def note_tag(
    data: Bytes, i: int, end: int, tag: int, facts: int, places: NDArray[np.int64]
) -> None:
    """Note what a tag whose attributes start at i states about the page."""
    if facts & DATED:
        start, stop = find_attribute(data, i, end, _CONTENT)
        if start < 0:
            start, stop = find_attribute(data, i, end, _DATETIME)
        note(places, PUBLISHED, start, stop)
    if tag == t.META:
        _note_meta(data, i, end, places)
    elif tag == t.LINK:
        start, stop = find_attribute(data, i, end, _REL)
        if start >= 0 and name_hash(data, start, stop) == _CANONICAL_WORD:
            start, stop = find_attribute(data, i, end, _HREF)
            note(places, CANONICAL, start, stop)
    elif tag == t.TIME:
        start, stop = find_attribute(data, i, end, _DATETIME)
        note(places, TIME, start, stop)
    elif tag == t.HTML:
        start, stop = find_attribute(data, i, end, _LANG)
        if start < 0:
            start, stop = find_attribute(data, i, end, _XML_LANG)
        note(places, LANG, start, stop)
    elif tag == t.BASE:
        start, stop = find_attribute(data, i, end, _HREF)
        note(places, BASE, start, stop)


@kernel
def note(places: NDArray[np.int64], kind: int, start: int, end: int) -> None:
    """Keep the first place of a kind that is not empty."""
    if start < end and places[kind, 0] == places[kind, 1]:
        places[kind, 0] = start
        places[kind, 1] = end


@kernel
def _note_meta(data: Bytes, i: int, end: int, places: NDArray[np.int64]) -> None:
    kind, start, stop = 0, 0, 0
    while True:
        name, name_end, value, value_end, i = next_attribute(data, i, end)
        if name == name_end:
            break
        attribute = name_hash(data, name, name_end)
        if attribute == _CONTENT:
            start, stop = trim(data, value, value_end)
        elif (
            attribute == _NAME
            or attribute == _PROPERTY
            or attribute == _ITEMPROP
            or attribute == _HTTP_EQUIV
        ):
            value, value_end = trim(data, value, value_end)
            kind = max(kind, look_up(_KEYS, _VALUES, name_hash(data, value, value_end)))
    if kind:
        note(places, kind - 1, start, stop)


@kernel
def note_title(data: Bytes, i: int, end: int, places: NDArray[np.int64]) -> None:
    """Note the text of a title element."""
    start, stop = trim(data, i, end)
    note(places, TITLE, start, stop)


@kernel
def is_linked_data(data: Bytes, i: int, end: int) -> bool:
    """Whether a script tag whose attributes start at i is JSON-LD."""
    start, stop = find_attribute(data, i, end, _TYPE)
    return start >= 0 and name_hash(data, start, stop) == _LD_JSON


@kernel
def note_linked_data(data: Bytes, i: int, end: int, places: NDArray[np.int64]) -> None:
    """Note the first "datePublished": "..." in JSON, and the first two of "articleBody"."""
    while True:
        i = find(data, i, end, QUOTE)
        if i >= end:
            return
        value = _value_after(data, i, end, 13, _DATE_PUBLISHED)
        if value > 0:
            i = find(data, value, end, QUOTE)
            start, stop = trim(data, value, i)
            note(places, LD_PUBLISHED, start, stop)
            continue
        value = _value_after(data, i, end, 11, _ARTICLE_BODY)
        if value > 0:
            i = _end_of_text(data, value, end)
            is_first = places[LD_BODY, 0] == places[LD_BODY, 1]
            note(places, LD_BODY if is_first else LD_OTHER_BODY, value, i)
            continue
        i += 1


@kernel
def _value_after(data: Bytes, i: int, end: int, size: int, name: np.uint64) -> int:
    """Where the text begins that is the value of this name, if it stands in quotes at i; or 0."""
    after = i + size + 1
    if after >= end or data[after] != QUOTE or name_hash(data, i + 1, after) != name:
        return 0
    i = after_space(data, after + 1, end)
    if i >= end or data[i] != COLON:
        return 0
    i = after_space(data, i + 1, end)
    return i + 1 if i < end and data[i] == QUOTE else 0


@kernel
def _end_of_text(data: Bytes, i: int, end: int) -> int:
    """Where the text of JSON that begins at i ends: at the first quote that is not escaped."""
    while True:
        i = find(data, i, end, QUOTE)
        escapes = i
        while data[escapes - 1] == BACKSLASH:  # the quote before the text ends the search
            escapes -= 1
        if i >= end or (i - escapes) % 2 == 0:
            return i
        i += 1
