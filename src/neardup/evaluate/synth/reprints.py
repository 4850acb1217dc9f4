"""What a reprint does to the text of an article."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from neardup.evaluate.synth.articles import Article, Writer, group
from neardup.evaluate.synth.draws import Draws
from neardup.evaluate.synth.language import language


def reprint(kind: str, article: Article, draws: Draws) -> Article:
    """The article as a page of this kind has it."""
    return _CHANGES.get(kind, _unchanged)(article, draws)


def _unchanged(article: Article, _: Draws) -> Article:
    return article


def _edited(article: Article, draws: Draws) -> Article:
    """1 to 6 % of the words (of the characters, in Chinese) changed."""
    share = draws.between(0.01, 0.06)
    paragraphs = [
        tuple(_edit(sentence, article.language, share, draws) for sentence in sentences)
        for sentences in article.paragraphs
    ]
    return Article(article.language, article.title, tuple(paragraphs))


def _edit(sentence: str, code: str, share: float, draws: Draws) -> str:
    spaced = code == "en"
    units = sentence.split(" ") if spaced else list(sentence)
    width = 1 if spaced else 2  # a Chinese word has two characters
    edits = int(len(units) * share / width + draws.between(0, 1))
    for _ in range(edits):
        place = draws.below(max(len(units) - width, 1))  # the full stop stays
        word = language(code).word("N", draws)
        removed, added = draws.pick([(width, [word]), (width, [word]), (width, []), (0, [word])])
        units[place : place + removed] = added
    return language(code).gap.join(units)


def _trimmed(article: Article, draws: Draws) -> Article:
    """The last twelfth to quarter left out."""
    return _first(article, draws.between(0.75, 0.92))


def _excerpt(article: Article, draws: Draws) -> Article:
    """A part from the beginning: its relation to the article is containment."""
    return _first(article, draws.between(0.2, 0.45))


def _first(article: Article, share: float) -> Article:
    left = max(1, int(len(article.sentences) * share))
    paragraphs = []
    for sentences in article.paragraphs:
        if left > 0:
            paragraphs.append(sentences[:left])
            left -= len(sentences)
    return Article(article.language, article.title, tuple(paragraphs))


def _extended(article: Article, draws: Draws) -> Article:
    """A twelfth to a quarter more, before or after, in other words."""
    writer = Writer(article.language, draws)
    count = max(1, int(len(article.sentences) * draws.between(0.08, 0.25)))
    more = group(writer.sentences(count), lambda: 1 + draws.below(4))
    after = draws.chance(0.7)
    paragraphs = article.paragraphs + more if after else more + article.paragraphs
    return Article(article.language, article.title, paragraphs)


def _reflowed(article: Article, draws: Draws) -> Article:
    """The same sentences in other paragraphs."""
    sizes = draws.pick([(1, 1), (1, 2), (5, 5), (7, 4)])
    paragraphs = group(article.sentences, lambda: sizes[0] + draws.below(sizes[1]))
    return Article(article.language, article.title, paragraphs)


def _reordered(article: Article, draws: Draws) -> Article:
    """The paragraphs in another order; the first stays."""
    first, rest = article.paragraphs[:1], article.paragraphs[1:]
    shuffled = tuple(draws.sample(rest, len(rest)))
    if shuffled == rest:
        shuffled = rest[::-1]
    return Article(article.language, article.title, first + shuffled)


def merge(article: Article, other: Article) -> Article:
    """Half of one and half of another: what a page of kind `partial` has."""
    halves = _first(article, 0.5).paragraphs + _first(other, 0.5).paragraphs
    return Article(article.language, article.title, halves)


_CHANGES: Mapping[str, Callable[[Article, Draws], Article]] = {
    "edited": _edited,
    "trimmed": _trimmed,
    "extended": _extended,
    "reflowed": _reflowed,
    "reordered": _reordered,
    "excerpt": _excerpt,
}
