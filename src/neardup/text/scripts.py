"""The script a text is written in, and the language where the script tells it."""

from __future__ import annotations

from collections.abc import Sequence

from neardup.kernels.scripts import SCRIPTS

# ISO 15924, in the order of `SCRIPTS`; letters of other scripts count but name none.
CODES = ("Latn", "Hani", "Jpan", "Kore", "Cyrl", "Grek", "Arab", "Hebr", "Thai", "Deva", "Zyyy")
assert len(CODES) == len(SCRIPTS)
LATIN, HAN, KANA = 0, 1, 2

# Japanese runs at more kana than Han; Chinese pages name Japanese brands and songs. A quarter is
# far from both.
KANA_SHARE = 0.25

# A character of Han, Kana or Hangul says what takes two to three Latin letters, and Chinese pages
# are full of Latin names and numbers: half as many of them make the page theirs.
DENSE = {"Hani": 2, "Jpan": 2, "Kore": 2}

LANGUAGES = {"Hani": "zh", "Jpan": "ja", "Kore": "ko", "Grek": "el", "Hebr": "he", "Thai": "th"}


def main_script(row: Sequence[int]) -> str:
    """The script most of a text is in, by a row of `count_scripts`; empty without letters."""
    counts = {code: int(count) for code, count in zip(CODES, row, strict=True)}
    han, kana = counts["Hani"], counts["Jpan"]
    if kana >= KANA_SHARE * (han + kana):
        counts["Jpan"], counts["Hani"] = han + kana, 0
    else:
        counts["Hani"], counts["Jpan"] = han + kana, 0
    weighed = {code: count * DENSE.get(code, 1) for code, count in counts.items()}
    # Ties go to the first of CODES: dictionaries keep their order.
    best = max(weighed, key=lambda code: weighed[code])
    return best if weighed[best] else ""


def language_of_script(script: str) -> str:
    """The language that a script is (nearly) alone in writing, or empty."""
    return LANGUAGES.get(script, "")
