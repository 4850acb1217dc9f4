"""Articles: a title and paragraphs of sentences that no other article has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neardup.evaluate.synth.draws import Draws
from neardup.evaluate.synth.language import SLOTS, TABLE, Language, language

OWN_WORDS = 64  # words of each kind an article keeps to (it has a subject); see Draws.small
SENTENCES = ("comments", "footers")  # forms that end with a full stop
LENGTHS = {"short": (6, 12), "normal": (14, 60)}  # sentences


@dataclass(frozen=True)
class Article:
    """A text before it is put on a page."""

    language: str
    title: str
    paragraphs: tuple[tuple[str, ...], ...]  # each of sentences

    @property
    def texts(self) -> list[str]:
        """Each paragraph as one line."""
        gap = language(self.language).gap
        return [gap.join(sentences) for sentences in self.paragraphs]

    @property
    def sentences(self) -> list[str]:
        """All of them, in order."""
        return [sentence for paragraph in self.paragraphs for sentence in paragraph]


class Writer:
    """Writes sentences with words of its own, drawn from a language by a key."""

    def __init__(self, code: str, draws: Draws) -> None:
        self.language: Language = language(code)
        self._draws = draws
        bits = (draws.raw(len(SLOTS) * OWN_WORDS) % np.uint64(TABLE)).reshape(len(SLOTS), -1)
        tables = self.language.tables
        self._words = {
            slot: tables[slot][row].tolist() for slot, row in zip(SLOTS, bits, strict=True)
        }

    def fill(self, text: str, slots: str) -> str:
        """A text with words in its slots."""
        words, places = self._words, self._draws.small(len(slots))
        return text % tuple([words[slot][n] for slot, n in zip(slots, places, strict=True)])

    def sentence(self) -> str:
        """One sentence of one to three clauses."""
        pick, forms = self._draws.pick, self.language.forms
        parts = [pick(forms["openers"]), pick(forms["clauses"])]
        for _ in range(pick((0, 1, 1, 1, 2))):
            parts += [pick(forms["links"]), pick(forms["clauses"])]
        parts.append(pick(forms["tails"]))
        text = "".join([part.text for part in parts]) + self.language.stop
        return _capital(self.fill(text, "".join([part.slots for part in parts])))

    def form(self, name: str) -> str:
        """A text of one of the language's forms of that name: titles, comments, adverts ..."""
        form = self._draws.pick(self.language.forms[name])
        # what is a sentence ends like one: methods that look at full stops must meet a site's own
        stop = self.language.stop if name in SENTENCES else ""
        return _capital(self.fill(form.text, form.slots)) + stop


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def write_article(code: str, key: tuple[int | str, ...], length: str) -> Article:
    """The article of that key; `length` is short or normal."""
    draws = Draws(*key)
    writer = Writer(code, draws)
    low, high = LENGTHS[length]
    count = int(low * (high / low) ** draws.between(0, 1))  # many short ones, few long ones
    sentences = [writer.sentence() for _ in range(count)]
    return Article(code, writer.form("titles"), group(sentences, lambda: 2 + draws.below(4)))


def group(sentences: list[str], size: Callable[[], int]) -> tuple[tuple[str, ...], ...]:
    """Sentences as paragraphs of `size` sentences."""
    paragraphs, start = [], 0
    while start < len(sentences):
        end = start + size()
        paragraphs.append(tuple(sentences[start:end]))
        start = end
    return tuple(paragraphs)
