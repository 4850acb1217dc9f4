"""Makes the character tables that are shipped in src/neardup/kernels/data.

    python tools/make_folding_table.py [FOLDER]

`characters.npz`: for every code point one byte: what it is to tokens and sentences, and its script.
`folding.npz`: what a code point becomes when text is folded for comparing, and what is needed to
compose characters with their marks.

Run it with the oldest Python that is supported. Normal forms of assigned characters never change
from one Unicode version to the next, so every newer Python agrees with these tables on all of them.
The tables are files, not computed where they are used, because hashes of folded text are stored on
disk: they must not change with the Python (so the Unicode version) of the machine.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from opencc import OpenCC

CODE_POINTS = 0x110000
DATA = Path(__file__).parents[1] / "src" / "neardup" / "kernels" / "data"

# The low four bits: the script of a letter. The order is the order of `kernels.characters.SCRIPTS`.
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


# Default_Ignorable_Code_Point (which `unicodedata` does not know): zero-width characters, the soft
# hyphen, bidi controls, variation selectors, fillers, tags; and the annotation characters.
IGNORABLE_RANGES = (
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
IGNORABLE = {chr(code) for first, last in IGNORABLE_RANGES for code in range(first, last + 1)}


def is_dropped(character: str) -> bool:
    """Whether folding removes the character."""
    is_control = unicodedata.category(character) == "Cc" and not character.isspace()
    return character in IGNORABLE or is_control


def folded(character: str, simplify: Callable[[str], str]) -> str:
    """What a character becomes: NFKC, case fold and simplified Han until nothing changes."""
    if character == "\n":
        return character
    before, text = "", unicodedata.normalize("NFD", character)
    while text != before:
        before = text
        text = "".join(each for each in text if not is_dropped(each))
        text = "".join(" " if each.isspace() else each for each in text)
        text = unicodedata.normalize("NFKC", text).casefold()
        text = "".join(simplify(each) for each in unicodedata.normalize("NFKC", text))
    return text


def simplified_han() -> Callable[[str], str]:
    """Traditional to simplified, a character at a time, as OpenCC has it."""
    convert = OpenCC("t2s").convert
    return lambda character: convert(character) if character > "\u2e7f" else character


def compositions() -> dict[tuple[int, int], int]:
    """Every pair of characters that NFC makes one of. Hangul is composed by arithmetic."""
    pairs = {}
    for code in range(CODE_POINTS):
        parts = unicodedata.decomposition(chr(code)).split()
        if len(parts) != 2 or parts[0].startswith("<"):
            continue
        if unicodedata.normalize("NFC", chr(code)) == chr(code):
            pairs[int(parts[0], 16), int(parts[1], 16)] = code
    return pairs


def combining_classes(pairs: dict[tuple[int, int], int]) -> NDArray[np.uint8]:
    """0 for what always begins anew; 255 for what may join the character before it without being
    a mark; else the canonical combining class."""
    classes = np.array([unicodedata.combining(chr(code)) for code in range(CODE_POINTS)], np.uint8)
    joining = {second for _, second in pairs} | {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}
    for code in joining:
        if not classes[code]:
            classes[code] = 255
    return classes


def folding_table() -> dict[str, NDArray[np.generic]]:
    """The arrays of `kernels.fold.FoldingTable`, but for those that only repeat these."""
    pairs = compositions()
    classes = combining_classes(pairs)
    simplify = simplified_han()
    # 0: unchanged, begins anew. 1: unchanged, may join what is before it. 2 on: a sequence.
    entries: dict[str, int] = {"": 2}
    actions = np.zeros(CODE_POINTS, np.uint16)
    for code in range(CODE_POINTS):
        character = chr(code)
        if unicodedata.category(character) in ("Cn", "Co", "Cs") and character not in IGNORABLE:
            continue
        text = folded(character, simplify)
        if text != character:
            actions[code] = entries.setdefault(text, len(entries) + 2)
        elif classes[code]:
            actions[code] = 1
    action_index, action_pages = in_pages(actions)
    class_index, class_pages = in_pages(classes)
    ordered = sorted(pairs)
    return {
        "action_index": action_index,
        "action_pages": action_pages,
        "starts": np.cumsum([0, 0, 0, *(len(text) for text in entries)]).astype(np.int32),
        "codes": np.array([ord(each) for text in entries for each in text], np.int32),
        "class_index": class_index,
        "class_pages": class_pages,
        "pairs": np.array(ordered, np.int32),
        "composites": np.array([pairs[pair] for pair in ordered], np.int32),
    }


def in_pages(table: NDArray[np.generic]) -> tuple[NDArray[np.uint16], NDArray[np.generic]]:
    """In pages of 256, equal pages stored once: `pages[index[c >> 8] * 256 + c % 256]`."""
    pages, index = np.unique(table.reshape(-1, 256), axis=0, return_inverse=True)
    # The page of ASCII comes first, so that its class is `pages[byte]`.
    first = index[0]
    order = np.argsort(np.arange(len(pages)) != first, kind="stable")
    rank = np.empty(len(pages), np.uint16)
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
    write(folder / "folding.npz", **folding_table())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
