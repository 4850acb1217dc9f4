# ruff: noqa: PLR1714 - compiled: comparisons, not tuples to search
"""The attributes of a tag: where each is, and what those say that matter for text."""

from __future__ import annotations

import numpy as np

from neardup.kernels.jit import borrowing_kernel as kernel
from neardup.kernels.scan_bytes import (
    APOSTROPHE,
    CASE,
    EQUALS,
    GREATER,
    QUOTE,
    SLASH,
    Bytes,
    after_space,
    find,
    hash_of,
    hash_table,
    is_letter,
    is_space,
    look_up,
    name_hash,
    trim,
)
from neardup.kernels.scan_styles import HIDDEN, style_hides

# Facts that the attributes of a tag state, as bits. Above them stands the region that `role`
# names, plus one.
# HIDDEN = 1: the attribute `hidden`, or a style that says so
OPEN = 2  # of a dialog: it is shown
SELF_CLOSING = 4  # `/>`
DATED = 8  # itemprop="datePublished"
COMMENTS = 16  # itemprop="comment", or a class or id that names comments of readers
OVERLAY = 32  # or a consent notice or another dialog over the page, also by its role
REGION_SHIFT = 8

_STYLE, _HIDDEN, _ROLE, _OPEN, _ITEMPROP = (
    np.uint64(hash_of(name)) for name in ("style", "hidden", "role", "open", "itemprop")
)
_DATE_PUBLISHED, _COMMENT = np.uint64(hash_of("datepublished")), np.uint64(hash_of("comment"))
_ROLES = {"main": 1, "article": 1, "banner": 2, "navigation": 3, "complementary": 4}
_ROLES |= {"contentinfo": 5}
_DIALOG = 7
_ROLES |= {"dialog": _DIALOG, "alertdialog": _DIALOG}
_ROLE_KEYS, _ROLE_REGIONS = hash_table({role: region + 1 for role, region in _ROLES.items()}, 32)

# What the words of a name say. Sites and plugins made up `comments-area`, `wpd-comment-text`,
# `CommentList` and `CybotCookieConsent`, but the words in them are few. A word that states
# something about a page (`comments-open`, `no-comments`, `has-modal`) names no part of it.
OF_COMMENTS, OF_OVERLAY, COOKIE, NOTICE, STATE = 1, 2, 4, 8, 16
_WORDS = {
    OF_COMMENTS: "comment comments commentlist commentarea commentbody commentbox commentcontent "
    "commentform commentsarea commentsection commentslist commentthread commentwrap commentaire "
    "commentaires commenti comentario comentarios kommentar kommentare kommentarer komentarz "
    "komentarze",
    OF_OVERLAY: "modal popup consent cookieconsent cookiebanner cookiebar cookiebot cookielaw "
    "cookielawinfo cookienotice",
    COOKIE: "cookie cookies",
    NOTICE: "alert banner bar box dialog disclaimer info law message notice notification overlay "
    "policy preferences settings warning",
    STATE: "allowed closed count counts disabled enabled has hide no off on open show toggle with "
    "without",
}
MEANINGS = {word: meaning for meaning, words in _WORDS.items() for word in words.split()}
_WORD_KEYS, _WORD_MEANINGS = hash_table(MEANINGS, 256)
_LONGEST_WORD = max(map(len, MEANINGS))
_A, _C, _D, _E, _K, _M, _N, _O, _P, _S, _U = (ord(letter) for letter in "acdekmnopsu")


@kernel
def next_attribute(data: Bytes, i: int, end: int) -> tuple[int, int, int, int, int]:
    """The next attribute from i on: name start, name end, value start, value end, place after.

    No name means no more attributes: the place after is then that of `>`, or `end`. The steps are
    the states of HTML's tokeniser, in the order in which an attribute goes through them.
    """
    # Before attribute name
    while i < end and (data[i] == SLASH or is_space(data[i])):
        i += 1
    name = i
    if i >= end or data[i] == GREATER:
        return i, i, i, i, i
    # Attribute name. Its first character may be anything, `=` too.
    i += 1
    while i < end:
        byte = data[i]
        # All that ends a name is up to `>`, and few letters are: one comparison for most bytes.
        if byte <= GREATER and (
            byte == EQUALS or byte == GREATER or byte == SLASH or is_space(byte)
        ):
            break
        i += 1
    name_end = i
    # After attribute name
    i = after_space(data, i, end)
    if i >= end or data[i] != EQUALS:
        return name, name_end, name_end, name_end, name_end
    # Before attribute value, and the value in quotes or without
    i = after_space(data, i + 1, end)
    if i < end and (data[i] == QUOTE or data[i] == APOSTROPHE):
        value_end = find(data, i + 1, end, np.int64(data[i]))
        return name, name_end, i + 1, value_end, min(value_end + 1, end)
    value = i
    while i < end and data[i] != GREATER and not is_space(data[i]):
        i += 1
    return name, name_end, value, i, i


