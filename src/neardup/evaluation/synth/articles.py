"""The text of a page: articles with sentences of their own, and how each kind of reprint or copy
changes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from neardup.evaluation.synth.language import SLOTS, TABLE, Draws, Form, Language, language, source
from neardup.evaluation.synth.plan import LENGTHS

OWN_WORDS = 64  # per kind: an article has a subject; see Draws.skewed
_SLOT_OF_OWN = np.repeat(np.arange(len(SLOTS)), OWN_WORDS)
TEMPLATE_SENTENCES = ("comments", "footers", "consents")  # forms that end with a full stop
STOCK = 40  # stock sentences of a language


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

    def __init__(self, code: str, draws: Draws, *, template_stops: bool = True) -> None:
        self.language: Language = language(code)
        self._draws = draws
        self._template_stops = template_stops
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
        return self.finish(name, self._draws.picks(self.language.forms[name], count))

    def finish(self, name: str, forms: Sequence[Form]) -> list[str]:
        """Fill these forms of this name, with full stops where real sites have them, since some
        methods look for them."""
        texts, stop = self.fill(forms), self.language.stop
        if name not in TEMPLATE_SENTENCES:
            return texts
        if self._template_stops:
            return [text + stop for text in texts]
        return [text.replace(f"{stop} ", ", ") for text in texts]


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
    """The article as changed by this kind of reprint, or of copy on its own host."""
    return _CHANGES[kind](article, draws) if kind in _CHANGES else article


def retitle(article: Article, key: tuple[int | str, ...], draws: Draws) -> Article:
    """The article of this key under another title about the same subject."""
    titles = Writer(article.language, Draws(*key)).forms("titles", 8)
    return replace(article, title=draws.pick([each for each in titles if each != article.title]))


def edit_title(article: Article, draws: Draws) -> Article:
    """The article with one word of its title replaced."""
    units, width = _units(article.title, article.language)
    start = draws.below(max(len(units) - width, 1))
    units[start : start + width] = [language(article.language).word("N", draws)]
    return replace(article, title=language(article.language).gap.join(units))


def _units(text: str, code: str) -> tuple[list[str], int]:
    """The words of an English text, the characters of a Chinese one; and how many make a word."""
    return (text.split(" "), 1) if code == "en" else (list(text), 2)


@lru_cache(maxsize=2 * STOCK)
def stock_sentence(seed: int, code: str, number: int) -> str:
    """A sentence that unrelated articles share: an agency's line, a disclaimer."""
    writer = Writer(code, Draws(seed, "stock", code, number))
    return writer.forms("stock", 1)[0] + writer.language.stop


def add_stock(article: Article, seed: int, draws: Draws, *, before: bool) -> Article:
    """The article with a stock sentence before or after its text; a few are far more common."""
    added = ((stock_sentence(seed, article.language, draws.rank(STOCK)),),)
    paragraphs = added + article.paragraphs if before else article.paragraphs + added
    return replace(article, paragraphs=paragraphs)


def _edit_words(article: Article, draws: Draws, *, most: float) -> Article:
    """One word in a hundred changed, up to the share `most`."""
    share = draws.between(0.01, most)
    paragraphs = [
        tuple(_edit(sentence, article.language, share, draws) for sentence in sentences)
        for sentences in article.paragraphs
    ]
    return replace(article, paragraphs=tuple(paragraphs))


def _edit(sentence: str, code: str, share: float, draws: Draws) -> str:
    units, width = _units(sentence, code)
    edits = int(len(units) * share / width + draws.between(0, 1))
    for _ in range(edits):
        start = draws.below(max(len(units) - width, 1))  # the full stop stays
        word = language(code).word("N", draws)
        removed, added = draws.pick([(width, [word]), (width, [word]), (width, []), (0, [word])])
        units[start : start + removed] = added
    return language(code).gap.join(units)


def _first(article: Article, share: float) -> Article:
    """The first sentences, this share of them."""
    left = max(1, int(len(article.sentences) * share))
    paragraphs = []
    for sentences in article.paragraphs:
        if left > 0:
            paragraphs.append(sentences[:left])
            left -= len(sentences)
    return replace(article, paragraphs=tuple(paragraphs))


def _extended(article: Article, draws: Draws, *, after: float) -> Article:
    """A twelfth to a quarter of new text, with the chance `after` at the end, else at the start."""
    writer = Writer(article.language, draws)
    count = max(1, int(len(article.sentences) * draws.between(0.08, 0.25)))
    more = group(writer.sentences(count), lambda: 1 + draws.below(4))
    at_end = after > 0 and draws.chance(after)
    paragraphs = article.paragraphs + more if at_end else more + article.paragraphs
    return replace(article, paragraphs=paragraphs)


def _updated(article: Article, draws: Draws) -> Article:
    """One paragraph rewritten, but at most a sixth of the text."""
    paragraphs = list(article.paragraphs)
    number = draws.below(len(paragraphs))
    count = min(len(paragraphs[number]), max(1, len(article.sentences) // 6))
    rewritten = Writer(article.language, draws).sentences(count)
    paragraphs[number] = (*rewritten, *paragraphs[number][count:])
    return replace(article, paragraphs=tuple(paragraphs))


def _sorted(article: Article, draws: Draws) -> Article:
    """The rows of a table in another order: by name, by figure, or reversed."""
    rows = [line for line in article.sentences if not line.endswith("\t")]
    orders = [sorted(rows), sorted(rows, key=lambda row: float(row.partition("\t")[2])), rows[::-1]]
    others = iter(draws.pick([order for order in orders if order != rows]))
    lines = [line if line.endswith("\t") else next(others) for line in article.sentences]
    return replace(article, paragraphs=tuple((line,) for line in lines))


def _reflowed(article: Article, draws: Draws) -> Article:
    """The same sentences in other paragraphs."""
    sizes = draws.pick([(1, 1), (1, 2), (5, 5), (7, 4)])
    paragraphs = group(article.sentences, lambda: sizes[0] + draws.below(sizes[1]))
    return replace(article, paragraphs=paragraphs)


def _reordered(article: Article, draws: Draws) -> Article:
    """The paragraphs in another order; the first stays."""
    first, rest = article.paragraphs[:1], article.paragraphs[1:]
    shuffled = tuple(draws.sample(rest, len(rest)))
    if shuffled == rest:
        shuffled = rest[::-1]
    return replace(article, paragraphs=first + shuffled)


def merge(article: Article, other: Article) -> Article:
    """The first half of each: the text of a page of kind `partial`."""
    halves = _first(article, 0.5).paragraphs + _first(other, 0.5).paragraphs
    return replace(article, paragraphs=halves)


_CHANGES: Mapping[str, Callable[[Article, Draws], Article]] = {
    "edited": partial(_edit_words, most=0.06),
    "trimmed": lambda article, draws: _first(article, draws.between(0.75, 0.92)),
    "extended": partial(_extended, after=0.7),
    "reflowed": _reflowed,
    "reordered": _reordered,
    "excerpt": lambda article, draws: _first(article, draws.between(0.2, 0.45)),
    "corrected": partial(_edit_words, most=0.04),
    "updated": _updated,
    "grown": partial(_extended, after=0.0),  # at the top, as a live blog grows
    "sorted": _sorted,
}


def to_traditional(article: Article) -> Article:
    """The article as a page in Big5 would have it."""
    labels = source("zh").labels
    table = str.maketrans(labels["simplified"], labels["traditional"])
    paragraphs = tuple(
        tuple(each.translate(table) for each in sentences) for sentences in article.paragraphs
    )
    return Article(article.language, article.title.translate(table), paragraphs)
