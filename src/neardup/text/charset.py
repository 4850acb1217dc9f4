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
from functools import cache

import numpy as np
from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

from neardup.kernels.utf8 import is_utf8, utf8_damage

# The commonest characters of Chinese news and web pages, simplified and traditional.
HAN = (
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能"
    "下过子说产种面而方后多定行学法所民得经十三之进着等部度家电力里如水化高自二理起小物现实加"
    "量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日那社义事平形相全表间样与"
    "关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系军很情者"
    "最立代想已通并提直题党程展五果料象员革位入常文总次品式活设及管特件长求老头基资边流路级少"
    "图山统接知较将组见计别她手角期根论运农指几九区强放决西被干做必战先回则任取据处队南给色光"
    "门即保治北造百规热领七海口东导器压志世金增争济阶油思术极交受联什认六共权收证改清己美再采"
    "转更单风切打白教速花带安场身车例真务具万每目至达走积示议声报斗完类八离华名确才科张信马节"
    "话米整空元况今集温传土许步群广石记需段研界拉林律叫且究观越织装影算低持音众书布复容儿须际"
    "商非验连断深难近矿千周委素技备半办青省列习响约支般史感劳便团往酸历市克何除消构府称太准精"
    "值号率族维划选标写存候毛亲快效斯院查江型眼王按格养易置派层片始却专状育厂京识适属圆包火住"
    "调满县局照参红细引听该铁价严龙飞闻网首页登录注册搜索版评源编辑请输友链您客服帮助這爲個國"
    "時來們於對會發動過說產種後學經進電裏現實兩體機當點從業應開還義間樣與關線內數麼質氣變條沒"
    "結問無軍並題黨員總設長頭資邊級圖統較將組見計別論運農幾區強決幹戰則據處隊給門規熱領東導壓"
    "爭濟階術極聯認權證採轉單風帶場車務萬達積議聲報鬥類離華確張馬節話況溫傳許羣廣記觀織裝衆書"
    "覆兒須際驗連斷難礦備辦習響約勞團歷構稱準號維劃選標寫親養層卻專狀廠識適屬圓調滿縣參紅細聽"
    "該鐵價嚴龍飛聞網頁錄註冊繫評佈編輯請輸鏈幫為裡眾復台灣"
)
HANGUL = (
    "이다는에의을가고하를도로지한사은자기리어시나인일서대수해정제아전라있그것니들보부장과만소"
    "주상구원스공성게선신여조문관계국동무화경유명방진면비생당회저학산치러실중세오었않았할및글"
    "더"
)
CJK_PUNCTUATION = "，。、：；？！“”‘’《》（）「」『』【】・ー　～—…·"
CYRILLIC = "оеаинтсрвл"  # seven letters of ten in Russian, Ukrainian or Bulgarian text
CYRILLIC_TOO = "кмдпуяыьгзбчйхжшюцщэфёіїє"
EUROPEAN = (
    "äöüßéèêëàâáãåæçñóòôõíìîïúùûøœýÿ"  # west
    "ąćęłńśźżčďěňřšťůžőűăşţșțğıđ"  # centre and south-east
    "āēģīķļņūėįų"  # north
    "ơư\u0300\u0301\u0303\u0309\u0323"  # and Vietnamese, whose marks stand apart
    "ÄÖÜÉÈÀÇÑÓÁÍÚÅØŁŚŻČŘŠŽİŞ"
    "\u00a0\u00ad–—‘’“”„…«»·•©®™°€£§´×"
)
COMMON = frozenset(HAN + HANGUL + CJK_PUNCTUATION + CYRILLIC + EUROPEAN)
ODD_IN_EUROPE = frozenset("¡¢¤¥¦¨ª¬¯±²³µ¶¸¹º¼½¾¿÷ƒ†‡‰ˆ˜ÐÞðþ")

KANA = re.compile("[ぁ-ヺ]")
ENOUGH = 4000  # characters; more would not change the score
NON_ASCII = re.compile(r"[^\x00-\x7f]+")
# What no writing has: three letters with accents in a row (dashes and hard spaces do come in rows),
# a word in two alphabets, and a capital after a small letter in Cyrillic.
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
    """What one character says for the text being writing."""
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
