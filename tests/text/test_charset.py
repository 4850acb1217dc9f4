"""Pages in every charset, with declarations that tell the truth, lie, or are not there."""

from __future__ import annotations

import codecs

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neardup.kernels.utf8 import is_utf8
from neardup.text.charset import charset_name, to_utf8

SIMPLIFIED = (
    "<title>新闻</title><p>政府网今日发布消息，会议研究部署进一步扩大内需的政策措施。"
    "会议指出，今年以来经济运行总体平稳，人民生活继续得到改善。"
)
TRADITIONAL = (
    "<title>新聞</title><p>氣象局今天表示，受到東北季風影響，北部地區天氣轉涼，民眾外出請注意保暖。"
    "這個週末的活動將如期舉行。"
)
JAPANESE = (
    "<title>ニュース</title><p>東京都は今日、新しい計画を発表しました。"
    "これにより、都民の生活がより便利になると期待されています。"
)
KOREAN = (
    "<title>뉴스</title><p>정부는 오늘 새로운 정책을 발표했다. "
    "이에 따라 국민들의 생활이 더욱 편리해질 것으로 기대된다."
)
RUSSIAN = (
    "<title>Новости</title><p>Сегодня правительство объявило о новых мерах поддержки экономики. "
    "По словам министра, это поможет людям."
)
GERMAN = "<p>Die Bäume wachsen über die Häuser, müssen aber für größere Straßen weichen."
FRENCH = "<p>Le gouvernement a annoncé des mesures pour l'économie. Ça ira très bien, même à l'été."
POLISH = "<p>Rząd ogłosił dziś nowe środki wsparcia. Według ministra pomoże to ludziom żyć lżej."
TURKISH = "<p>Hükümet bugün yeni önlemler açıkladı. Şu ağaç çok yaşlı, hava ılık değil."
GREEK = "<p>Η κυβέρνηση ανακοίνωσε σήμερα νέα μέτρα στήριξης της οικονομίας και των πολιτών."
HEBREW = "<p>הממשלה הודיעה היום על צעדים חדשים לתמיכה בכלכלה ובאזרחים של המדינה"
ARABIC = "<p>أعلنت الحكومة اليوم عن إجراءات جديدة لدعم الاقتصاد والمواطنين في البلاد"
THAI = "<p>รัฐบาลประกาศมาตรการใหม่เพื่อสนับสนุนเศรษฐกิจและประชาชนในวันนี้"
LATVIAN = "<p>Valdība šodien paziņoja par pasākumiem. Tas palīdzēs cilvēkiem dzīvot vieglāk."
VIETNAMESE = (
    "<p>Chi\u0301nh phu\u0309 hôm nay công bô\u0301 nhiê\u0300u biê\u0323n pha\u0301p mơ\u0301i"
)

# text, codec that writes it, the name to find, a label that pages use for it
WRITTEN = (
    (SIMPLIFIED, "gb2312", "GBK", "gb2312"),
    (SIMPLIFIED, "gbk", "GBK", "GBK"),
    (SIMPLIFIED + "𠀀㐀", "gb18030", "gb18030", "gb18030"),
    (TRADITIONAL, "big5", "Big5", "big5"),
    (TRADITIONAL + "嘅咗", "big5hkscs", "Big5", "Big5-HKSCS"),
    (JAPANESE, "cp932", "Shift_JIS", "x-sjis"),
    (JAPANESE, "euc_jp", "EUC-JP", "EUC-JP"),
    (KOREAN, "euc_kr", "EUC-KR", "ks_c_5601-1987"),
    (KOREAN + "햏", "cp949", "EUC-KR", "cp949"),
    (POLISH, "cp1250", "windows-1250", "windows-1250"),
    (POLISH, "iso8859-2", "ISO-8859-2", "iso-8859-2"),
    (RUSSIAN, "cp1251", "windows-1251", "cp1251"),
    (RUSSIAN, "koi8-r", "KOI8-R", "koi8-r"),
    (RUSSIAN, "iso8859-5", "ISO-8859-5", "iso-8859-5"),
    (GERMAN, "cp1252", "windows-1252", "iso-8859-1"),
    (FRENCH + " 5 €", "iso8859-15", "ISO-8859-15", "iso-8859-15"),
    (GREEK, "cp1253", "windows-1253", "windows-1253"),
    (TURKISH, "cp1254", "windows-1254", "iso-8859-9"),
    (HEBREW, "cp1255", "windows-1255", "windows-1255"),
    (ARABIC, "cp1256", "windows-1256", "windows-1256"),
    (LATVIAN, "cp1257", "windows-1257", "windows-1257"),
    (VIETNAMESE, "cp1258", "windows-1258", "windows-1258"),
    (THAI, "cp874", "windows-874", "tis-620"),
)
LIES = ("gbk", "big5", "utf-8", "iso-8859-1", "shift_jis", "utf-16", "no-such-charset")


@pytest.mark.parametrize(("text", "codec", "name", "label"), WRITTEN)
def test_declared_in_the_header(text: str, codec: str, name: str, label: str) -> None:
    assert to_utf8(text.encode(codec), label) == (text.encode(), name)


@pytest.mark.parametrize(("text", "codec", "name", "label"), WRITTEN)
@pytest.mark.parametrize(
    "form",
    [
        '<meta charset="{}">',
        "<META CHARSET={} />",
        '<meta http-equiv="Content-Type" content="text/html; charset={}">',
        '<?xml version="1.0" encoding="{}"?>',
        '<!-- <meta charset="utf-8"> --><script charset="utf-8"></script><meta charset="{}">',
    ],
)
def test_declared_in_the_page(text: str, codec: str, name: str, label: str, form: str) -> None:
    page = form.format(label) + text
    assert to_utf8(page.encode(codec)) == (page.encode(), name)


