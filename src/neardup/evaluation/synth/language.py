"""Random draws, and a language: word tables to draw from, sentence forms to fill (`en.toml`,
`zh.toml`).

Draws are the same on every machine and version: SplitMix64, seeded by key. Neither NumPy nor
`random` guarantees how its distributions use random bits, and creating one of their generators for
each of the many short streams here would cost more than the draws.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np
import xxhash
from numpy.typing import NDArray

from neardup.arrays import Numbers
from neardup.config import read_toml

Item = TypeVar("Item")
_FEW, _MANY = 32, 256  # drawn ahead: many streams are short
_STEP = np.uint64(0x9E37_79B9_7F4A_7C15)
_FIRST, _SECOND = np.uint64(0xBF58_476D_1CE4_E5B9), np.uint64(0x94D0_49BB_1331_11EB)
_STEPS = np.arange(1, _MANY + 1, dtype=np.uint64) * _STEP


class Draws:
    """A stream of random choices; the same key gives the same choices."""

    def __init__(self, *key: int | str) -> None:
        seed = xxhash.xxh3_64_intdigest("/".join(map(str, key)).encode())
        self._state = np.array([seed], np.uint64)
        self._held: list[int] = []
        self._ahead = _FEW

    def raw(self, count: int) -> NDArray[np.uint64]:
        """`count` random 64-bit numbers."""
        ready = count <= _MANY
        steps = _STEPS[:count] if ready else np.arange(1, count + 1, dtype=np.uint64) * _STEP
        bits = steps + self._state
        if count:
            self._state = bits[-1:].copy()
        bits ^= bits >> np.uint64(30)
        bits *= _FIRST
        bits ^= bits >> np.uint64(27)
        bits *= _SECOND
        bits ^= bits >> np.uint64(31)
        return bits

    def bits(self) -> int:
        """52 random bits."""
        if not self._held:
            self._held = (self.raw(self._ahead) >> np.uint64(12)).tolist()
            self._ahead = _MANY
        return self._held.pop()

    def skewed(self, count: int) -> Numbers:
        """`count` numbers from 0 to 63, low ones far more often: 0 in a tenth of cases.

        The product of two uniform draws: a subject has a few words that keep recurring.
        """
        even = self.raw(-(-count // 4)).astype("<u8").view(np.uint8)[: 2 * count] & 63
        return (even[::2].astype(np.int64) * even[1::2]) >> 6

    def below(self, limit: int) -> int:
        """From 0 to `limit` - 1."""
        return self.bits() % limit

    def rank(self, count: int) -> int:
        """From 0 to `count` - 1 by Zipf's law: a few numbers are drawn often, most hardly ever."""
        return int((count + 1) ** self.between(0, 1)) - 1

    def between(self, low: float, high: float) -> float:
        """From `low` up to `high`."""
        return low + (high - low) * (self.bits() / 2**52)

    def chance(self, share: float) -> bool:
        """True in this share of cases."""
        return self.bits() < share * 2**52

    def pick(self, items: Sequence[Item]) -> Item:
        return items[self.bits() % len(items)]

    def picks(self, items: Sequence[Item], count: int) -> list[Item]:
        """`count` of them, with repeats."""
        return [items[place] for place in (self.raw(count) % np.uint64(len(items))).tolist()]

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """At most `count` of them, each once, in the order drawn."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(min(count, len(left)))]


def zipf_table(words: Sequence[str], size: int, shift: int = 8) -> NDArray[np.object_]:
    """A table of `size` entries in which the word of rank r has a share of 1 / (r + shift).

    A uniform pick from the table follows Zipf's law, in Mandelbrot's form: no word dominates.
    """
    weights = 1.0 / (np.arange(len(words)) + shift)
    ends = np.cumsum(weights) / weights.sum() * size
    ranks = np.searchsorted(ends, np.arange(size), side="right").clip(max=len(words) - 1)
    table: NDArray[np.object_] = np.array(words, dtype=object)[ranks]
    return table


SLOTS = "NVADPHOMT"  # noun, verb, adjective, adverb, place, person, organisation, number, time
TABLE = 4096  # words of each kind, by Zipf's law
SENTENCES = 4096  # whole-sentence forms, combined once because sentences are many
Words = NDArray[np.object_]


@dataclass(frozen=True)
class Form:
    """A sentence form: text with %s for each word, and the kinds of those words."""

    text: str
    slots: bytes  # indices into SLOTS


@dataclass(frozen=True)
class Language:
    """Everything needed to write an article."""

    code: str
    words: Words  # TABLE for each slot, one slot after another
    forms: dict[str, tuple[Form, ...]]  # by name
    sentences: tuple[Form, ...]
    gap: str  # between sentences
    stop: str

    def word(self, slot: str, draws: Draws) -> str:
        return str(self.words[SLOTS.index(slot) * TABLE + draws.below(TABLE)])


@dataclass(frozen=True)
class Source:
    lists: dict[str, list[str]]
    forms: dict[str, list[str]]
    labels: dict[str, str]


@cache
def source(code: str) -> Source:
    """The word lists and sentence forms of English ("en") or Chinese ("zh")."""
    tables = read_toml(Path(__file__).with_name(f"{code}.toml"))
    lists = {
        name: [item.strip() for item in items.split("|" if "|" in items else None)]
        for name, items in tables["lists"].items()
    }
    forms = {
        name: items if isinstance(items, list) else items.strip().split("\n")
        for name, items in tables["forms"].items()
    }
    return Source(lists, forms, tables["labels"])


@cache
def language(code: str) -> Language:
    """English ("en") or Chinese ("zh")."""
    tables = _english() if code == "en" else _chinese()
    forms = {name: _forms(code, texts) for name, texts in source(code).forms.items()}
    stop = "." if code == "en" else "。"
    return Language(
        code,
        np.concatenate([zipf_table(tables[slot], TABLE) for slot in SLOTS]),
        forms,
        _sentences(forms, stop, Draws(code, "sentences")),
        gap=" " if code == "en" else "",
        stop=stop,
    )


def _forms(code: str, texts: list[str]) -> tuple[Form, ...]:
    slot = re.compile(rf"\b[{SLOTS}]\b" if code == "en" else f"[{SLOTS}]")
    return tuple(
        Form(slot.sub("%s", text), bytes(map(SLOTS.index, slot.findall(text)))) for text in texts
    )


def _sentences(forms: dict[str, tuple[Form, ...]], stop: str, draws: Draws) -> tuple[Form, ...]:
    """Sentences of one to three clauses."""
    sentences = []
    for _ in range(SENTENCES):
        names = ["openers", "clauses", *("links", "clauses") * draws.pick((0, 1, 1, 1, 2)), "tails"]
        parts = [draws.pick(forms[name]) for name in names]
        text = "".join(part.text for part in parts) + stop
        sentences.append(Form(text, b"".join(part.slots for part in parts)))
    return tuple(sentences)


def _open_classes(code: str) -> dict[str, list[str]]:
    lists, draws = source(code).lists, Draws("numbers")
    classes = {"N": "nouns", "V": "verbs", "A": "adjectives", "D": "adverbs"}
    tables = {slot: list(dict.fromkeys(lists[name])) for slot, name in classes.items()}
    numbers = [str(draws.below(10 ** (1 + draws.below(5))) + 2) for _ in range(2000)]
    return {**tables, "T": lists["times"], "M": numbers}


def _english() -> dict[str, list[str]]:
    draws, lists = Draws("en"), source("en").lists

    def coin(ends: str) -> str:
        parts = [draws.pick(lists[name]) for name in ("starts", "middles", ends)]
        return "".join(parts).capitalize()

    places = [coin("place_ends") for _ in range(TABLE)]
    people = [f"{draws.pick(lists['first_names'])} {coin('surname_ends')}" for _ in range(TABLE)]
    bodies = [f"{draws.pick(places)} {draws.pick(lists['bodies'])}" for _ in range(TABLE)]
    return {**_open_classes("en"), "P": places, "H": people, "O": bodies}


def _chinese() -> dict[str, list[str]]:
    draws, lists, labels = Draws("zh"), source("zh").lists, source("zh").labels

    def characters(name: str, count: int) -> str:
        return "".join(draws.pick(labels[name]) for _ in range(count))

    places = [
        characters("place_characters", 2) + draws.pick(lists["place_ends"]) for _ in range(TABLE)
    ]
    people = [
        characters("surnames", 1) + characters("given", 1 + draws.below(2)) for _ in range(TABLE)
    ]
    bodies = [draws.pick(places)[:2] + draws.pick(lists["bodies"]) for _ in range(TABLE)]
    return {**_open_classes("zh"), "P": places, "H": people, "O": bodies}
