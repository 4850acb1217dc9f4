"""English and Chinese: the words of the report and the review pages, and the reasons of verdicts.

Templates, scripts and methods are written in English; translations are looked up by the English
words. What has no translation stays English.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from neardup.config import read_toml

Language = Literal["en", "zh"]
NAMES: dict[Language, str] = {"en": "English", "zh": "中文"}
HERE = Path(__file__).parent / "translations"
CHINESE: dict[str, str] = json.loads((HERE / "zh.json").read_text(encoding="utf-8"))
WORDS = read_toml(HERE / "en.toml")  # of relations, of verdicts as sentences, of events
EXAMPLES = ("shared", "only_left", "only_right")  # entries of evidence that are text of pages
EXAMPLE_BYTES = 160  # at which `own-text` cuts them
PLACE = re.compile(r"\{(\w+)\}")
Translate = Callable[..., str]


@cache
def translator(language: Language) -> Translate:
    """A function that translates English words and fills in values."""

    def translate(words: str, **values: object) -> str:
        translated = CHINESE.get(words, words) if language == "zh" else words
        return translated.format(**values) if values else translated

    return translate


def counted(translate: Translate, count: int, word: str) -> str:
    """The count and the word that goes with it."""
    shown = f"{count:,}"
    return (
        f"1 {word}"
        if count == 1 and _is_english(translate)
        else translate(f"{{count}} {word}s", count=shown)
    )


def _is_english(translate: Translate) -> bool:
    return translate is translator("en")


@cache
def _reasons() -> list[tuple[re.Pattern[str], str]]:
    """Patterns of English reasons, those with most words first, and what they are in Chinese."""
    templates: dict[str, str] = read_toml(HERE / "zh_reasons.toml")
    ordered = sorted(templates, key=lambda words: -len(PLACE.sub("", words)))
    return [(re.compile(_pattern(words)), templates[words]) for words in ordered]


def _pattern(template: str) -> str:
    parts = PLACE.split(template)
    return "".join(
        f"(?P<{part}>.+?)" if at % 2 else re.escape(part) for at, part in enumerate(parts)
    )


def reason(why: str, language: Language) -> str:
    """The reason of a verdict in a language; in English where a part of it has no translation."""
    if language == "en":
        return why
    parts = [_translated(part) for part in why.split("; ")]
    return "；".join(part for part in parts if part) if all(parts) else why


def _translated(part: str) -> str | None:
    for pattern, chinese in _reasons():
        if match := pattern.fullmatch(part):
            values = {name: _translated(text) or text for name, text in match.groupdict().items()}
            return chinese.format(**values)
    return None


def evidence_entries(evidence: Mapping[str, Any], language: Language) -> dict[str, Any]:
    """The evidence for people: plain names in their language, the reason first, then in the order
    of `en.toml`."""
    translate, plain_names = translator(language), WORDS["evidence"]
    order = {name: place for place, name in enumerate(plain_names)}
    entries = {"why": reason(str(evidence.get("why", "")), language)}
    for name in sorted(evidence.keys() - {"why"}, key=lambda each: (order.get(each, 999), each)):
        value = evidence[name]
        shown = f"{value}…" if name in EXAMPLES and _is_cut(value) else value
        entries[translate(plain_names.get(name, name.replace("_", " ")))] = shown
    return entries


def _is_cut(example: object) -> bool:
    """Whether an example is as long as they get, up to a character that did not fit."""
    return isinstance(example, str) and len(example.encode("utf-8", "replace")) > EXAMPLE_BYTES - 4
