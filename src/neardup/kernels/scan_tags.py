# ruff: noqa: PLR1714 - compiled: comparisons, not tuples to search
"""Tags: the elements of HTML by number, reading a name, and what holds no tags.

An element that matters for text has a small number of its own, and flags that say what it does.
All others share 128 numbers by the hash of their name: enough to find which end tag closes which
of them. Comments, declarations and elements without markup in them are passed over in one step.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from neardup.kernels.jit import borrowing_kernel as kernel
from neardup.kernels.jit import inlined_kernel
from neardup.kernels.scan_bytes import (
    BANG,
    CASE,
    GREATER,
    HIGH_BITS,
    LOW_BITS,
    PRIME,
    SEED,
    SLASH,
    Bytes,
    find,
    hash_of,
    hash_table,
    is_space,
    look_up,
    name_hash,
)
from neardup.kernels.text_bits import ALL, eight_bytes, lowest_bit

# What an element does.
BLOCK = 1  # ends the block before it and after it
VOID = 2  # has no content and no end tag
SPECIAL = 4  # ends of inline elements do not reach through it
SCOPE = 8  # ends of other elements do not reach through it
CLOSES_P = 16  # its start ends an open paragraph
SKIP = 32  # its content is not text of the page
RAW = 64  # its content is not markup
IGNORED = 128  # its tags change nothing for the text
PRE = 256  # newlines in it are kept
BREAKOUT = 512  # ends svg and math when it starts in them
TABLE_PART = 1024  # of a table other than the table; ignored outside of one
FOREIGN_ELEMENT = 2048  # of svg or math
FORMATTING = 4096  # its end tag reaches out of blocks that began in it

# The numbers are those of `model.BlockKind` and `model.Region`; kernels import nothing above them.
KIND_OF = {"p": 1, "h1": 2, "li": 3, "dt": 3, "dd": 3, "td": 4, "th": 4, "blockquote": 5, "pre": 6}
KIND_OF |= {"caption": 7, "figcaption": 7, "legend": 7, "button": 8, "label": 8}
KIND_OF |= {"listing": 6, "xmp": 6, "plaintext": 6}
PARAGRAPH, QUOTE = 1, 5
REGION_OF = {"main": 1, "article": 1, "header": 2, "nav": 3, "aside": 4, "footer": 5}
MAIN, HEADER, FOOTER, COMMENTS, OVERLAY = 1, 2, 5, 6, 7
NO_KIND, NO_REGION = -1, -1

_FLAG_WORDS: Mapping[int, str] = {
    BLOCK: "address article aside blockquote br button caption center dd details dialog dir div dl "
    "dt fieldset figcaption figure footer form h1 header hgroup hr label legend li listing main "
    "marquee menu nav ol optgroup option p plaintext pre search section summary table tbody td th "
    "tr ul xmp colgroup",
    VOID: "area base basefont bgsound br col embed frame hr img image input keygen link meta param "
    "source track wbr",
    SPECIAL: "address applet article aside blockquote button caption center colgroup dd details "
    "dir div dl dt fieldset figcaption figure footer form h1 header hgroup li listing main marquee "
    "menu nav object ol p plaintext pre search section select summary table tbody td template th "
    "tr ul",
    SCOPE: "applet caption marquee object table td template th",
    CLOSES_P: "address article aside blockquote center dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form h1 header hgroup hr li listing main menu nav ol p plaintext pre "
    "search section summary table ul xmp",
    SKIP: "applet audio canvas datalist math object select svg template video",
    RAW: "iframe noembed noframes noscript plaintext script style textarea title xmp",
    IGNORED: "html head body frameset frame col",
    PRE: "pre listing xmp plaintext",
    BREAKOUT: "b big blockquote body br center code dd div dl dt em embed h1 head hr i img li "
    "listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var",
    FOREIGN_ELEMENT: "svg math",
    FORMATTING: "a b big code em font i nobr s small strike strong tt u",
    TABLE_PART: "caption col colgroup tbody td th tr",
}

# One number for elements that close one another: h1 to h6, thead to tfoot.
ALIASES = {"h2": "h1", "h3": "h1", "h4": "h1", "h5": "h1", "h6": "h1"}
ALIASES |= {"thead": "tbody", "tfoot": "tbody", "image": "img"}

_OTHER_NAMES = "time slot foreignobject desc annotation-xml mi mo mn ms mtext"
NAMES = sorted({word for words in _FLAG_WORDS.values() for word in words.split()} - set(ALIASES))
NAMES = ["", *sorted({*NAMES, *_OTHER_NAMES.split()})]
ID = {name: number for number, name in enumerate(NAMES) if name}
FIRST_UNKNOWN = 128
assert len(NAMES) <= FIRST_UNKNOWN

FLAGS = np.zeros(256, np.int64)
for _flag, _words in _FLAG_WORDS.items():
    for _word in _words.split():
        FLAGS[ID[ALIASES.get(_word, _word)]] |= _flag
KINDS = np.full(256, NO_KIND, np.int64)
for _name, _kind in KIND_OF.items():
    KINDS[ID[_name]] = _kind
REGIONS = np.full(256, NO_REGION, np.int64)
for _name, _region in REGION_OF.items():
    REGIONS[ID[_name]] = _region

# Whose classes and ids may name a part of the page: elements that hold others.
MAY_BE_PART = np.zeros(256, np.bool_)
MAY_BE_PART[[ID[name] for name in "article aside div dl form ol section ul".split()]] = True

_ids = {**ID, **{alias: ID[name] for alias, name in ALIASES.items()}}
_KEYS, _VALUES = hash_table(_ids, 512)

# Most names have eight bytes or fewer, which are the key of a table of their own. The factor was
# found by trying: no two of these names have one place.
SHORT_NAME = 8
_FACTOR, _SHIFT = np.uint64(0x58175DC8C8FE139D), np.uint64(54)
_GREATERS, _ZEROS = np.uint64(GREATER) * LOW_BITS, np.uint64(48) * LOW_BITS
_ENDS_NAME = np.zeros(256, np.bool_)
_ENDS_NAME[[9, 10, 12, 13, 32, SLASH, GREATER]] = True
_CASES = np.uint64(0x2020202020202020)
_SHORT_KEYS, _SHORT_IDS = np.zeros(1024, np.uint64), np.zeros(1024, np.int64)
for _name, _id in _ids.items():
    if len(_name) <= SHORT_NAME:
        _key = int.from_bytes(bytes(byte | 0x20 for byte in _name.encode()), "little")
        _slot = (_key * int(_FACTOR) & (1 << 64) - 1) >> int(_SHIFT)
        assert not _SHORT_KEYS[_slot], f"{_name} collides"
        _SHORT_KEYS[_slot], _SHORT_IDS[_slot] = _key, _id

A, BASE, BR, BUTTON, CAPTION, DD, DIALOG, DT = (
    ID[name] for name in "a base br button caption dd dialog dt".split()
)
FORM, H1, HTML, IMG, INPUT, LI, LINK, META = (
    ID[name] for name in "form h1 html img input li link meta".split()
)
OL, OPTION, P, PLAINTEXT, SCRIPT, SELECT, TABLE, TBODY = (
    ID[name] for name in "ol option p plaintext script select table tbody".split()
)
TD, TEMPLATE, TEXTAREA, TH, TIME, TITLE, TR, UL = (
    ID[name] for name in "td template textarea th time title tr ul".split()
)
ADDRESS, DIV, MATH, SLOT, SVG = (ID[name] for name in "address div math slot svg".split())
# Children of svg and math whose content is HTML again.
FOREIGN_OBJECT, DESC, ANNOTATION, MI, MO, MN, MS, MTEXT = (
    ID[name] for name in "foreignobject desc annotation-xml mi mo mn ms mtext".split()
)
IMPLIED_END = np.zeros(256, np.bool_)  # elements that end without an end tag
IMPLIED_END[[DD, DT, LI, OPTION, ID["optgroup"], P]] = True
INTEGRATION = np.zeros(256, np.bool_)
INTEGRATION[[FOREIGN_OBJECT, DESC, ANNOTATION, MI, MO, MN, MS, MTEXT, TITLE]] = True


@inlined_kernel
def read_name(data: Bytes, i: int, end: int) -> tuple[int, int]:
    """The tag name that starts with a letter at i: the element's number, the place after it."""
    if i + SHORT_NAME < end:
        eight = eight_bytes(data, i)
        # The first byte below `0` or equal to `>` (as in `find`): it ends all names in the table.
        other = eight ^ _GREATERS
        ends = ((eight - _ZEROS) & ~eight | (other - LOW_BITS) & ~other) & HIGH_BITS
        bits = lowest_bit(ends) & 0x78  # of the bytes before it; 64 without one
        key = (eight | _CASES) & ALL >> np.uint64(64 - bits)
        slot = key * _FACTOR >> _SHIFT
        after = i + (bits >> 3)
        if _SHORT_KEYS[slot] == key and _ENDS_NAME[data[after]]:
            return _SHORT_IDS[slot], after
    return _read_any_name(data, i, end)


