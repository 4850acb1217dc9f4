"""UTF-8, plainly: what Python's decoder says."""

from __future__ import annotations


def is_utf8(data: bytes) -> bool:
    """Whether the bytes are valid UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def utf8_damage(data: bytes) -> tuple[int, int]:
    """Whole characters of several bytes, and bytes of none; one cut at the end is neither."""
    whole, damaged, at = 0, 0, 0
    while at < len(data):
        for size in (1, 2, 3, 4):
            if is_utf8(data[at : at + size]):
                whole += size > 1
                at += size
                break
        else:
            if is_cut(data[at:]):
                break
            damaged += 1
            at += 1
    return whole, damaged


def is_cut(tail: bytes) -> bool:
    """Whether more bytes could make one character of these."""
    try:
        tail.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start == 0 and error.reason == "unexpected end of data"
    return False