@kernel
def read_attributes(data: Bytes, i: int, end: int, is_part: bool) -> tuple[int, int]:
    """Past the attributes of a tag: the place of its `>` (or `end`), and the facts they state.

    Only the names of elements that may be a part of the page (`is_part`) are looked at.
    """
    facts = 0
    while True:
        before = i
        name, name_end, value, value_end, i = next_attribute(data, i, end)
        if name == name_end:
            if i > before and data[i - 1] == SLASH:
                facts |= SELF_CLOSING
            return i, facts
        # Most attributes are class, href, id, src ...: length and first letter rule them out, and
        # few names are hashed.
        size = name_end - name
        first = data[name] | CASE
        if (
            (size == 5 and first == 115)  # s...., style
            or (size == 6 and first == 104)  # h....., hidden
            or (size == 4 and (first == 114 or first == 111))  # r... or o..., role and open
            or (size == 8 and first == 105)  # i......., itemprop
        ):
            facts |= _fact_of(data, name_hash(data, name, name_end), value, value_end)
        elif is_part and ((size == 5 and first == 99) or (size == 2 and first == 105)):
            # class and id
            facts |= part_named(data, value, value_end)


@kernel
def part_named(data: Bytes, i: int, end: int) -> int:
    """The part of a page that the names of an element tell: COMMENTS, OVERLAY or 0.

    Names are separated by white space. Few have a word that begins as it should, and only these
    are cut to words: by anything but letters, and by capitals.
    """
    facts, start = 0, i
    i = find(data, i + 1, end, _O)
    while i + 2 < end:
        first = data[i - 1]
        begins = i - 1 == start or not is_letter(data[i - 2]) or first <= 90
        if begins and _is_beginning(first | CASE, data[i + 1], data[i + 2]):
            name = i
            while name > start and not is_space(data[name - 1]):
                name -= 1
            while i < end and not is_space(data[i]):
                i += 1
            facts |= _part_of(_meanings(data, name, i))
        i = find(data, i + 1, end, _O)
    return facts


@kernel
def _is_beginning(first: int, third: int, fourth: int) -> bool:
    """Whether a word with these letters beside an `o` begins as one that names a part: comment,
    coment-, komment-, koment-, consent, cookie, modal, popup."""
    if first == _C:
        return (
            (third == _M and (fourth == _M or fourth == _E))
            or (third == _N and fourth == _S)
            or (third == _O and fourth == _K)
        )
    if first == _K:
        return third == _M and (fourth == _M or fourth == _E)
    return (first == _M and third == _D and fourth == _A) or (
        first == _P and third == _P and fourth == _U
    )


@kernel
def _meanings(data: Bytes, i: int, end: int) -> int:
    """What the words of one name say, as bits."""
    meanings = 0
    while i < end:
        word = i
        i += 1
        if not is_letter(data[word]):
            continue
        while i < end and 97 <= data[i] <= 122:
            i += 1
        if i == word + 1 and data[word] <= 90:  # CAPITALS
            while i < end and 65 <= data[i] <= 90:
                i += 1
        if i - word <= _LONGEST_WORD:
            meanings |= look_up(_WORD_KEYS, _WORD_MEANINGS, name_hash(data, word, i))
    return meanings


@kernel
def _part_of(meanings: int) -> int:
    """What the words of one name say together."""
    if meanings & STATE:
        return 0
    if meanings & OF_COMMENTS:
        return COMMENTS
    if meanings & OF_OVERLAY or meanings & (COOKIE | NOTICE) == COOKIE | NOTICE:
        return OVERLAY
    return 0


@kernel
def _fact_of(data: Bytes, name: np.uint64, value: int, value_end: int) -> int:
    """What one attribute, known by the hash of its name, states about its tag."""
    if name == _STYLE:
        return style_hides(data, value, value_end)
    if name == _HIDDEN:
        return HIDDEN
    if name == _OPEN:
        return OPEN
    if name == _ROLE:
        region = look_up(_ROLE_KEYS, _ROLE_REGIONS, name_hash(data, value, value_end))
        return OVERLAY if region == _DIALOG + 1 else region << REGION_SHIFT
    if name == _ITEMPROP:
        said = name_hash(data, value, value_end)
        return DATED if said == _DATE_PUBLISHED else COMMENTS if said == _COMMENT else 0
    return 0


@kernel
def find_attribute(data: Bytes, i: int, end: int, wanted: np.uint64) -> tuple[int, int]:
    """Where the value of the attribute with this `name_hash` is, trimmed; (-1, -1) without one."""
    while True:
        name, name_end, value, value_end, i = next_attribute(data, i, end)
        if name == name_end:
            return -1, -1
        if name_hash(data, name, name_end) == wanted:
            return trim(data, value, value_end)
