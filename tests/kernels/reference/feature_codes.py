"""Feature codes of paragraphs, plainly."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from neardup.kernels.characters import character_classes

SPACE, WORD, SINGLE, MARK = "s", "w", "c", "m"
ROLES = "." + SPACE + WORD + SINGLE + MARK
# One thing after another: a word with the signs inside it, a character, a sign, white space.
THINGS = re.compile(r"w[wm]*(?:\.w[wm]*)*|cm*|\.|s|m")


def paragraph_codes(paragraph: str, marks: int) -> tuple[str, list[str]]:
    """The first symbol, and the symbols before the first `marks` punctuation marks."""
    roles = "".join(_role(character) for character in paragraph)
    symbols: list[str] = []
    taken: list[str] = []
    waiting = False
    for thing in THINGS.finditer(roles):
        if thing[0][0] in WORD + SINGLE:
            symbols.append(paragraph[thing.start() : thing.end()])
            waiting = True
        elif thing[0] == "." and waiting and len(taken) < marks:
            taken.append(symbols[-1])
            waiting = False
    return (symbols[0] if symbols else ""), taken


def packed(symbol: str) -> int:
    """The first eight bytes of a symbol as a number."""
    return int.from_bytes(symbol.encode()[:8].ljust(8, b"\0"), "big")


def _role(character: str) -> str:
    index, pages = character_classes()
    code = ord(character)
    return ROLES[int(pages[int(index[code >> 8]) << 8 | code & 255]) >> 4 & 7]


def common_symbols(left: Sequence[int], right: Sequence[int]) -> int:
    """The size of the intersection of two multisets."""
    return (Counter(left) & Counter(right)).total()
