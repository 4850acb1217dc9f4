"""Makes the character tables that are shipped in src/neardup/kernels/data.

    python tools/make_folding_table.py [FOLDER]

`characters.npz`: for every code point one byte: what it is to tokens and sentences, and its script.
The tables are files, not computed where they are used, because hashes of folded text are stored on
disk: they must not change with the Python (so the Unicode version) of the machine.
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

CODE_POINTS = 0x110000
DATA = Path(__file__).parents[1] / "src" / "neardup" / "kernels" / "data"

# The low four bits: the script of a letter. The order is the order of `kernels.scripts.SCRIPTS`.
NAME_STARTS = (
    ("LATIN", "FULLWIDTH LATIN", "FEMININE ORDINAL", "MASCULINE ORDINAL"),
    ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "IDEOGRAPHIC"),
    ("HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA"),
    ("HANGUL", "HALFWIDTH HANGUL"),
    ("CYRILLIC",),
    ("GREEK",),
    ("ARABIC",),
    ("HEBREW",),
    ("THAI",),
    ("DEVANAGARI",),
)
OTHER_SCRIPT = len(NAME_STARTS)
NO_SCRIPT = 15

# The next three bits: what the character is to tokens and sentences.
NOTHING, SPACE, WORD, SINGLE, MARK = range(5)
CLASS_SHIFT = 4
LOWER_CASE = 128  # the highest bit

# Written without spaces between words: each character is a token of its own.
UNSPACED = (*NAME_STARTS[1], *NAME_STARTS[2], "THAI", "LAO", "KHMER", "MYANMAR", "BOPOMOFO")


def script_of(character: str) -> int:
    """Which script a letter is in; only letters have one."""
    name = unicodedata.name(character, "")
    if unicodedata.category(character)[0] != "L" and character != "〇":
        return NO_SCRIPT
    for script, starts in enumerate(NAME_STARTS):
        if name.startswith(starts):
            return script
    return OTHER_SCRIPT


def class_of(character: str) -> int:
    """What the character is to tokens."""
    category = unicodedata.category(character)
    if character.isspace():
        return SPACE
    if category[0] == "M":
        return MARK
    if category[0] not in "LN":
        return NOTHING
    # Digits of unspaced scripts make numbers, so they are words like all digits.
    unspaced = unicodedata.name(character, "").startswith(UNSPACED) and category != "Nd"
    return SINGLE if unspaced else WORD


def character_classes() -> NDArray[np.uint8]:
    """One byte for every code point."""
    classes = np.full(CODE_POINTS, NO_SCRIPT, np.uint8)
    for code in range(CODE_POINTS):
        character = chr(code)
        if unicodedata.category(character) in ("Cn", "Co", "Cs"):
            continue
        lower = LOWER_CASE if unicodedata.category(character) == "Ll" else 0
        classes[code] = lower | class_of(character) << CLASS_SHIFT | script_of(character)
    return classes


def in_pages(table: NDArray[np.generic]) -> tuple[NDArray[np.uint8], NDArray[np.generic]]:
    """The table in pages of 256 with equal pages stored once: `pages[index[c >> 8] * 256 + c % 256]`."""
    pages, index = np.unique(table.reshape(-1, 256), axis=0, return_inverse=True)
    # The page of ASCII comes first, so that its class is `pages[byte]`.
    first = index[0]
    order = np.argsort(np.arange(len(pages)) != first, kind="stable")
    rank = np.empty(len(pages), np.uint8)
    rank[order] = np.arange(len(pages))
    return rank[index], pages[order].ravel()


def write(path: Path, **arrays: NDArray[np.generic]) -> None:
    """A compressed file, the same bytes for the same arrays, that says its Unicode version."""
    version = np.array([int(part) for part in unicodedata.unidata_version.split(".")])
    np.savez_compressed(path, unicode=version, **arrays)  # type: ignore[arg-type]
    print(f"{path.name}: {path.stat().st_size:,} bytes")


def main(folder: Path) -> None:
    """Write every table into `folder`."""
    index, pages = in_pages(character_classes())
    write(folder / "characters.npz", index=index, pages=pages)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
