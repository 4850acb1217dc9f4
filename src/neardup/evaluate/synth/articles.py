"""Articles: a title and paragraphs of sentences that no other article has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from neardup.evaluate.synth.draws import Draws
from neardup.evaluate.synth.language import SLOTS, TABLE, Form, Language, language

OWN_WORDS = 64  # words of each kind an article keeps to (it has a subject); see Draws.skewed
_SLOT_OF_OWN = np.repeat(np.arange(len(SLOTS)), OWN_WORDS)
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
        drawn = (draws.raw(_SLOT_OF_OWN.size) % np.uint64(TABLE)).astype(np.int64)
        self._words = self.language.words[_SLOT_OF_OWN * TABLE + drawn]

    def fill(self, forms: Sequence[Form]) -> list[str]:
        """Texts with words in their slots."""
        slots = np.frombuffer(b"".join([form.slots for form in forms]), np.uint8)
        places = slots.astype(np.int64) * OWN_WORDS + self._draws.skewed(slots.size)
        together = "\n".join([form.text for form in forms])
        texts = (together % tuple(self._words[places].tolist())).split("\n")
        return [text[:1].upper() + text[1:] for text in texts]

    def sentences(self, count: int) -> list[str]:
        """So many sentences."""
        return self.fill(self._draws.picks(self.language.sentences, count))

    def forms(self, name: str, count: int) -> list[str]:
        """Texts of the language's forms of that name: titles, comments, adverts ..."""
        if not count:
            return []
        texts = self.fill(self._draws.picks(self.language.forms[name], count))
        # what is a sentence ends like one: methods that look at full stops must meet a site's own
        stop = self.language.stop if name in SENTENCES else ""
        return [text + stop for text in texts]


def write_article(code: str, key: tuple[int | str, ...], length: str) -> Article:
    """The article of that key; `length` is short or normal."""
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
