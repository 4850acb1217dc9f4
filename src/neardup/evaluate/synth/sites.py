"""Sites: hosts with names, templates and text of their own. A function of seed and number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType

from neardup.evaluate.synth import chinese, english
from neardup.evaluate.synth.articles import Writer
from neardup.evaluate.synth.draws import Draws
from neardup.evaluate.synth.language import language, listed

LAYOUTS = ("semantic", "divs", "table", "breaks")
WORDS: dict[str, ModuleType] = {"en": english, "zh": chinese}


@dataclass(frozen=True)
class Theme:
    """What sites that bought the same theme have in common."""

    layout: str
    prefix: str  # of its class names
    widgets: tuple[str, ...]  # headings of boxes
    slogans: tuple[str, ...]  # text that comes with the theme
    comments: bool


@dataclass(frozen=True)
class Template:
    """One kind of page of a site."""

    theme: Theme
    navigation: tuple[str, ...]
    adverts: tuple[str, ...]
    footer: tuple[str, ...]


@dataclass(frozen=True)
class Site:
    """A host."""

    host: str
    name: str
    language: str
    templates: tuple[Template, ...]
    headlines: tuple[str, ...]  # what its boxes link to


def host_number(hosts: int, draws: Draws) -> int:
    """A host by Zipf's law: a few have many pages, many have one or two."""
    return int((hosts + 1) ** draws.between(0, 1)) - 1


@lru_cache(maxsize=4096)
def make_site(seed: int, code: str, number: int, hosts: int) -> Site:
    """The site of that number among the `hosts` of its language."""
    draws = Draws(seed, "site", code, number)
    writer, words = Writer(code, draws), WORDS[code]
    place = language(code).word("P", draws)
    name = f"{place} {draws.pick(listed(words.SITE_NAMES))}"
    if code == "zh":
        name = name.replace(" ", "")
    themes = max(3, hosts * 3 // 5)  # fewer themes than hosts: some are on several
    templates = tuple(
        _template(make_theme(seed, code, draws.below(themes)), name, writer, draws)
        for _ in range(draws.pick((1, 1, 2, 3)))
    )
    headlines = tuple(writer.forms("titles", 24))
    return Site(_host(code, number), name, code, templates, headlines)


def _host(code: str, number: int) -> str:
    coined = Draws("host", code, number)
    stem = coined.pick(listed(english.STARTS)) + coined.pick(listed(english.PLACE_ENDS))
    return f"www.{stem}{number}.{'example' if code == 'en' else 'cn.example'}"


@lru_cache(maxsize=4096)
def make_theme(seed: int, code: str, number: int) -> Theme:
    """The theme of that number."""
    draws = Draws(seed, "theme", code, number)
    writer = Writer(code, draws)
    return Theme(
        draws.pick(LAYOUTS),
        "".join(draws.pick("bcdfghklmnprstvw") for _ in range(2)),
        tuple(draws.sample(listed(WORDS[code].WIDGETS), 2 + draws.below(3))),
        tuple(writer.forms("comments", 1 + draws.below(3))),
        draws.chance(0.5),
    )


def _template(theme: Theme, name: str, writer: Writer, draws: Draws) -> Template:
    code = writer.language.code
    words, rich = WORDS[code], code == "zh"  # on Chinese portals most text is template
    sections = draws.sample(
        listed(words.SECTIONS), draws.below(20) + 18 if rich else draws.below(9) + 7
    )
    adverts = writer.forms("adverts", 2 + draws.below(6 if rich else 3))
    footer = writer.forms("footers", 2 + draws.below(3))
    return Template(
        theme,
        tuple(sections),
        tuple(adverts),
        tuple(dict.fromkeys(line.replace("{site}", name) for line in footer)),
    )
