"""Pages of one site that look alike and are not the same page, each its own article.

The label policy: a reader who looks for one of them is not served by another, because its
figures, its goods or its (missing) text are others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from neardup.evaluation.synth.articles import Article, Writer
from neardup.evaluation.synth.language import Draws, source
from neardup.evaluation.synth.layouts import Site, consent_text
from neardup.evaluation.synth.plan import Row, Settings


def write_lookalike(row: Row, settings: Settings, site: Site, draws: Draws) -> Article:
    """The text of the page; what its group shares is drawn by the group's number."""
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
