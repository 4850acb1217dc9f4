"""The main script of a text, and the language it tells."""

from __future__ import annotations

import numpy as np
import pytest

from neardup.kernels.characters import count_scripts
from neardup.text.metadata import language_of_script, main_script


@pytest.mark.parametrize(
    ("text", "script", "language"),
    [
        ("plain English", "Latn", ""),
        ("中文网页去重", "Hani", "zh"),
        ("東京都は新しい計画を発表しました", "Jpan", "ja"),
        ("カタカナ", "Jpan", "ja"),
        ("一首名为「さくら」的日本歌曲在网络上受到年轻听众的广泛欢迎与讨论", "Hani", "zh"),
        ("苹果公司发布了 iPhone 15 Pro Max 手机", "Hani", "zh"),
        ("한국어 문장", "Kore", "ko"),
        ("русский текст", "Cyrl", ""),
        ("ελληνικά", "Grek", "el"),
        ("نص عربي", "Arab", ""),
        ("עברית", "Hebr", "he"),
        ("ภาษาไทย", "Thai", "th"),
        ("हिन्दी", "Deva", ""),
        ("հայերեն", "Zyyy", ""),
        ("2023 — 100 %", "", ""),
        ("", "", ""),
    ],
)
def test_script_and_language(text: str, script: str, language: str) -> None:
    data = np.frombuffer(text.encode(), np.uint8)
    [row] = count_scripts(data, np.array([0, len(data)], np.int64))
    assert main_script(row) == script
    assert language_of_script(script) == language
