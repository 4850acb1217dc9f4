"""Tokens, plainly: by the categories and names of characters."""

from __future__ import annotations

import unicodedata

UNSPACED = (
    *("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "IDEOGRAPHIC"),
    *("HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA", "BOPOMOFO"),
    *("THAI", "LAO", "KHMER", "MYANMAR"),
)
TWO_64 = 1 << 64


def tokens(text: str) -> list[str]:
    """The tokens of folded text."""
    found: list[str] = []
    goes_on = ""  # the roles that would continue the last token
    for character in text:
        role = role_of(character)
        if role in goes_on.split():
            found[-1] += character
        elif role in ("word", "single"):
            found.append(character)
            goes_on = "word mark" if role == "word" else "mark"
        else:
            goes_on = ""
    return found


def role_of(character: str) -> str:
    """What a character is to tokens: word, single, mark or nothing."""
    category = unicodedata.category(character)
    if category[0] == "M":
        return "mark"
    if category[0] not in "LN":
        return ""
    unspaced = unicodedata.name(character, "").startswith(UNSPACED) and category != "Nd"
    return "single" if unspaced else "word"


def token_hash(token: str) -> int:
    """FNV-1a, then the finaliser of MurmurHash3."""
    state = 0xCBF29CE484222325
    for byte in token.encode():
        state = (state ^ byte) * 0x100000001B3 % TWO_64
    state = (state ^ state >> 33) * 0xFF51AFD7ED558CCD % TWO_64
    state = (state ^ state >> 33) * 0xC4CEB9FE1A85EC53 % TWO_64
    return state ^ state >> 33
