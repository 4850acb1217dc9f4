"""The bytes of a page as UTF-8, whatever charset they came in and whatever was said about it.

The cheap certain ways come first: a byte-order mark, valid UTF-8 (nine pages of ten: returned as
they are), UTF-8 with a little damage. Only for the rest are the HTTP header, the page's own
declaration and detection asked, and none of them is believed unless its decoding looks like
writing (`charset_score`).
"""

from __future__ import annotations

import codecs
import re

import numpy as np
from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

from neardup.kernels.utf8 import is_utf8, utf8_damage
from neardup.text.charset_score import score

UTF_8 = "UTF-8"

BOMS = (
    (codecs.BOM_UTF8, UTF_8, "utf-8"),
    (codecs.BOM_UTF32_LE, "UTF-32LE", "utf-32-le"),  # before UTF-16: its mark begins with theirs
    (codecs.BOM_UTF32_BE, "UTF-32BE", "utf-32-be"),
    (codecs.BOM_UTF16_LE, "UTF-16LE", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "UTF-16BE", "utf-16-be"),
)

# WHATWG name -> the codec that decodes what pages of that name hold: always the largest superset.
CODECS = {
    "UTF-8": "utf-8",
    "UTF-16LE": "utf-16-le",
    "UTF-16BE": "utf-16-be",
    "GBK": "gb18030",
    "gb18030": "gb18030",
    "Big5": "big5hkscs",
    "Shift_JIS": "cp932",
    "EUC-JP": "euc_jp",
    "EUC-KR": "cp949",
    "ISO-2022-JP": "iso2022_jp_ext",
    "KOI8-R": "koi8-r",
    "KOI8-U": "koi8-u",
    "IBM866": "cp866",
    "macintosh": "mac-roman",
    "x-mac-cyrillic": "mac-cyrillic",
    "windows-874": "cp874",
    **{f"windows-{number}": f"cp{number}" for number in range(1250, 1259)},
    **{f"ISO-8859-{part}": f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
}
# What `map_encoding_to_html5` calls them, and labels it does not know.
NAMES = {codecs.lookup(codec).name: name for name, codec in CODECS.items()}
NAMES |= {"gbk": "GBK", "big5": "Big5", "shift_jis": "Shift_JIS", "euc_kr": "EUC-KR"}
NAMES |= {"iso2022_jp": "ISO-2022-JP", "iso8859-11": "windows-874", "gb18030": "gb18030"}
LABELS = {"cp932": "Shift_JIS", "ms932": "Shift_JIS", "cp949": "EUC-KR", "uhc": "EUC-KR"}
LABELS |= {"cp936": "GBK", "ms936": "GBK", "cp950": "Big5", "x-mac-cyrillic": "x-mac-cyrillic"}

# What a page is tried as when nothing that was said about it holds.
USUAL = ("GBK", "Big5", "Shift_JIS", "EUC-JP", "EUC-KR", "windows-1251", "KOI8-R", "windows-1252")

JAPANESE = ("Shift_JIS", "EUC-JP", "ISO-2022-JP", "UTF-8")

HEAD = 4096  # bytes in which a declaration is looked for
SAMPLE = 262_144  # bytes that are scored
SOUND = 8  # whole characters to a damaged byte that make damaged UTF-8 still UTF-8
CERTAIN = 0.4  # a declared charset with this score is believed without a look at others
DECLARED_BONUS, DETECTED_BONUS = 0.15, 0.1

COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
META = re.compile(rb"<meta\s[^>]*?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
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
    """ISO-2022-JP is ASCII to look at: only its escapes tell."""
    found = b"\x1b" in body and JIS_ESCAPE.search(body) and body.isascii()
    return "ISO-2022-JP" if found else ""


def _most_plausible(body: bytes, declared: str) -> str:
    """The charset whose decoding looks most like writing; what was declared is asked first."""
    sample = _sample(body)
    said = _best(sample, dict.fromkeys(_declared(body, declared), DECLARED_BONUS))
    if said and said[1] >= CERTAIN + DECLARED_BONUS:
        return said[0]
    proposals = dict.fromkeys(USUAL, 0.0)
    proposals |= dict.fromkeys(
        _known(detect_encoding(body, SAMPLE, html5_compatible=False)), DETECTED_BONUS
    )
    best = _best(sample, proposals)
    return max(filter(None, (said, best)), key=lambda scored: scored[1])[0]


def _best(sample: bytes, proposals: dict[str, float]) -> tuple[str, float] | None:
    """The proposal whose decoding scores highest, its bonus added; the first of equals."""
    scored = [
        (name, bonus + score(sample.decode(CODECS[name], "replace"), kana=name in JAPANESE))
        for name, bonus in proposals.items()
    ]
    return max(scored, key=lambda each: each[1], default=None)


def _declared(body: bytes, header: str) -> list[str]:
    """The charsets that the header and the page itself name, the header's first."""
    head = COMMENT.sub(b"", body[:HEAD])
    found = (XML.match(head), META.search(head))
    labels = [header, *(match.group(1).decode("ascii") for match in found if match)]
    return [name for label in labels for name in _known(label)]


def _known(label: str | None) -> list[str]:
    """The label's charset, if bytes that are no UTF-16 can be in it."""
    name = charset_name(label or "")
    return [name] if name and not name.startswith("UTF-16") else []


def _sample(body: bytes) -> bytes:
    """The part to score: from the first byte that is not ASCII on."""
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
