"""The plain truth for `kernels.text_bits`: which bytes are of a kind, one at a time."""

from __future__ import annotations

WIDE_ENDS = tuple(mark.encode() for mark in "。！？；")


def is_newline(data: bytes, at: int) -> bool:
    return data[at] == ord("\n")


def is_end(data: bytes, at: int) -> bool:
    """The last byte of a mark that ends a sentence; a stop does before white space only."""
    if data[at] == ord("."):
        return at + 1 == len(data) or data[at + 1] <= ord(" ")
    return data[at] in b"!?;" or data[: at + 1].endswith(WIDE_ENDS)


def is_run(data: bytes, at: int) -> bool:
    """All but what is between words."""
    return is_odd(data, at) or chr(data[at]).isalnum()


def is_odd(data: bytes, at: int) -> bool:
    """Not ASCII, or a control character that folding takes out."""
    return data[at] >= 0x80 or data[at] in (*range(9), *range(14, 28), 127)


def is_unspaced(data: bytes, at: int) -> bool:
    """The first byte of a character of Han or Kana, of the planes beyond, or of Thai or Lao."""
    if data[at] == 0xE0:
        return at + 1 < len(data) and 0xB8 <= data[at + 1] <= 0xBB
    return 0xE3 <= data[at] <= 0xE9 or data[at] == 0xF0
