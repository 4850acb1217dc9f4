"""From rows of the plan to pages, in batches, by one process or several."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from functools import partial
from multiprocessing import get_context
from typing import TypeVar

import pyarrow as pa

from neardup.errors import UsageError, unknown
from neardup.evaluation.synth.articles import (
    LENGTHS,
    Article,
    Writer,
    merge,
    reprint,
    to_traditional,
    write_article,
)
from neardup.evaluation.synth.draws import Draws
from neardup.evaluation.synth.language import language, source
from neardup.evaluation.synth.layouts import Placed, Site, host_number, make_site, render
from neardup.evaluation.synth.plan import Row, make_plan

START = datetime(2024, 3, 1, tzinfo=UTC)
ON_ITS_OWN_HOST = 0.12  # share of reprints that appear on the site of the original
CHARSETS = {"en": ("windows-1252", "utf-16"), "zh": ("gbk", "gb18030", "big5", "utf-16")}
BATCH = 500  # pages; fixed, because compressed files depend on it
LANGUAGES = ("en", "zh", "both")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Settings:
    pages: int
    seed: int
    language: str  # en, zh or both
    length: str  # short or normal
    days: int
    reprints: float  # share of pages that reprint an earlier one
    texts: bool  # plain text, no templates
    forms: bool  # include pages of figures, as traps
    pages_per_host: int  # on average; a few hosts have many, most have few

    @property
    def hosts(self) -> int:
        """Hosts of each language."""
        languages = 2 if self.language == "both" else 1
        return max(6, self.pages // self.pages_per_host // languages)


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


_TYPES = {"time": pa.timestamp("us", tz="UTC")}
SCHEMA = pa.schema(
    [
        pa.field(each.name, _TYPES.get(each.name, pa.string()), nullable=False)
        for each in fields(SynthPage)
    ]
)


def synth(
    pages: int,
    seed: int = 0,
    *,
    language: str = "both",
    length: str = "normal",
    texts: bool = False,
    reprints: float = 0.5,
    days: int = 30,
    forms: bool = True,
    pages_per_host: int = 8,
    workers: int = 1,
) -> Iterator[pa.RecordBatch]:
    """Batches of labelled pages (`SCHEMA`); `content` is HTML, or plain text with `texts`.

    The same arguments give the same pages, whatever `workers` is. `reprints` is the share of
    pages that reprint an earlier one; articles are dated over `days`; `forms` adds pages of
    figures as traps; `pages_per_host` is an average. With several workers the calling script
    needs the usual `if __name__ == "__main__"` guard.
    """
    settings = Settings(pages, seed, language, length, days, reprints, texts, forms, pages_per_host)
    return batches(check_settings(settings), as_batch, workers)


def check_settings(settings: Settings) -> Settings:
    """The settings, checked; the error says which one is wrong."""
    if min(settings.pages, settings.days, settings.pages_per_host) < 1:
        raise UsageError("a set needs at least 1 page, 1 day and 1 page per host")
    if not 0 <= settings.reprints <= 0.9:
        raise UsageError(f"the share of reprints must be from 0 to 0.9, not {settings.reprints}")
    for name, value, known in (
        ("language", settings.language, LANGUAGES),
        ("length", settings.length, tuple(LENGTHS)),
    ):
        if value not in known:
            raise unknown(name, value, known)
    return settings


def batches(
    settings: Settings, finish: Callable[[list[SynthPage]], Made], workers: int
) -> Iterator[Made]:
    """`finish` of each batch of pages, in order. Workers generate and finish, a few ahead."""
    plan = make_plan(settings.pages, settings.seed, settings.reprints, forms=settings.forms)
    starts = range(0, len(plan), BATCH)
    rows = (plan.rows(start, start + BATCH) for start in starts)
    make: Callable[[list[Row]], Made] = partial(_make, settings, finish)
    if workers <= 1 or len(starts) == 1:
        yield from map(make, rows)
        return
    waiting: deque[Future[Made]] = deque()
    # spawn, not fork: a fork copies locks held by the threads of libraries
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        try:
            for batch in rows:
                waiting.append(pool.submit(make, batch))
                if len(waiting) >= 3 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _make(settings: Settings, finish: Callable[[list[SynthPage]], Made], rows: list[Row]) -> Made:
    return finish([make_page(row, settings) for row in rows])


def as_batch(pages: list[SynthPage]) -> pa.RecordBatch:
    columns = [[getattr(page, name) for page in pages] for name in SCHEMA.names]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.record_batch(arrays, schema=SCHEMA)


def make_page(row: Row, settings: Settings) -> SynthPage:
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
    """Originals are spread over the window; reprints follow within four days, most within one."""
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
    """A form: the same names on every page of the group, with other numbers."""
    labels = Draws(settings.seed, "form", row.group)
    writer = Writer(site.language, labels)
    (title,) = writer.forms("form_titles", 1)
    names = [writer.language.word("P", labels) for _ in range(8 + labels.below(10))]
    rows = [f"{name}\t{draws.below(90_000) / 100:.2f}" for name in names]
    about = source(site.language).labels["about_form"].replace("{site}", site.name)
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
