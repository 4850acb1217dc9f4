"""Sites with their own names, templates and text, and pages as HTML in one of four layouts.

A site is a function of the seed and its number. Text is not escaped: the word models use no
character that HTML would need escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from neardup.evaluation.synth.articles import Writer
from neardup.evaluation.synth.language import Draws, language, source
from neardup.evaluation.synth.plan import Settings

VENDORS = 5  # of consent texts: a few serve most sites


@dataclass(frozen=True)
class Theme:
    """What sites with the same theme have in common."""

    layout: str
    prefix: str  # of its class names
    widgets: tuple[str, ...]  # headings of boxes
    slogans: tuple[str, ...]  # text that comes with the theme
    comments: bool


@dataclass(frozen=True)
class Template:
    theme: Theme
    navigation: tuple[str, ...]
    adverts: tuple[str, ...]
    footer: tuple[str, ...]


@dataclass(frozen=True)
class Site:
    host: str
    name: str
    language: str
    templates: tuple[Template, ...]
    headlines: tuple[str, ...]  # linked from its boxes
    consent: tuple[str, ...]  # the text of its consent dialogue, in every page
    counts: bool  # its pages show today's date and how often they were read


@lru_cache(maxsize=4096)
def make_site(settings: Settings, code: str, number: int) -> Site:
    """The site with this number among those of its language."""
    seed, hosts = settings.seed, settings.hosts
    draws = Draws(seed, "site", code, number)
    writer = Writer(code, draws, template_stops=settings.template_stops)
    place = language(code).word("P", draws)
    name = f"{place} {draws.pick(source(code).lists['site_names'])}"
    if code == "zh":
        name = name.replace(" ", "")
    themes = max(3, hosts * 3 // 5)  # fewer themes than hosts: some hosts share one
    templates = tuple(
        _template(make_theme(settings, code, draws.below(themes)), name, writer, draws)
        for _ in range(draws.pick((1, 1, 2, 3)))
    )
    headlines = tuple(writer.forms("titles", 24))
    has = Draws(seed, "features", code, number)
    asks = has.chance(settings.proportions.consent)
    consent = consent_text(settings, code, has.rank(VENDORS)) if asks else ()
    counts = has.chance(settings.proportions.counters)
    return Site(_host(code, number), name, code, templates, headlines, consent, counts)


@lru_cache(maxsize=2 * VENDORS)
def consent_text(settings: Settings, code: str, vendor: int) -> tuple[str, ...]:
    """The consent text of this vendor, the same on all its sites."""
    draws = Draws(settings.seed, "consent", code, vendor)
    writer = Writer(code, draws, template_stops=settings.template_stops)
    return tuple(writer.finish("consents", draws.sample(language(code).forms["consents"], 9)))


def _host(code: str, number: int) -> str:
    coined, lists = Draws("host", code, number), source("en").lists
    stem = coined.pick(lists["starts"]) + coined.pick(lists["place_ends"])
    return f"www.{stem}{number}.{'example' if code == 'en' else 'cn.example'}"


@lru_cache(maxsize=4096)
def make_theme(settings: Settings, code: str, number: int) -> Theme:
    draws = Draws(settings.seed, "theme", code, number)
    writer = Writer(code, draws, template_stops=settings.template_stops)
    return Theme(
        draws.pick(tuple(LAYOUTS)),
        "".join(draws.pick("bcdfghklmnprstvw") for _ in range(2)),
        tuple(draws.sample(source(code).lists["widgets"], 2 + draws.below(3))),
        tuple(writer.forms("comments", 1 + draws.below(3))),
        draws.chance(0.5),
    )


def _template(theme: Theme, name: str, writer: Writer, draws: Draws) -> Template:
    code = writer.language.code
    rich = code == "zh"  # on Chinese portals most text is template
    sections = draws.sample(
        source(code).lists["sections"], draws.below(20) + 18 if rich else draws.below(9) + 7
    )
    adverts = writer.forms("adverts", 2 + draws.below(6 if rich else 3))
    footer = writer.forms("footers", 2 + draws.below(3))
    return Template(
        theme,
        tuple(sections),
        tuple(adverts),
        tuple(dict.fromkeys(line.replace("{site}", name) for line in footer)),
    )


INDENT = "\u3000\u3000"  # full-width spaces indent paragraphs on older Chinese pages


@dataclass(frozen=True)
class Placed:
    site: Site
    template: Template
    title: str
    paragraphs: list[str]
    time: datetime
    author: str
    source: str  # the source a reprint names, or ""
    headlines: list[str]  # of its boxes
    adverts: list[str]
    comments: list[str]
    charset: str
    part: int  # of an article in parts; 0 is the whole
    figures: bool  # its paragraphs are rows of a table
    visited: datetime  # shown with `reads`, if the site counts
    reads: int
    session: str  # ends every link, if not ""
    printed: bool  # the content without the template
    shell: bool  # the title is in the head only

    @property
    def heading(self) -> str:
        return "" if self.shell else self.title

    @property
    def banner(self) -> str:
        """The name of the site, at the top."""
        return f"{self.site.name} {self.visited:%Y-%m-%d}" if self.site.counts else self.site.name

    @property
    def meta(self) -> str:
        """The line below the title."""
        labels = source(self.site.language).labels
        origin = f" {labels['source']}: {self.source}" if self.source else ""
        reads = f" {labels['reads']}: {self.reads}" if self.site.counts else ""
        return f"{self.time:%Y-%m-%d %H:%M} {labels['by']}: {self.author}{origin}{reads}"


def render(page: Placed) -> str:
    between = "_" if page.site.language == "zh" else " | "
    head = (
        f'<!DOCTYPE html>\n<html lang="{page.site.language}"><head><meta charset="{page.charset}">'
        f"<title>{page.title}{between}{page.site.name}</title>"
        f'<meta name="date" content="{page.time:%Y-%m-%dT%H:%M:%SZ}"></head>\n<body>\n'
    )
    layout = _printed if page.printed else LAYOUTS[page.template.theme.layout]
    consent = "" if page.printed else page.site.consent
    dialogue = f"\n<div>{_each(consent, 'p')}</div>" if consent else ""
    return f"{head}{layout(page)}{dialogue}\n</body></html>\n"


def _links(page: Placed, texts: Iterable[str], around: str, between: str = "\n") -> str:
    """Links, each inside `around` (in place of its %s)."""
    return between.join(
        around % f'<a href="/l/{number}.html{page.session}">{text}</a>'
        for number, text in enumerate(texts)
    )


def _each(texts: Iterable[str], tag: str) -> str:
    return "\n".join(f"<{tag}>{text}</{tag}>" for text in texts)


def _pager(page: Placed) -> str:
    if not page.part:
        return ""
    more = source(page.site.language).labels["more"]
    return f'<div class="pager">{more} <a href="?p=1">1</a> <a href="?p=2">2</a></div>'


def _body(page: Placed, tag: str) -> str:
    if page.figures:
        cells = (row.partition("\t") for row in page.paragraphs)
        rows = "".join(f"<tr><td>{name}</td><td>{value}</td></tr>\n" for name, _, value in cells)
        return f"<table>\n{rows}</table>{_pager(page)}"
    return _each(page.paragraphs, tag) + _pager(page)


def _boxes(page: Placed, heading: str, around: str, item: str) -> str:
    """The boxes beside an article, each with a heading and links."""
    widgets = page.template.theme.widgets
    share = max(1, len(page.headlines) // len(widgets))
    boxes = [
        f"<{heading}>{widget}</{heading}>\n"
        + around % _links(page, page.headlines[number * share : (number + 1) * share], item)
        for number, widget in enumerate(widgets)
    ]
    return "\n".join([*boxes, *(f"<p>{slogan}</p>" for slogan in page.template.theme.slogans)])


def _comments(page: Placed, tag: str) -> str:
    if not page.comments:
        return ""
    heading = source(page.site.language).labels["comments_heading"]
    return f"<h3>{heading} ({len(page.comments)})</h3>\n{_each(page.comments, tag)}\n"


def _printed(page: Placed) -> str:
    return f"<h1>{page.heading}</h1>\n<p>{page.site.name} {page.meta}</p>\n{_body(page, 'p')}"


def _semantic(page: Placed) -> str:
    return (
        f"<header><h2>{page.banner}</h2></header>\n"
        f"<nav><ul>{_links(page, page.template.navigation, '<li>%s</li>')}</ul></nav>\n"
        f"<main><article><h1>{page.heading}</h1>\n<p class=byline>{page.meta}</p>\n"
        f"{_body(page, 'p')}\n</article>\n"
        f"{_comments(page, 'blockquote')}</main>\n"
        f"<aside>{_boxes(page, 'h3', '<ul>%s</ul>', '<li>%s</li>')}\n{_each(page.adverts, 'p')}"
        f"</aside>\n<footer>{_each(page.template.footer, 'p')}</footer>"
    )


def _divs(page: Placed) -> str:
    name = page.template.theme.prefix
    item = f'<div class="{name}-item">%s</div>'
    return (
        f'<div id="{name}-top">{page.banner}</div>\n<div class="{name}-menu">'
        f"{_links(page, page.template.navigation, '<span>%s</span>', ' | ')}</div>\n"
        f'<div class="{name}-ad">{page.adverts[0]}</div>\n<div class="{name}-main">'
        f"<h1>{page.heading}</h1><div>{page.meta}</div>\n{_body(page, 'div')}\n"
        f"{_comments(page, 'div')}</div>\n"
        f'<div class="{name}-side">{_boxes(page, "h4", "%s", item)}\n'
        f"{_each(page.adverts[1:], 'div')}</div>\n"
        f'<div class="{name}-foot">{_each(page.template.footer, "div")}</div>'
    )


def _table(page: Placed) -> str:
    return (
        f"<table width=100%><tr><td colspan=3><b>{page.banner}</b></td></tr>\n<tr>"
        f"{_links(page, page.template.navigation, '<td>%s</td>', '')}</tr></table>\n"
        f"<table><tr><td width=20%>{_boxes(page, 'b', '%s', '<br>%s')}</td>\n<td>"
        f"<center><font size=5>{page.heading}</font></center>\n<center>{page.meta}</center>\n"
        f"{_body(page, 'p')}\n{_comments(page, 'p')}</td>\n<td>"
        f"{_each(page.adverts, 'p')}</td></tr></table>\n"
        f"<table><tr><td align=center>{'<br>'.join(page.template.footer)}</td></tr></table>"
    )


def _breaks(page: Placed) -> str:
    indent = INDENT if page.site.language == "zh" else "&nbsp;&nbsp;"
    lines = "<br>\n<br>\n".join(indent + text for text in page.paragraphs)
    body = _body(page, "p") if page.figures else lines + _pager(page)
    return (
        f"<div>{page.banner} {_links(page, page.template.navigation, '%s', ' ')}</div>\n"
        f"<h1>{page.heading}</h1>\n<div>{page.meta}</div>\n<div id=content>{body}</div>\n"
        f"<div>{_boxes(page, 'strong', '%s', '·%s<br>')}</div>\n"
        f"<div>{'<br>'.join(page.adverts)}</div>\n{_comments(page, 'p')}"
        f"<div class=bottom>{'<br>'.join(page.template.footer)}</div>"
    )


LAYOUTS: Mapping[str, Callable[[Placed], str]] = {
    "semantic": _semantic,
    "divs": _divs,
    "table": _table,
    "breaks": _breaks,
}
