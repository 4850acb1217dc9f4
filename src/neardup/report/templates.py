"""The one place where HTML is set up: Jinja2 templates that escape every value.

`environment` serves the report, the pages of an evaluation and the service. Templates get numbers
and text through the filters here: figures written for people, and text of pages with its hidden
characters made visible. `assets/charts.html` draws the charts for all of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup, escape

from neardup.config import read_toml
from neardup.kernels.compiled import writable
from neardup.report import Language

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
    if count == 1 and translate is translator("en"):
        return f"1 {word}"
    return translate(f"{{count}} {word}s", count=f"{count:,}")


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


ASSETS = Path(__file__).parent / "assets"
STYLES = ["report.css", "lists.css", "pair.css"]
LONGEST_NAME = 400  # characters of an id or a URL
LONGEST_TITLE = 160
ENGLISH = translator("en")


def environment(*folders: Path, language: Language = "en") -> Environment:
    """The templates in `folders` and those of the report. A missing value is an error.

    `t` translates words to `language`; values that are markup stay markup.
    """
    translate = translator(language)

    def t(words: str, **values: object) -> Markup:
        return Markup(escape(translate(words))).format(**values)

    templates = Environment(
        loader=FileSystemLoader([*folders, ASSETS]),
        bytecode_cache=_CompiledTemplates(),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters.update(
        number=number,
        plural=lambda count, word: counted(translate, count, word),
        percent=lambda part, whole: percent(part, whole, translate),
        bytes=lambda count: size(count, translate),
        visible=visible,
        name=lambda text: shortened(text, LONGEST_NAME),
        title=lambda text: shortened(text, LONGEST_TITLE),
    )
    templates.globals["t"] = t
    return templates


class _CompiledTemplates(FileSystemBytecodeCache):
    """Compiled templates, beside compiled kernels: to compile that of the report takes as long as
    to read and judge a few hundred pages."""

    def __init__(self) -> None:
        super().__init__(str(writable()))

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):  # compiled again each time, where nothing can be written
            Path(self.directory).mkdir(parents=True, exist_ok=True)
            super().dump_bytecode(bucket)


def number(count: int) -> str:
    """A count with its thousands apart."""
    return f"{count:,}"


def percent(part: int, whole: int, translate: Translate = ENGLISH) -> str:
    """A share; never 0% of something, never 100% when something is missing."""
    if part in (0, whole):
        return "100%" if part else "0%"
    share = 100 * part / whole
    if share < 0.1:
        return translate("under 0.1%")
    if share > 99.9:
        return translate("over 99.9%")
    return f"{share:.1f}%"


def size(count: int, translate: Translate = ENGLISH) -> str:
    """Bytes in the largest unit that leaves a number before the point."""
    value, units = float(count), ["bytes", "KB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    if units[0] == "bytes":
        return counted(translate, count, "byte")
    return f"{value:.1f} {units[0]}" if value < 9.95 else f"{value:.0f} {units[0]}"


# Control characters except tab and line feed, characters that change the direction of writing,
# and unpaired surrogates, which UTF-8 cannot hold.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_DELETE = 0x7F


def visible(text: str) -> str:
    """`text` with every hidden character replaced by one that can be seen."""
    return _HIDDEN.sub(_symbol, text)


def _symbol(hidden: re.Match[str]) -> str:
    code = ord(hidden[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == _DELETE:
        return "\u2421"
    return f"⟨U+{code:04X}⟩" if 0x2000 <= code < 0x2100 else "\ufffd"


def shortened(text: str, limit: int) -> str:
    """One visible line of at most `limit` characters."""
    start = text[: 4 * limit]
    line = " ".join((start if start.isprintable() else visible(start)).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


# Hidden characters, and white space other than single spaces between words; for Arrow.
_UNEVEN = (
    r"^ | $|  |[\x00-\x1f\x7f-\xa0\x{1680}\x{2000}-\x{200a}\x{2028}-\x{202f}\x{205f}"
    r"\x{2066}-\x{2069}\x{3000}]"
)


def short_lines(texts: pa.StringArray, limit: int) -> pa.StringArray:
    """`shortened` of each text. Nearly all are fine as they are."""
    is_odd = pc.or_(
        pc.greater(pc.utf8_length(texts), limit), pc.match_substring_regex(texts, _UNEVEN)
    )
    odd = [shortened(text, limit) for text in texts.filter(is_odd).to_pylist()]
    return pc.replace_with_mask(texts, is_odd, pa.array(odd, pa.string())) if odd else texts


_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def script_safe_json(data: object) -> str:
    """JSON that can neither end the `script` element around it nor be read as markup."""
    return script_safe(_JSON.encode(data))


def script_safe(text: str) -> str:
    """The same of JSON text."""
    for character in "<\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
