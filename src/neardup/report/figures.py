"""Numbers in words and figures, for people.

Text of pages as it may be shown: no character of it hides, reorders or ends anything.

A text written as what it does not share with another one: titles and URLs are much alike.
"""

from __future__ import annotations

import re


def percent(part: int, whole: int) -> str:
    """A share; never 0% of what is something, nor 100% of what lacks something."""
    if part in (0, whole):
        return "100%" if part else "0%"
    share = 100 * part / whole
    if share < 0.1:
        return "under 0.1%"
    if share > 99.9:
        return "over 99.9%"
    return f"{share:.1f}%"


def size(count: int) -> str:
    """Bytes in the largest unit that leaves a number before the point."""
    value, units = float(count), ["bytes", "KB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    if units[0] == "bytes":
        return plural(count, "byte")
    return f"{value:.1f} {units[0]}" if value < 9.95 else f"{value:.0f} {units[0]}"


def plural(count: int, word: str) -> str:
    """The count and the word that goes with it."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


# Controls but the tab and the line end, marks that turn the direction of writing, and halves of
# characters, which UTF-8 cannot hold.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_DELETE = 0x7F


def visible(text: str) -> str:
    """`text` with every hidden character in a form that can be seen."""
    return _HIDDEN.sub(_shown, text)


def shortened(text: str, limit: int) -> str:
    """One visible line of at most `limit` characters."""
    line = " ".join(visible(text[: 4 * limit]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == _DELETE:
        return "\u2421"
    return f"⟨U+{code:04X}⟩" if 0x2000 <= code < 0x2100 else "\ufffd"


WORTH_IT = 10  # characters shared before the shorter form is really shorter

# Nothing (it is the other text), the text itself, or characters shared at the start, at the end,
# and the text between.
Brief = str | tuple[int, int, str] | None


def against(text: str, other: str) -> Brief:
    """`text` as its difference from `other`."""
    if text == other:
        return None
    start = _shared_start(text, other)
    rest, other_rest = text[start:], other[start:]
    end = _shared_start(rest[::-1], other_rest[::-1])
    if start + end < WORTH_IT or not _counts_alike(text) or not _counts_alike(other):
        return text
    return start, end, rest[: len(rest) - end]


def _shared_start(text: str, other: str) -> int:
    """Characters in common from the start, found by halving."""
    low, high = 0, min(len(text), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if text[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _counts_alike(text: str) -> bool:
    """JavaScript counts characters beyond U+FFFF as two."""
    return text.isascii() or max(text) <= "\uffff"