UNDECLARED = tuple(
    each[:2] for each in WRITTEN if each[1] not in ("iso8859-15", "cp1257", "cp1258")
)


@pytest.mark.parametrize(("text", "codec"), UNDECLARED)
def test_not_declared_at_all(text: str, codec: str) -> None:
    assert to_utf8(text.encode(codec))[0].decode() == text


@pytest.mark.parametrize(("text", "codec"), [each for each in UNDECLARED if each[1] != "cp1254"])
@pytest.mark.parametrize("lie", LIES)
def test_header_lies(text: str, codec: str, lie: str) -> None:
    assert to_utf8(text.encode(codec), lie)[0].decode() == text


@pytest.mark.parametrize("lie", [*LIES, "windows-1251", "euc-kr"])
@pytest.mark.parametrize("text", [each[0] for each in WRITTEN])
def test_utf8_stays_the_same_object_whatever_was_said(text: str, lie: str) -> None:
    page = f'<meta charset="{lie}">{text}'.encode()
    body, name = to_utf8(page, lie)
    assert body is page
    assert name == "UTF-8"


def test_page_says_utf8_and_is_gbk() -> None:
    page = '<meta charset="utf-8">' + SIMPLIFIED
    assert to_utf8(page.encode("gbk"), "utf-8")[0].decode() == page


def test_header_says_latin1_and_the_page_knows_better() -> None:
    page = '<meta charset="windows-1251">' + RUSSIAN
    assert to_utf8(page.encode("cp1251"), "iso-8859-1") == (page.encode(), "windows-1251")
    page = '<meta charset="windows-1254">' + TURKISH
    assert to_utf8(page.encode("cp1254"), "iso-8859-1") == (page.encode(), "windows-1254")


@pytest.mark.parametrize("text", [SIMPLIFIED, RUSSIAN, GERMAN * 3])
def test_utf8_with_a_broken_byte_stays_utf8(text: str) -> None:
    at = text.index("<p>") + 3
    page = text[:at].encode() + b"\xff" + text[at:].encode()
    assert to_utf8(page, "gbk") == ((text[:at] + "\ufffd" + text[at:]).encode(), "UTF-8")


@pytest.mark.parametrize("cut", [1, 2])
def test_utf8_cut_in_a_character_stays_utf8(cut: int) -> None:
    page = (SIMPLIFIED + "完").encode()[:-cut]
    assert to_utf8(page, "gbk") == ((SIMPLIFIED + "\ufffd").encode(), "UTF-8")


@pytest.mark.parametrize(
    ("mark", "codec", "name"),
    [
        (codecs.BOM_UTF8, "utf-8", "UTF-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16LE"),
        (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16BE"),
        (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32LE"),
        (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32BE"),
    ],
)
def test_byte_order_mark_wins_over_what_was_said(mark: bytes, codec: str, name: str) -> None:
    page = '<meta charset="big5">' + SIMPLIFIED
    assert to_utf8(mark + page.encode(codec), "gbk") == (page.encode(), name)


@pytest.mark.parametrize(("codec", "name"), [("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE")])
@pytest.mark.parametrize("text", [SIMPLIFIED, GERMAN, "<html>plain"])
def test_utf16_without_a_mark(text: str, codec: str, name: str) -> None:
    assert to_utf8(text.encode(codec)) == (text.encode(), name)


def test_iso_2022_jp_is_told_by_its_escapes() -> None:
    assert to_utf8(JAPANESE.encode("iso2022_jp")) == (JAPANESE.encode(), "ISO-2022-JP")
    plain = b"an \x1b escape in plain text"
    assert to_utf8(plain, "iso-2022-jp") == (plain, "UTF-8")


def test_stray_nul_bytes_are_left_to_the_parser() -> None:
    page = b"<p>a\x00b</p>" + b"x" * 1000
    assert to_utf8(page) == (page, "UTF-8")


def test_damaged_multi_byte_page_keeps_its_charset() -> None:
    page = SIMPLIFIED.encode("gbk") + b"\xff\xff" + SIMPLIFIED.encode("gbk")
    body, name = to_utf8(page, "gb2312")
    assert name == "GBK"
    assert body.decode().count("\ufffd") == 2


def test_long_ascii_before_the_first_letter() -> None:
    page = "<script>" + "x = 1;\n" * 60_000 + "</script>" + SIMPLIFIED
    assert to_utf8(page.encode("gbk"))[0].decode() == page


@given(st.binary(max_size=200), st.text(max_size=12))
@example(b"\xff\xfe\x00", "utf-16")
@example(b"\xff", "")
@example(b"", "\ud800")
@example(b"\xe9", "\x00\u0130")
def test_anything_becomes_valid_utf8(body: bytes, declared: str) -> None:
    converted, name = to_utf8(body, declared)
    assert is_utf8(np.frombuffer(converted, np.uint8))
    assert name


def test_labels_become_names() -> None:
    labels = {" GB2312 ": "GBK", "'utf8'": "UTF-8", "latin1": "windows-1252", "sjis": "Shift_JIS"}
    assert {label: charset_name(label) for label in labels} == labels
    assert charset_name("x-user-defined") == ""
    assert charset_name("") == ""
