"""Folding for comparing, plainly. Only what a single character becomes is read from the table."""

from __future__ import annotations

import unicodedata

from neardup.kernels.fold import JOINING, folding_table


def fold(text: str) -> str:
    """The text as it is compared."""
    replaced = "".join(folded_character(character) for character in text)
    composed = unicodedata.normalize("NFC", replaced)
    return "\n".join(" ".join(filter(None, line.split(" "))) for line in composed.split("\n"))


def folded_character(character: str) -> str:
    """What the shipped table says that a character becomes."""
    tables = folding_table()
    code = ord(character)
    action = tables.action_pages[int(tables.action_index[code >> 8]) * 256 + code % 256]
    if action <= JOINING:
        return character
    codes = tables.codes[tables.starts[action] : tables.starts[int(action) + 1]]
    return "".join(map(chr, codes.tolist()))