@kernel
def _read_any_name(data: Bytes, i: int, end: int) -> tuple[int, int]:
    value = SEED
    while i < end:
        byte = data[i]
        if byte == GREATER or byte == SLASH or is_space(byte):
            break
        value = (value ^ np.uint64(byte | CASE)) * PRIME
        i += 1
    number = look_up(_KEYS, _VALUES, value)
    if number == 0:
        number = FIRST_UNKNOWN + np.int64(value & np.uint64(127))
    return number, i


@kernel
def foreign_number(data: Bytes, i: int, end: int, tag: int) -> int:
    """The number of an element inside svg or math, whose name is data[i:end]: never that of an HTML
    element of this name."""
    if tag == SVG or tag == MATH or tag >= FIRST_UNKNOWN:
        return tag
    return FIRST_UNKNOWN + np.int64(name_hash(data, i, end) & np.uint64(127))


LESS, DASH, BRACKET = 60, 45, 93
LONGEST_RAW_NAME = max(map(len, _FLAG_WORDS[RAW].split()))
_CDATA = np.uint64(hash_of("[cdata["))


@kernel
def after_markup_declaration(data: Bytes, i: int, end: int, foreign: bool) -> int:
    """The place after what `<!` at i begins: a comment, a doctype, CDATA, or anything else."""
    if i + 3 < end and data[i + 2] == DASH and data[i + 3] == DASH:
        return _after_comment(data, i + 4, end)
    if foreign and i + 9 <= end and name_hash(data, i + 2, i + 9) == _CDATA:
        return _after_cdata(data, i + 9, end)
    return after_bogus_comment(data, i + 2, end)


