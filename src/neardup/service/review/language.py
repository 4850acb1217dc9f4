"""English and Chinese. The English words are the names of all others."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Literal

Language = Literal["en", "zh"]
NAMES: dict[Language, str] = {"en": "English", "zh": "中文"}
CHINESE: dict[str, str] = json.loads(
    (Path(__file__).parent / "translations" / "zh.json").read_text(encoding="utf-8")
)


def language_of(chosen: str | None, accepted: str) -> Language:
    """The language that was chosen, or the first one that a browser asks for and there is."""
    for name in NAMES:
        if chosen == name:
            return name
    for wanted in _by_weight(accepted):
        if wanted.startswith("zh"):
            return "zh"
        if wanted.startswith("en"):
            return "en"
    return "en"


def _by_weight(accepted: str) -> list[str]:
    weighted = []
    for place, part in enumerate(accepted.lower().split(",")[:20]):
        name, _, weight = part.strip().partition(";q=")
        try:
            weighted.append((-float(weight or 1), place, name))
        except ValueError:
            continue
    return [name for _, _, name in sorted(weighted)]


@cache
def translator(language: Language) -> Callable[..., str]:
    """A function from English words, with places for values, to those of the language."""

    def translate(words: str, **values: object) -> str:
        found = CHINESE.get(words, words) if language == "zh" else words
        return found.format(**values) if values else found

    return translate
