"""Letters per script, plainly: by the names of the characters."""

from __future__ import annotations

import unicodedata

COLUMNS = (
    ("LATIN", "FULLWIDTH LATIN", "FEMININE ORDINAL", "MASCULINE ORDINAL"),
    ("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "IDEOGRAPHIC"),
    ("HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA"),
    ("HANGUL", "HALFWIDTH HANGUL"),
    ("CYRILLIC",),
    ("GREEK",),
    ("ARABIC",),
    ("HEBREW",),
    ("THAI",),
    ("DEVANAGARI",),
)


def count_scripts(texts: list[str]) -> list[list[int]]:
    """A row a text, a column a script, the last for letters of all other scripts."""
    rows = []
    for text in texts:
        row = [0] * (len(COLUMNS) + 1)
        for character in text:
            if character.isalpha() or character == "〇":
                row[_column(character)] += 1
        rows.append(row)
    return rows


def _column(letter: str) -> int:
    name = unicodedata.name(letter, "")
    for column, starts in enumerate(COLUMNS):
        if name.startswith(starts):
            return column
    return len(COLUMNS)