@kernel
def after_bogus_comment(data: Bytes, i: int, end: int) -> int:
    """The place after the next `>`."""
    return min(find(data, i, end, GREATER) + 1, end)


@kernel
def _after_comment(data: Bytes, i: int, end: int) -> int:
    """The place after a comment whose text starts at i; `-->` and `--!>` end it."""
    if i < end and data[i] == GREATER:  # <!-->
        return i + 1
    if i + 1 < end and data[i] == DASH and data[i + 1] == GREATER:  # <!--->
        return i + 2
    first = i
    while True:
        i = find(data, i, end, GREATER)
        if i >= end:
            return end
        if i - 2 >= first and data[i - 1] == DASH and data[i - 2] == DASH:
            return i + 1
        if i - 3 >= first and data[i - 1] == BANG and data[i - 2] == DASH and data[i - 3] == DASH:
            return i + 1
        i += 1


@kernel
def _after_cdata(data: Bytes, i: int, end: int) -> int:
    """The place after the next `]]>`."""
    first = i
    while True:
        i = find(data, i, end, GREATER)
        if i >= end:
            return end
        if i - 2 >= first and data[i - 1] == BRACKET and data[i - 2] == BRACKET:
            return i + 1
        i += 1


@kernel
def find_end_tag(data: Bytes, i: int, end: int, tag: int) -> int:
    """Where the end tag of a raw-text element begins whose content starts at i, or `end`."""
    if tag == SCRIPT:
        return _find_script_end(data, i, end)
    while True:
        i = find(data, i, end, LESS)
        if i >= end:
            return end
        if i + 1 < end and data[i + 1] == SLASH and _is_name(data, i + 2, end, tag):
            return i
        i += 1


@kernel
def _is_name(data: Bytes, i: int, end: int, tag: int) -> bool:
    """Whether the name of a raw-text element stands at i, and ends before the data does.

    No more is read than the longest of them has: `<` does not end a name, so in `<a<a<a...` the
    names of all reach to the end of the page.
    """
    number, after = _read_any_name(data, i, min(end, i + LONGEST_RAW_NAME + 1))
    return after < end and number == tag


@kernel
def _find_script_end(data: Bytes, i: int, end: int) -> int:
    """As `find_end_tag`, for a script: within `<!-- ... -->` a `<script>` hides one `</script>`.

    state      `<!--`    `<script`  `</script`         `-->`
    plain      escaped   -          ends the script    -
    escaped    -         doubly     ends the script    plain
    doubly     -         -          escaped            plain
    """
    escaped, doubly = False, False
    escaped_from = 0  # where the dashes of `-->` may begin
    while True:
        opening = find(data, i, end, LESS)
        if escaped and _leaves_escape(data, i, opening, escaped_from):
            escaped, doubly = False, False
        if opening >= end:
            return end
        i = opening
        if i + 1 < end and data[i + 1] == SLASH:
            if _is_name(data, i + 2, end, SCRIPT):
                if not doubly:
                    return i
                doubly = False
        elif not escaped:
            if i + 3 < end and data[i + 1] == BANG and data[i + 2] == DASH and data[i + 3] == DASH:
                escaped = True
                escaped_from = i + 2  # the dashes of `<!--` may be those of `-->`
        elif not doubly and _is_name(data, i + 1, end, SCRIPT):
            doubly = True
        i += 1


@kernel
def _leaves_escape(data: Bytes, i: int, end: int, first: int) -> bool:
    """Whether `-->` ends in data[i:end], with its dashes from `first` on."""
    while True:
        i = find(data, i, end, GREATER)
        if i >= end:
            return False
        if i - 2 >= first and data[i - 1] == DASH and data[i - 2] == DASH:
            return True
        i += 1
