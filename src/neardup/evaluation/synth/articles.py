"""The text of a page: articles with sentences of their own, and how each kind of reprint
changes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from neardup.evaluation.synth.draws import Draws
from neardup.evaluation.synth.language import SLOTS, TABLE, Form, Language, language, source

OWN_WORDS = 64  # per kind: an article has a subject; see Draws.skewed
_SLOT_OF_OWN = np.repeat(np.arange(len(SLOTS)), OWN_WORDS)
SENTENCES = ("comments", "footers")  # forms that end with a full stop
LENGTHS = {"short": (6, 12), "normal": (14, 60)}  # sentences


@dataclass(frozen=True)
class Article:
    """A text before it is laid out as a page."""

    language: str
    title: str
    paragraphs: tuple[tuple[str, ...], ...]  # each of sentences

    @property
    def texts(self) -> list[str]:
        """The paragraphs, one line each."""
        gap = language(self.language).gap
        return [gap.join(sentences) for sentences in self.paragraphs]

    @property
    def sentences(self) -> list[str]:
        return [sentence for paragraph in self.paragraphs for sentence in paragraph]


class Writer:
    """Writes sentences with its own vocabulary, a sample of the language's words."""

    def __init__(self, code: str, draws: Draws) -> None:
        self.language: Language = language(code)
        self._draws = draws
        drawn = (draws.raw(_SLOT_OF_OWN.size) % np.uint64(TABLE)).astype(np.int64)
        self._words = self.language.words[_SLOT_OF_OWN * TABLE + drawn]

    def fill(self, forms: Sequence[Form]) -> list[str]:
        """The forms with words in their slots."""
        slots = np.frombuffer(b"".join([form.slots for form in forms]), np.uint8)
        places = slots.astype(np.int64) * OWN_WORDS + self._draws.skewed(slots.size)
        together = "\n".join([form.text for form in forms])
        texts = (together % tuple(self._words[places].tolist())).split("\n")
        return [text[:1].upper() + text[1:] for text in texts]

    def sentences(self, count: int) -> list[str]:
        return self.fill(self._draws.picks(self.language.sentences, count))

    def forms(self, name: str, count: int) -> list[str]:
        """Texts from the language's forms of this name: titles, comments, adverts ..."""
        if not count:
            return []
        texts = self.fill(self._draws.picks(self.language.forms[name], count))
        # a full stop where real sites have one, since some methods look for them
        stop = self.language.stop if name in SENTENCES else ""
        return [text + stop for text in texts]


def write_article(code: str, key: tuple[int | str, ...], length: str) -> Article:
    """The article of this key; `length` is short or normal."""
    draws = Draws(*key)
    writer = Writer(code, draws)
    low, high = LENGTHS[length]
    count = int(low * (high / low) ** draws.between(0, 1))  # many short ones, few long ones
    sentences = writer.sentences(count)
    (title,) = writer.forms("titles", 1)
    return Article(code, title, group(sentences, lambda: 1 + draws.below(4)))


def group(sentences: list[str], size: Callable[[], int]) -> tuple[tuple[str, ...], ...]:
    """Sentences as paragraphs of `size` sentences."""
    paragraphs, start = [], 0
    while start < len(sentences):
        end = start + size()
        paragraphs.append(tuple(sentences[start:end]))
        start = end
    return tuple(paragraphs)


def reprint(kind: str, article: Article, draws: Draws) -> Article:
    """The article as changed by this kind of reprint."""
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
    """Without the last twelfth to quarter."""
    return _first(article, draws.between(0.75, 0.92))


def _excerpt(article: Article, draws: Draws) -> Article:
    """The beginning only, which the article contains."""
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
    """The first half of each: the text of a page of kind `partial`."""
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


def to_traditional(article: Article) -> Article:
    """The article as a page in Big5 would have it."""
    labels = source("zh").labels
    table = str.maketrans(labels["simplified"], labels["traditional"])
    paragraphs = tuple(
        tuple(sentence.translate(table) for sentence in sentences)
        for sentences in article.paragraphs
    )
    return Article(article.language, article.title.translate(table), paragraphs)
