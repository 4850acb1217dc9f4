"""The plain truth for `kernels.sentence_ends`."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

from neardup.kernels.sentences import CLOSING, STRONG, WEAK

TERMINATORS = {chr(code) for code in (*STRONG, *WEAK)}
CLOSINGS = {chr(code) for code in CLOSING}
RUN = 4


def han_before_stops(text: str) -> list[str]:
    """The Han character right before each full stop that has one."""
    return [before for before, stop in pairwise(text) if stop in "。｡" and is_han(before)]


def last_word(sentence: str) -> str:
    """The last word of a sentence that ends in punctuation, or nothing."""
    bare = sentence
    while bare and not is_of_word(bare[-1]):
        bare = bare[:-1]
    ending = sentence[len(bare) :].rstrip("".join(CLOSINGS - TERMINATORS))
    if not ending or ending[-1] not in TERMINATORS:
        return ""
    word = ""
    while bare and is_of_word(bare[-1]):
        singles = sum(map(is_single, word))
        if is_single(bare[-1]) and singles == RUN:
            break
        if not is_single(bare[-1]) and singles:
            break
        word, bare = bare[-1] + word, bare[:-1]
    return word


def is_han(character: str) -> bool:
    """Whether it is an ideograph."""
    name = unicodedata.name(character, "")
    named = name.startswith(("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "IDEOGRAPHIC"))
    return named and (character.isalpha() or character == "〇")


def is_of_word(character: str) -> bool:
    """Whether it is a letter, a digit or a mark on one."""
    category = unicodedata.category(character)
    return category[0] in "LM" or category == "Nd" or is_han(character)


def is_single(character: str) -> bool:
    """Whether it is written without spaces, so that it counts as a token by itself."""
    name = unicodedata.name(character, "")
    return is_han(character) or name.startswith(("HIRAGANA LETTER", "KATAKANA LETTER"))
