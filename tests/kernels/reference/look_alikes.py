"""The slow plain truth of words that mix scripts."""

from __future__ import annotations

import re
import unicodedata

from neardup.kernels.characters import CYRILLIC_PAIRS, GREEK_PAIRS

PAIRS = {
    script: dict(zip(pairs[::2], pairs[1::2], strict=True))
    for script, pairs in (("CYRILLIC", CYRILLIC_PAIRS), ("GREEK", GREEK_PAIRS))
}
WORD = re.compile(r"[^\W一-鿿]+(?:[\u0300-\u036f]|[^\W一-鿿])*")


def unmix(text: str) -> str:
    return WORD.sub(lambda word: _unmixed(word[0]), text)


def _unmixed(word: str) -> str:
    scripts = [_script(letter) for letter in word]
    others = {*scripts} & {*PAIRS}
    if "LATIN" not in scripts or not others:
        return word
    to_latin = PAIRS["CYRILLIC"] | PAIRS["GREEK"]
    if all(_script(letter) not in others or letter in to_latin for letter in word):
        return "".join(to_latin.get(letter, letter) for letter in word)
    for other in others if len(others) == 1 else ():
        from_latin = {latin: letter for letter, latin in reversed(PAIRS[other].items())}
        fewer = scripts.count("LATIN") < scripts.count(other)
        if fewer and all(_script(letter) != "LATIN" or letter in from_latin for letter in word):
            return "".join(from_latin.get(letter, letter) for letter in word)
    return word


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0] if letter.isalpha() else ""
