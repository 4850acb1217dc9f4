"""A text written as what it does not share with another one: titles and URLs are much alike."""

from __future__ import annotations

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
