"""From a row of the plan to a page: its text, its place, its time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from neardup.evaluate.synth.articles import Article, Writer, write_article
from neardup.evaluate.synth.draws import Draws
from neardup.evaluate.synth.language import language
from neardup.evaluate.synth.layouts import Placed, render
from neardup.evaluate.synth.plan import Row
from neardup.evaluate.synth.reprints import merge, reprint
from neardup.evaluate.synth.scripts import to_traditional
from neardup.evaluate.synth.sites import WORDS, Site, host_number, make_site

START = datetime(2024, 3, 1, tzinfo=UTC)
ON_ITS_OWN_HOST = 0.12  # share of reprints that appear on the site of the original
CHARSETS = {"en": ("windows-1252", "utf-16"), "zh": ("gbk", "gb18030", "big5", "utf-16")}


@dataclass(frozen=True)
class Settings:
    """What a whole set has in common."""

    pages: int
    seed: int
    language: str  # en, zh or both
    length: str  # short or normal
    days: int
    reprints: float  # share of pages that are not the first of their article
    texts: bool  # plain text, no templates
    forms: bool  # with pages of figures as traps
    pages_per_host: int  # on average; a few hosts have many and many have few

    @property
    def hosts(self) -> int:
        """Hosts of each language."""
        languages = 2 if self.language == "both" else 1
        return max(6, self.pages // self.pages_per_host // languages)


@dataclass(frozen=True)
class SynthPage:
    """A generated page; `charset` is what its bytes should be in, and what it declares."""

    id: str
    url: str
    title: str
    time: datetime
    charset: str
    content: str
    article: str
    kind: str


def make_page(row: Row, settings: Settings) -> SynthPage:
    """The page of a row."""
    code = _language_of(row.group, settings)
    draws = Draws(settings.seed, "page", row.group, row.copy, row.part)
    published = Draws(settings.seed, "published", row.group, row.copy)
    site = _site(row, code, settings, published)
    time = _time(row, settings)
    article = _text(row, code, settings, site, draws)
    charset = draws.pick(CHARSETS[code]) if row.kind == "re-encoded" else "utf-8"
    if charset == "big5":
        article = to_traditional(article)
    url = f"http://{site.host}/{draws.pick(('n', 'a', 'p/news', 'c'))}/{time:%Y/%m%d}/{row.index}"
    if settings.texts:
        content = "\n\n".join([article.title, *article.texts]) + "\n"
    else:
        content = render(_placed(row, site, article, time, charset, draws, published))
    name = f"p{row.index:09d}"
    return SynthPage(
        name, url + ".html", article.title, time, charset, content, row.article, row.kind
    )


def _language_of(group: int, settings: Settings) -> str:
    if settings.language != "both":
        return settings.language
    return ("en", "zh")[group % 2]


def _site(row: Row, code: str, settings: Settings, published: Draws) -> Site:
    number = host_number(settings.hosts, published)
    if row.copy and published.chance(ON_ITS_OWN_HOST):
        first = Draws(settings.seed, "published", row.group, 0)
        number = host_number(settings.hosts, first)
    return make_site(settings.seed, code, number, settings.hosts)


def _time(row: Row, settings: Settings) -> datetime:
    """Originals all over the window; reprints up to four days later, most within one."""
    first = Draws(settings.seed, "time", row.group)
    minutes = first.between(0, settings.days * 24 * 60)
    if row.copy or row.kind == "form":
        later = Draws(settings.seed, "later", row.group, row.copy, row.part)
        minutes += 4 * 24 * 60 * later.between(0, 1) ** 3
    return START + timedelta(minutes=int(minutes))


def _text(row: Row, code: str, settings: Settings, site: Site, draws: Draws) -> Article:
    if row.kind == "form":
        return _figures(row, settings, site, draws)

    def article(group: int) -> Article:
        key = (settings.seed, "article", group, row.part)
        return write_article(code, key, settings.length)

    if row.kind == "partial":
        return merge(article(row.group), article(_neighbour(row.group)))
    return reprint(row.kind, article(row.group), draws)


def _neighbour(group: int) -> int:
    """Another article of the same language."""
    return group - 2 if group >= 2 else group + 2


def _figures(row: Row, settings: Settings, site: Site, draws: Draws) -> Article:
    """A form: the same names on every page of the group, other numbers on each."""
    labels = Draws(settings.seed, "form", row.group)
    writer = Writer(site.language, labels)
    (title,) = writer.forms("form_titles", 1)
    names = [writer.language.word("P", labels) for _ in range(8 + labels.below(10))]
    rows = [f"{name}\t{draws.below(90_000) / 100:.2f}" for name in names]
    about = WORDS[site.language].ABOUT_FORM.replace("{site}", site.name)
    return Article(site.language, title, tuple((line,) for line in [*rows, f"{about}\t"]))


def _placed(
    row: Row,
    site: Site,
    article: Article,
    time: datetime,
    charset: str,
    draws: Draws,
    published: Draws,
) -> Placed:
    template = published.pick(site.templates)
    words = language(site.language)
    return Placed(
        site,
        template,
        article.title,
        article.texts,
        time,
        author=words.word("H", published),
        source=words.word("O", published) if row.copy else "",
        headlines=draws.sample(site.headlines, 12),
        adverts=draws.sample(template.adverts, 2 + draws.below(3)),
        comments=_comments(site.language, draws) if template.theme.comments else [],
        charset=charset,
        part=row.part if row.kind != "form" else 0,
        figures=row.kind == "form",
    )


def _comments(code: str, draws: Draws) -> list[str]:
    count = draws.below(6)
    return Writer(code, draws).forms("comments", count) if count else []
