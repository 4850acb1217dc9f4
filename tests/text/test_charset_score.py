"""What looks like writing scores above what does not."""

from __future__ import annotations

import pytest

from neardup.text.charset import score

CHINESE = "政府网今日发布消息，会议研究部署进一步扩大内需的政策措施。"
RUSSIAN = "Сегодня правительство объявило о новых мерах поддержки экономики"


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (CHINESE, "gb18030", ("big5hkscs", "cp932", "euc_jp", "cp949", "cp1251", "cp1252")),
        (RUSSIAN, "cp1251", ("koi8-r", "iso8859-5", "cp1252", "cp1250", "gb18030", "cp932")),
        ("Bäume für Straßen", "cp1252", ("cp1251", "cp1253", "gb18030", "big5hkscs", "koi8-r")),
    ],
)
def test_the_right_charset_scores_highest(text: str, right: str, wrong: tuple[str, ...]) -> None:
    page = text.encode(right)
    best = score(page.decode(right))
    assert best > 0.4
    assert all(score(page.decode(codec, "replace")) < best - 0.2 for codec in wrong)


def test_ascii_says_nothing() -> None:
    assert score("plain ASCII") == 0.0


def test_kana_count_only_where_japanese_is_written() -> None:
    assert score("これはひらがな") == 1.0
    assert score("これはひらがな", kana=False) == 0.0
