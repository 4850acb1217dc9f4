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
    """Eight bytes at a time, then the finaliser of MurmurHash3."""
    state, content = 0, token.encode()
    for at in range(0, len(content), 8):
        eight = int.from_bytes(content[at : at + 8], "little")
        state = (state ^ eight) * 0x9E3779B97F4A7C15 % TWO_64
        state ^= state >> 32
    state = (state ^ state >> 33) * 0xFF51AFD7ED558CCD % TWO_64
    state = (state ^ state >> 33) * 0xC4CEB9FE1A85EC53 % TWO_64
    return state ^ state >> 33
