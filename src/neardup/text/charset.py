"""The bytes of a page as UTF-8, whatever charset they are in and whatever is declared.

Cheap and certain tests come first: a byte-order mark, valid UTF-8 (nine pages of ten, returned as
they are), UTF-8 with a little damage. Only then are the HTTP header, the page's own declaration and
detection consulted, and none of them is believed unless the decoded text looks like writing.

`score` measures that, because almost any bytes decode without error as GB18030 or windows-1252. The
few hundred commonest characters make up most of real Chinese, Japanese or Korean text and next to
nothing of a wrong decoding; Cyrillic words are lower case; accented letters stand alone between
plain ones.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

from neardup.arrays import Numbers, offsets_of
from neardup.config import read_toml
from neardup.kernels.page_bytes import odd_charsets
from neardup.kernels.utf8 import is_utf8, utf8_damage

_TABLES = read_toml(Path(__file__).with_name("charset.toml"))
COMMON = frozenset("".join(_TABLES["common"].values()))
CYRILLIC_TOO: str = _TABLES["less_common"]["cyrillic"]
ODD_IN_EUROPE: str = _TABLES["less_common"]["odd_in_europe"]
CODECS: dict[str, str] = _TABLES["codecs"]
NAMES = {codecs.lookup(codec).name: name for name, codec in CODECS.items()} | _TABLES["names"]
LABELS: dict[str, str] = _TABLES["labels"]

KANA = re.compile("[ぁ-ヺ]")
ENOUGH = 4000  # characters; more would not change the score
NON_ASCII = re.compile(r"[^\x00-\x7f]+")
# What no real text has: three letters with accents in a row (dashes and hard spaces do come in
# rows), a word in two alphabets, and a capital after a small letter in Cyrillic.
CROWDED = re.compile(r"[\xa1-\xac\xae-\u024f]{3,}")
MIXED = re.compile("[A-Za-z][\u0370-\u0e7f]|[\u0370-\u0e7f][A-Za-z]|[а-яё][А-ЯЁ]")


def score(text: str, *, kana: bool = True) -> float:
    """From about -3 (certainly not writing) to 1, over the characters that are not ASCII.

    Without `kana` they count for nothing: GBK, Big5 and EUC-KR hold them too, but pages in these
    are not Japanese, and GBK has them where EUC-JP does.
    """
    runs = _runs(text)
    sample = "".join(NON_ASCII.findall(runs))
    if not sample:
        return 0.0
    value = sum(weight(character) * count for character, count in Counter(sample).items())
    if not kana:
        value -= len(KANA.findall(sample))
    wrong = sum(len(run) for run in CROWDED.findall(runs)) + len(MIXED.findall(runs))
    return (value - 1.5 * wrong) / len(sample)


def _runs(text: str) -> str:
    """The first `ENOUGH` characters that are not ASCII, each run with its neighbours, in lines."""
    codes = np.frombuffer(text.encode("utf-32-le", "replace"), np.uint32)
    places = np.flatnonzero(codes > 0x7F)[:ENOUGH]  # ten times as fast as a regular expression
    if not len(places):
        return ""
    breaks = np.flatnonzero(np.diff(places) > 1)
    starts = places[np.append(0, breaks + 1)].tolist()
    ends = places[np.append(breaks, -1)].tolist()
    return "\n".join(
        text[max(start - 1, 0) : end + 2] for start, end in zip(starts, ends, strict=True)
    )


@cache
def weight(character: str) -> float:
    """How much one character suggests that the text is real."""
    if character == "\ufffd":
        return -3.0
    if character in COMMON or "\u3041" <= character <= "\u30fa":
        return 1.0
    category = unicodedata.category(character)
    if category in ("Cc", "Cn", "Co", "Cf"):
        return -2.0
    if "\uff61" <= character <= "\uff9f":  # half-width kana: what Shift_JIS makes of anything
        return -0.5
    if character in ODD_IN_EUROPE or "\u2500" <= character <= "\u259f":  # boxes, which KOI8 has
        return -0.4
    if character in CYRILLIC_TOO:
        return 0.4
    if character > "\u2e7f":
        return 0.0
    # Letters of other alphabets, small ones where there are two kinds. Cyrillic is dealt with.
    is_letter = category in ("Lo", "Ll", "Mn") and character > "\u0370"
    return 0.8 if is_letter and not "Ѐ" <= character <= "ԯ" else 0.1


UTF_8 = "UTF-8"

BOMS = (
    (codecs.BOM_UTF8, UTF_8, "utf-8"),
    (codecs.BOM_UTF32_LE, "UTF-32LE", "utf-32-le"),  # before UTF-16: its mark begins with theirs
    (codecs.BOM_UTF32_BE, "UTF-32BE", "utf-32-be"),
    (codecs.BOM_UTF16_LE, "UTF-16LE", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "UTF-16BE", "utf-16-be"),
)


# The charsets to try if no declaration fits.
USUAL = ("GBK", "Big5", "Shift_JIS", "EUC-JP", "EUC-KR", "windows-1251", "KOI8-R", "windows-1252")

JAPANESE = ("Shift_JIS", "EUC-JP", "ISO-2022-JP", "UTF-8")

HEAD = 4096  # bytes searched for a declaration
SAMPLE = 262_144  # bytes that are scored
SOUND = 8  # valid characters per damaged byte from which text counts as damaged UTF-8
CERTAIN = 0.4  # a declared charset with this score is accepted without trying others
DECLARED_BONUS, DETECTED_BONUS = 0.15, 0.1

COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
META = re.compile(rb"<meta\s[^>]*?charset\s*=\s*(?:[\"']\s*)?([\w.:-]+)", re.IGNORECASE)
XML = re.compile(rb"^\s*<\?xml\s[^>]*?encoding\s*=\s*[\"']([\w.:-]+)", re.IGNORECASE)
JIS_ESCAPE = re.compile(rb"\x1b(?:\$[@B]|\([IJ])")


def to_utf8(body: bytes, declared: str = "") -> tuple[bytes, str]:
    """`body` as valid UTF-8, and the (WHATWG) name of the charset it was in.

    `declared` is what the HTTP header says. A body that is UTF-8 already is returned as it is.
    """
    for mark, name, codec in BOMS:
        if body.startswith(mark):
            rest = body[len(mark) :]
            return (_sound_utf8(rest) if name == UTF_8 else _recode(rest, codec)), name
    name = _wide(body) or _escaped(body)
    if name:
        return _recode(body, CODECS[name]), name
    data = np.frombuffer(body, np.uint8)
    if is_utf8(data):
        return body, UTF_8
    whole, damaged = utf8_damage(data)
    if whole >= max(1, SOUND * damaged):
        return _recode(body, "utf-8"), UTF_8
    name = _most_plausible(body, declared)
    return _recode(body, CODECS[name]), name


class Bodies(NamedTuple):
    """Pages as UTF-8: page p is data[ends[p]:ends[p + 1]]."""

    data: NDArray[np.uint8]
    ends: Numbers
    charsets: list[str]

    def page(self, row: int) -> memoryview:
        """The bytes of a page, not copied."""
        return memoryview(self.data)[self.ends[row] : self.ends[row + 1]]  # type: ignore[arg-type]


def bodies_to_utf8(
    data: NDArray[np.uint8], ends: Numbers, declared: Callable[[int], str]
) -> Bodies:
    """`to_utf8` of many bodies; `declared` is what the header of each says. Bodies that are UTF-8
    already are not copied if all are."""
    charsets = [UTF_8] * (ends.size - 1)
    odd = odd_charsets(data, ends, HEAD)
    if not odd.any():
        return Bodies(data, ends, charsets)
    sizes = np.diff(ends)
    pieces: list[bytes | memoryview] = []
    view = memoryview(data)  # type: ignore[arg-type]
    rows = np.flatnonzero(odd).tolist()
    for before, row in pairwise([-1, *rows]):
        body = view[ends[row] : ends[row + 1]].tobytes()
        piece, charsets[row] = to_utf8(body, declared(row))
        sizes[row] = len(piece)
        pieces += [view[ends[before + 1] : ends[row]], piece]
    pieces.append(view[ends[rows[-1] + 1] : ends[-1]])
    joined = np.frombuffer(b"".join(pieces), np.uint8)
    return Bodies(joined, offsets_of(sizes), charsets)


def _recode(body: bytes, codec: str) -> bytes:
    # "replace" on both sides: what cannot be read becomes U+FFFD, a lone surrogate "?".
    return body.decode(codec, "replace").encode("utf-8", "replace")


def _sound_utf8(body: bytes) -> bytes:
    return body if is_utf8(np.frombuffer(body, np.uint8)) else _recode(body, "utf-8")


def _wide(body: bytes) -> str:
    """UTF-16 without a mark: half the bytes of markup are NUL, and always the same half."""
    head = body[:HEAD]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if (even + odd) * 50 < len(head):
        return ""
    if odd > 8 * even:
        return "UTF-16LE"
    return "UTF-16BE" if even > 8 * odd else ""


def _escaped(body: bytes) -> str:
    """ISO-2022-JP looks like ASCII except for its escapes."""
    has_escape = b"\x1b" in body and JIS_ESCAPE.search(body) and body.isascii()
    return "ISO-2022-JP" if has_escape else ""


def _most_plausible(body: bytes, declared: str) -> str:
    """The charset whose decoding looks most like text; declared charsets come first."""
    sample = _sample(body)
    stated = _best(sample, dict.fromkeys(_declared(body, declared), DECLARED_BONUS))
    if stated and stated[1] >= CERTAIN + DECLARED_BONUS:
        return stated[0]
    proposals = dict.fromkeys(USUAL, 0.0)
    proposals |= dict.fromkeys(
        _known(detect_encoding(body, SAMPLE, html5_compatible=False)), DETECTED_BONUS
    )
    best = _best(sample, proposals)
    return max(filter(None, (stated, best)), key=lambda scored: scored[1])[0]


def _best(sample: bytes, proposals: dict[str, float]) -> tuple[str, float] | None:
    """The proposal whose decoding scores highest, including its bonus; ties go to the first."""
    scored = [
        (name, bonus + score(sample.decode(CODECS[name], "replace"), kana=name in JAPANESE))
        for name, bonus in proposals.items()
    ]
    return max(scored, key=lambda each: each[1], default=None)


def _declared(body: bytes, header: str) -> list[str]:
    """The charsets that the header and the page itself name, the header's first."""
    head = COMMENT.sub(b"", body[:HEAD])
    matches = (XML.match(head), META.search(head))
    labels = [header, *(match.group(1).decode("ascii") for match in matches if match)]
    return [name for label in labels for name in _known(label)]


def _known(label: str | None) -> list[str]:
    """The charset of a label, unless it is UTF-16."""
    name = charset_name(label or "")
    return [name] if name and not name.startswith("UTF-16") else []


def _sample(body: bytes) -> bytes:
    """The part to score, starting at the first non-ASCII byte."""
    first = re.search(rb"[\x80-\xff]", body)
    start = first.start() if first else 0
    return body[start : start + SAMPLE]


def charset_name(label: str) -> str:
    """The WHATWG name for a charset label as headers and pages write it; empty when unknown."""
    plain = label.strip(" \t\r\n'\";").lower()
    if plain in LABELS:
        return LABELS[plain]
    codec = map_encoding_to_html5(plain, fallback_utf8=False)
    return NAMES.get(codecs.lookup(codec).name, "") if codec else ""
