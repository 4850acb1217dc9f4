"""From rows of the plan to pages, in batches, by one process or several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from multiprocessing import get_context
from typing import TypeVar, Unpack

import pyarrow as pa

from neardup.evaluation.synth.articles import (
    Article,
    Writer,
    add_stock,
    edit_title,
    merge,
    reprint,
    retitle,
    to_traditional,
    write_article,
)
from neardup.evaluation.synth.language import Draws, language, source
from neardup.evaluation.synth.layouts import Placed, Site, Template, consent_text, make_site, render
from neardup.evaluation.synth.plan import (
    LARGEST,
    NO_COPIES,
    TABLES,
    Options,
    Row,
    Settings,
    make_plan,
)
from neardup.local.run import ordered_map
from neardup.schemas import TIME

START = datetime(2024, 3, 1, tzinfo=UTC)
ON_ITS_OWN_HOST = 0.12  # share of reprints that appear on the site of the original
CHARSETS = {"en": ("windows-1252", "utf-16"), "zh": ("gbk", "gb18030", "big5", "utf-16")}
BATCH = 500  # pages; fixed, because compressed files depend on it
DAY = 24 * 60  # minutes
LATE = 5 * DAY  # the window of news-clusters, after which a reprint is late
Made = TypeVar("Made")


@dataclass(frozen=True)
class SynthPage:
    """A generated page; `charset` is the one it declares and should be encoded in."""

    id: str
    url: str
    title: str
    time: datetime
    charset: str
    content: str
    article: str
    kind: str


_TYPES = {"time": TIME}
SCHEMA = pa.schema(
    [
        pa.field(each.name, _TYPES.get(each.name, pa.string()), nullable=False)
        for each in fields(SynthPage)
    ]
)


def synth(
    pages: int, seed: int = 0, *, workers: int = 1, **options: Unpack[Options]
) -> Iterator[pa.RecordBatch]:
    """Batches of labelled pages (`SCHEMA`); `content` is HTML, or plain text with `texts`.

    `Settings` lists the options and their defaults. The same arguments give the same pages,
    whatever `workers` is. With several workers the calling script needs the usual
    `if __name__ == "__main__"` guard.
    """
    return batches(Settings(pages, seed, **options).checked(), as_batch, workers)


def batches(
    settings: Settings, finish: Callable[[list[SynthPage]], Made], workers: int
) -> Iterator[Made]:
    """`finish` of each batch of pages, in order. Workers generate and finish a few ahead."""
    plan = make_plan(settings)
    starts = range(0, len(plan), BATCH)
    rows = (plan.rows(start, start + BATCH) for start in starts)
    make: Callable[[list[Row]], Made] = partial(_make, settings, finish)
    workers = max(1, min(workers, len(starts)))
    # spawn, not fork: a fork copies locks held by the threads of libraries
    pool = ProcessPoolExecutor(workers, get_context("spawn")) if workers > 1 else None
    yield from ordered_map(make, rows, workers, pool)


def _make(settings: Settings, finish: Callable[[list[SynthPage]], Made], rows: list[Row]) -> Made:
    return finish([make_page(row, settings) for row in rows])


def as_batch(pages: list[SynthPage]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([vars(page) for page in pages], SCHEMA)


def make_page(row: Row, settings: Settings) -> SynthPage:
    both = settings.language == "both"
    code = ("en", "zh")[row.group % 2] if both else settings.language
    draws = Draws(settings.seed, "page", row.group, row.copy, row.part)
    published = Draws(settings.seed, "published", row.group, row.copy)
    visit = Draws(settings.seed, "visit", row.group, row.copy, row.part, row.visit)
    site = _site(row, code, settings, published)
    time, late = _time(row, settings)
    article, title_change = _text(row, code, settings, site, draws)
    if row.visit:
        article = reprint(row.change, article, visit)
    charset = draws.pick(CHARSETS[code]) if row.kind == "re-encoded" else "utf-8"
    if charset == "big5":
        article = to_traditional(article)
    folder = f"{draws.pick(('n', 'a', 'p/news', 'c'))}/{time:%Y/%m%d}"
    session = ""
    if row.change == "session":
        session = visit.pick((";jsessionid=", "?sid=", "?PHPSESSID=")) + f"{visit.bits():013x}"
    visited = time + timedelta(minutes=int(DAY * visit.between(0, 1) ** 3)) if row.visit else time
    if settings.texts:
        content = "\n\n".join([article.title, *article.texts]) + "\n"
    else:
        placed = _placed(row, site, article, time, charset, draws, published, settings)
        if session:
            placed = replace(placed, session=session)
        elif row.visit:
            placed = _revisited(placed, row, visited, visit, settings)
        content = render(placed)
    changes = (row.kind, title_change, late, row.change)
    return SynthPage(
        id=f"p{row.index:09d}",
        url=f"http://{site.host}/" + _address(row, folder, settings, session),
        title=article.title,
        time=visited,
        charset=charset,
        content=content,
        article=row.article,
        kind="+".join(filter(None, changes)).removeprefix("original+"),
    )


def _site(row: Row, code: str, settings: Settings, published: Draws) -> Site:
    number = published.rank(settings.hosts)
    if row.copy and published.chance(ON_ITS_OWN_HOST):
        number = Draws(settings.seed, "published", row.group, 0).rank(settings.hosts)
    elif row.copy and settings.proportions.once_a_host:
        number = _host_without(row.group, row.copy, number, settings)
    return make_site(settings, code, number)


def _on_its_own_host(row: Row, settings: Settings) -> bool:
    """Whether a reprint is on the host of the original, by the draws of `_site`."""
    published = Draws(settings.seed, "published", row.group, row.copy)
    published.rank(settings.hosts)
    return bool(row.copy) and published.chance(ON_ITS_OWN_HOST)


def _host_without(group: int, copy: int, number: int, settings: Settings) -> int:
    """The drawn host, or another one if an earlier publication of the article was drawn to it."""
    taken = {
        Draws(settings.seed, "published", group, earlier).rank(settings.hosts)
        for earlier in range(copy)
    }
    others = Draws(settings.seed, "other host", group, copy)
    for _ in range(LARGEST):
        if number not in taken:
            break
        number = others.below(settings.hosts)
    return number


def _time(row: Row, settings: Settings) -> tuple[datetime, str]:
    """The time of publication, and "late" if it is.

    Originals are spread over the window. Reprints follow within four days, most within one, except
    for late ones.
    """
    first = Draws(settings.seed, "time", row.group)
    minutes, late = first.between(0, settings.days * DAY), ""
    if row.copy or row.is_lookalike:
        later = Draws(settings.seed, "later", row.group, row.copy, row.part)
        minutes += 4 * DAY * later.between(0, 1) ** 3
        delay = Draws(settings.seed, "late", row.group, row.copy)
        if row.copy and row.kind not in NO_COPIES and delay.chance(settings.proportions.late):
            minutes, late = minutes + LATE + delay.between(0, 20 * DAY), "late"
    return START + timedelta(minutes=int(minutes)), late


def _address(row: Row, folder: str, settings: Settings, session: str) -> str:
    """The path of a page; a copy on its own host has a path like that of its page."""
    if settings.proportions.indexed_urls:
        return f"{folder}/{row.index}.html"
    number = Draws(settings.seed, "url", row.group, row.copy, row.part).bits()
    path = f"{folder}/{number:x}"
    if not row.change:
        return f"{path}.html"
    changed = {
        "session": f"{path}.html{session}",
        "sorted": f"{path}.html?sort={row.visit}",
        "print": f"{path}-print{row.visit}.html",
        "alias": f"topic{row.visit}/{number:x}.html",
    }
    return changed.get(row.change, f"{path}.html?visit={row.visit}")


def _text(row: Row, code: str, settings: Settings, site: Site, draws: Draws) -> tuple[Article, str]:
    """The text of a publication, and the change to its title."""
    if row.is_lookalike:
        return _write_lookalike(row, settings, site, draws), ""
    seed, shares = settings.seed, settings.proportions

    def article(group: int) -> Article:
        text = write_article(code, (seed, "article", group, row.part), settings.length)
        agency = Draws(seed, "agency", group, row.part)
        if agency.chance(shares.stock):
            text = add_stock(text, seed, agency, before=agency.chance(0.5))
        return text

    text = article(row.group)
    if row.kind == "partial":
        neighbour = row.group + (2 if row.group < 2 else -2)  # in the same language
        return merge(text, article(neighbour)), ""
    text = reprint(row.kind, text, draws)
    added = Draws(seed, "disclaimer", row.group, row.copy, row.part)
    if added.chance(shares.stock):
        text = add_stock(text, seed, added, before=False)
    keeps_title = shares.once_a_host and _on_its_own_host(row, settings)
    if not row.copy or row.kind in NO_COPIES or keeps_title:
        return text, ""
    title = Draws(seed, "title", row.group, row.copy)
    chance = title.between(0, 1)
    if chance < shares.other_titles:
        return retitle(text, (seed, "article", row.group, row.part), title), "retitled"
    if chance < shares.other_titles + shares.edited_titles:
        return edit_title(text, title), "title-edited"
    return text, ""


def _placed(
    row: Row,
    site: Site,
    article: Article,
    time: datetime,
    charset: str,
    draws: Draws,
    published: Draws,
    settings: Settings,
) -> Placed:
    template = published.pick(site.templates)
    words = language(site.language)
    comments = template.theme.comments
    return Placed(
        site,
        template,
        article.title,
        article.texts,
        time,
        author=words.word("H", published),
        source=words.word("O", published) if row.copy else "",
        headlines=draws.sample(site.headlines, 12),
        adverts=_adverts(template, draws),
        comments=_comments(settings, site, draws.below(6), draws) if comments else [],
        charset=charset,
        part=row.part if row.kind == "listing" or not row.is_lookalike else 0,
        figures=row.kind in TABLES,
        visited=time,
        reads=draws.below(5000),
        session="",
        printed=False,
        shell=row.kind == "shell",
    )


def _revisited(
    page: Placed, row: Row, visited: datetime, visit: Draws, settings: Settings
) -> Placed:
    """The page as this copy on its own host shows it, with new surroundings."""
    template = visit.pick(page.site.templates) if row.change == "alias" else page.template
    comments = page.comments
    if row.change == "commented":
        comments = comments + _comments(settings, page.site, 1 + visit.below(12), visit)
    return replace(
        page,
        template=template,
        headlines=visit.sample(page.site.headlines, 12),
        adverts=_adverts(template, visit),
        comments=comments,
        visited=visited,
        reads=page.reads + 1 + visit.below(900),
        printed=row.change == "print",
    )


def _adverts(template: Template, draws: Draws) -> list[str]:
    return draws.sample(template.adverts, 2 + draws.below(3))


def _comments(settings: Settings, site: Site, count: int, draws: Draws) -> list[str]:
    if not count:  # a writer would use up draws
        return []
    writer = Writer(site.language, draws, template_stops=settings.template_stops)
    return writer.forms("comments", count)


def _write_lookalike(row: Row, settings: Settings, site: Site, draws: Draws) -> Article:
    """The text of a page that looks like others of its site and is its own article.

    The label policy: a reader who looks for one of them is not served by another, because its
    figures, its goods or its (missing) text are others. What its group shares is drawn by the
    group's number.
    """
    title, lines = _KINDS[row.kind](row, settings, site, draws)
    return Article(site.language, title, tuple((line,) for line in lines))


def _form(row: Row, settings: Settings, site: Site, draws: Draws) -> tuple[str, list[str]]:
    """A table of figures: the same names on every page, with other numbers."""
    shared = Draws(settings.seed, "form", row.group)
    writer = Writer(site.language, shared)
    (title,) = writer.forms("form_titles", 1)
    names = [writer.language.word("P", shared) for _ in range(8 + shared.below(10))]
    rows = [f"{name}\t{_price(draws)}" for name in names]
    about = source(site.language).labels["about_form"].replace("{site}", site.name)
    return title, [*rows, f"{about}\t"]


def _product(row: Row, settings: Settings, site: Site, draws: Draws) -> tuple[str, list[str]]:
    """An article of a shop: the same description, with another colour, size, number and price."""
    shared = Draws(settings.seed, "product", row.group)
    writer, words = Writer(site.language, shared), source(site.language)
    (name,) = writer.forms("product_titles", 1)
    colours = shared.sample(words.lists["colours"], 4)
    colour, size = colours[row.part % len(colours)], 30 + row.part
    details = {"colour": colour, "size": size, "item": draws.below(10**7), "price": _price(draws)}
    lines = [f"{words.labels[label]}: {value}" for label, value in details.items()]
    return f"{name}, {colour}, {size}", [*lines, *writer.sentences(5 + shared.below(10))]


def _listing(row: Row, settings: Settings, site: Site, draws: Draws) -> tuple[str, list[str]]:
    """A page of a list in several pages: the same title and introduction, with other entries."""
    writer = Writer(site.language, Draws(settings.seed, "listing", row.group))
    (title,) = writer.forms("listing_titles", 1)
    introduction = [f"{sentence}\t" for sentence in writer.sentences(2)]
    entries = Writer(site.language, draws).forms("titles", 12)
    return title, [*introduction, *(f"{entry}\t{_price(draws)}" for entry in entries)]


def _bulletin(row: Row, settings: Settings, site: Site, draws: Draws) -> tuple[str, list[str]]:
    """Weather or traffic in the same sentences, with other numbers."""
    shared = Draws(settings.seed, "bulletin", row.group)
    writer = Writer(site.language, shared)
    (title,) = writer.forms("bulletin_titles", 1)
    forms = shared.sample(writer.language.forms["bulletins"], 6 + shared.below(4))
    sentences = [
        text.format(*(draws.below(90) + 2 for _ in range(text.count("{}")))) + writer.language.stop
        for text in writer.fill(forms)
    ]
    return title, sentences


def _shell(row: Row, settings: Settings, site: Site, draws: Draws) -> tuple[str, list[str]]:
    """A page whose text did not arrive: a consent wall, or a request to run scripts."""
    (title,) = Writer(site.language, draws).forms("titles", 1)
    shared = Draws(settings.seed, "shell", row.group)
    if shared.chance(0.5):
        return title, list(site.consent or consent_text(settings, site.language, 0))
    return title, [shared.pick(source(site.language).lists["shells"])]


def _price(draws: Draws) -> str:
    return f"{draws.below(90_000) / 100:.2f}"


_KINDS: Mapping[str, Callable[[Row, Settings, Site, Draws], tuple[str, list[str]]]] = {
    "form": _form,
    "product": _product,
    "listing": _listing,
    "bulletin": _bulletin,
    "shell": _shell,
}
