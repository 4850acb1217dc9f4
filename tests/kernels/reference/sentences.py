"""Sentences, plainly. The rules stand in `kernels/sentences.py`."""

from __future__ import annotations

import re
import unicodedata

from kernels.reference.tokens import role_of
from neardup.kernels.sentences import NUMBERED_WORDS, TITLE_WORDS

STRONG = "。！？｡।॥؟۔։።፧។။‼⁇⁈⁉"
WEAK = ".!?…"
CLOSING = ")]}\"'”’»›」』）】》〉〕］｝＂＇〗〙〛｣"
OPENING = "“‘「『（【《〈〔"
RUN = re.compile(
    f"[{re.escape(STRONG + WEAK + '．')}][{re.escape(STRONG + WEAK + '．' + CLOSING)}]*"
)


def sentences(text: str) -> list[str]:
    """The sentences of a text in order, without the white space around them."""
    return [sentence for line in text.split("\n") for sentence in _of_line(line)]


def _of_line(line: str) -> list[str]:
    found, start, at = [], 0, 0
    while run := RUN.search(line, at):
        at = run.end()
        if not has_content(line[start : run.start()]) or _is_digit_stop(line, run.start()):
            at = run.start() + 1
        elif _ends(line[start : run.start()], run.group(), line[at:]):
            found.append(line[start:at])
            start = at
    found.append(line[start:])
    return [sentence.strip() for sentence in found if has_content(sentence)]


def _is_digit_stop(line: str, at: int) -> bool:
    return line[at] == "．" and is_digit(line[at - 1])


def _ends(before: str, run: str, after: str) -> bool:
    if run[0] == "．" or any(character in STRONG for character in run):
        return True
    following = after.lstrip()[:1]
    if following and not after[0].isspace():
        return run[0] in "!?" and (is_cjk(following) or following in OPENING)
    if following and unicodedata.category(following) == "Ll":
        return False
    return run != "." or not (_has_no_letter(before) or _is_inner_stop(before, following))


def _has_no_letter(text: str) -> bool:
    return not any(unicodedata.category(each)[0] == "L" or each == "〇" for each in text)


def _is_inner_stop(before: str, following: str) -> bool:
    """Whether the full stop after `before` belongs to an initial or an abbreviation."""
    at = len(before)
    while at and role_of(before[at - 1]) in ("word", "mark"):
        at -= 1
    word = before[at:]
    letters = [each for each in word if role_of(each) == "word"]
    if any(map(is_digit, letters)):
        return False
    if len(letters) == 1:
        return word not in ("m", "M")
    if word.lower() in TITLE_WORDS.split() and word.isascii():
        return True
    numbered = word.lower() in NUMBERED_WORDS.split() and word.isascii()
    return numbered and bool(following) and is_digit(following)


def has_content(text: str) -> bool:
    """Whether there is a letter or digit."""
    return any(unicodedata.category(character)[0] in "LN" for character in text)


def is_digit(character: str) -> bool:
    """A digit or number in any script that is not a letter of its language."""
    return unicodedata.category(character)[0] == "N" and role_of(character) == "word"


def is_cjk(character: str) -> bool:
    """Han or Kana."""
    starts = ("CJK UNIFIED", "CJK COMPATIBILITY IDEO", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA")
    is_letter = unicodedata.category(character)[0] == "L" or character == "〇"
    return is_letter and unicodedata.name(character, "").startswith((*starts, "HALFWIDTH KATAKANA"))
