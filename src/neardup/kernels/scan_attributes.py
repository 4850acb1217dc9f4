# ruff: noqa: PLR1714 - compiled: comparisons, not tuples to search
"""The attributes of a tag: where each is, and what those say that matter for text."""

from __future__ import annotations

import numpy as np

from neardup.kernels.jit import borrowing_kernel as kernel
from neardup.kernels.jit import inlined_kernel
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
    white_bits,
)
from neardup.kernels.scan_styles import HIDDEN, style_hides
from neardup.kernels.text_bits import (
    ALL,
    BLOCK,
    between_bits,
    equal_bits,
    leading_zeros,
    lowest_bit,
)

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
# What an attribute may state, by the length of its name and its first letter.
FACT, PART = 1, 2
_KIND_NAMES = {FACT: "style hidden role open itemprop", PART: "class id"}
LONGEST_NAME = 8
KINDS = np.zeros((LONGEST_NAME + 1, 256), np.int64)
for _kind, _names in _KIND_NAMES.items():
    for _name in _names.split():
        KINDS[len(_name), [ord(_name[0]), ord(_name[0].upper())]] = _kind
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
        kind = _kind_of(data, name, name_end - name, is_part)
        if kind:
            facts |= _fact_of(data, end, kind, name, name_end, value, value_end)


@inlined_kernel
def read_usual_attributes(data: Bytes, i: int, end: int, is_part: bool) -> tuple[int, int]:
    """As `read_attributes`, by blocks for the tags that are written as most are."""
    facts = 0
    while i < end and data[i] != GREATER:
        before = i
        if i + BLOCK <= end:
            i, more = _read_block(data, i, end, is_part)
            facts |= more
        if i == before:
            i, more = read_attributes(data, i, end, is_part)
            return i, facts | more
    return i, facts


@inlined_kernel
def _read_block(data: Bytes, i: int, end: int, is_part: bool) -> tuple[int, int]:
    """Read what 64 bytes have of the attributes of a tag, if they are written as most are: a name,
    or a name and `="..."`.

    The place up to which they are read, and the facts they state. Quotes are counted from the left,
    and what is in an odd count of them is a value: true if every quote that opens one stands right
    after `=`, and every `=` right after a name and before a quote. With no `>` outside of values,
    the attributes are read up to the last quote that closes one, or past the value that is open.
    """
    quotes = equal_bits(data, i, np.uint8(QUOTE))
    inside = quotes ^ quotes << np.uint64(1)
    for step in (2, 4, 8, 16, 32):
        inside ^= inside << np.uint64(step)
    outside = ~inside  # the quotes that close values are outside
    greater = equal_bits(data, i, np.uint8(GREATER)) & outside
    closing = quotes & outside
    # As many bytes as are read: up to `>`, to the last quote if that closes a value, or all.
    stop = lowest_bit(greater)
    if not greater and outside >> np.uint64(BLOCK - 1):
        stop = BLOCK - leading_zeros(closing)
    if stop == 0:
        return i, 0
    known = ALL >> np.uint64(BLOCK - stop)
    inside &= known
    outside &= known
    equals = equal_bits(data, i, np.uint8(EQUALS)) & outside
    slashes = equal_bits(data, i, np.uint8(SLASH)) & outside
    between = (white_bits(data, i) & outside) | slashes | (closing & outside)
    begins = between << np.uint64(1) | np.uint64(1)
    apostrophes = equal_bits(data, i, np.uint8(APOSTROPHE)) & outside
    if (quotes & inside) ^ equals << np.uint64(1) | equals & begins | apostrophes:
        return i, 0
    names = outside & ~(between | equals) & begins
    ends = between | equals | greater
    after = i + stop
    if not greater and inside >> np.uint64(BLOCK - 1):
        after = find(data, after, end, QUOTE)
    facts = 0
    while names:
        at = lowest_bit(names)
        names &= names - np.uint64(1)
        size = lowest_bit(ends >> np.uint64(at))
        kind = _kind_of(data, i + at, size, is_part)
        if kind:
            name_end = at + size
            value = value_end = i + name_end
            if equals >> np.uint64(name_end) & np.uint64(1):
                value += 2
                closed = closing >> np.uint64(name_end) >> np.uint64(1)
                value_end = value + lowest_bit(closed) - 1 if closed else after
            facts |= _fact_of(data, end, kind, i + at, i + name_end, value, value_end)
    if slashes << np.uint64(1) & greater & (~greater + np.uint64(1)):
        facts |= SELF_CLOSING
    if not greater and inside >> np.uint64(BLOCK - 1):
        after = min(after + 1, end)
    return after, facts


@inlined_kernel
def _kind_of(data: Bytes, name: int, size: int, is_part: bool) -> int:
    """What an attribute may state, by the length and the first letter of its name: most are href,
    src, title ..., and few names are hashed."""
    if size > LONGEST_NAME:
        return 0
    kind = KINDS[size, data[name]]
    return kind if is_part or kind != PART else 0


@inlined_kernel
def part_named(data: Bytes, i: int, end: int, limit: int) -> int:
    """The part of a page that the names of an element tell: COMMENTS, OVERLAY or 0.

    Names are separated by white space. Few have a word that begins as it should, and only these
    are cut to words: by anything but letters, and by capitals. Bytes before `limit` may be read.
    """
    start = i
    while i < end and i + BLOCK <= limit:
        beginnings = _beginnings(data, i)
        if end - i < BLOCK:
            beginnings &= (np.uint64(1) << np.uint64(end - i)) - np.uint64(1)
        if beginnings:
            return _part_named(data, start, end)
        i += BLOCK - 2
    return _part_named(data, start, end) if i < end else 0


@inlined_kernel
def _beginnings(data: Bytes, at: int) -> np.uint64:
    """Of 64 bytes all but the last two, those where a word may begin that names a part, by three
    letters: c, k, m or p, then o, then d, m, n, o or p."""
    first = np.uint64(0)
    for letter in (_C, _K, _M, _P):
        first |= equal_bits(data, at, np.uint8(letter))
        first |= equal_bits(data, at, np.uint8(letter - 32))
    second = equal_bits(data, at, np.uint8(_O))
    third = equal_bits(data, at, np.uint8(_D))
    third |= between_bits(data, at, np.uint8(_M), np.uint8(_P))
    return first & second >> np.uint64(1) & third >> np.uint64(2)


@kernel
def _part_named(data: Bytes, start: int, end: int) -> int:
    facts = 0
    i = find(data, start + 1, end, _O)
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
def _fact_of(
    data: Bytes, end: int, kind: int, name: int, name_end: int, value: int, value_end: int
) -> int:
    """What one attribute of a kind states about its tag; the page ends at `end`."""
    if kind == PART:
        return part_named(data, value, value_end, end)
    attribute = name_hash(data, name, name_end)
    if attribute == _STYLE:
        return style_hides(data, value, value_end)
    if attribute == _HIDDEN:
        return HIDDEN
    if attribute == _OPEN:
        return OPEN
    if attribute == _ROLE:
        region = look_up(_ROLE_KEYS, _ROLE_REGIONS, name_hash(data, value, value_end))
        return OVERLAY if region == _DIALOG + 1 else region << REGION_SHIFT
    if attribute == _ITEMPROP:
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
