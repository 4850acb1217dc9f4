"""A language: word tables to draw from, and sentence forms to fill."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from neardup.evaluation.synth import chinese, english
from neardup.evaluation.synth.draws import Draws, zipf_table

SLOTS = "NVADPHOMT"  # noun, verb, adjective, adverb, place, person, organisation, number, time
TABLE = 4096  # words of each kind, by Zipf's law
SENTENCES = 4096  # whole-sentence forms, combined once because sentences are many
Words = NDArray[np.object_]
FORMS = (
    "clauses", "links", "openers", "tails", "titles", "comments", "adverts", "footers",
    "form_titles",
)  # fmt: skip


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
    forms: dict[str, tuple[Form, ...]]  # by name, as in FORMS
    sentences: tuple[Form, ...]
    gap: str  # between sentences
    stop: str

    def word(self, slot: str, draws: Draws) -> str:
        """One word of a kind."""
        return str(self.words[SLOTS.index(slot) * TABLE + draws.below(TABLE)])


@cache
def language(code: str) -> Language:
    """English ("en") or Chinese ("zh")."""
    source, tables = (english, _english()) if code == "en" else (chinese, _chinese())
    forms = {name: _forms(code, getattr(source, name.upper())) for name in FORMS}
    stop = "." if code == "en" else "。"
    return Language(
        code,
        np.concatenate([zipf_table(tables[slot], TABLE) for slot in SLOTS]),
        forms,
        _sentences(forms, stop, Draws(code, "sentences")),
        gap=" " if code == "en" else "",
        stop=stop,
    )


def _forms(code: str, source: str | list[str]) -> tuple[Form, ...]:
    texts = source.strip().split("\n") if isinstance(source, str) else source
    slot = re.compile(rf"\b[{SLOTS}]\b" if code == "en" else f"[{SLOTS}]")
    return tuple(
        Form(slot.sub("%s", text), bytes(map(SLOTS.index, slot.findall(text)))) for text in texts
    )


def _sentences(forms: dict[str, tuple[Form, ...]], stop: str, draws: Draws) -> tuple[Form, ...]:
    """Sentences of one to three clauses."""
    made = []
    for _ in range(SENTENCES):
        names = ["openers", "clauses", *("links", "clauses") * draws.pick((0, 1, 1, 1, 2)), "tails"]
        parts = [draws.pick(forms[name]) for name in names]
        text = "".join(part.text for part in parts) + stop
        made.append(Form(text, b"".join(part.slots for part in parts)))
    return tuple(made)


def _open_classes(words: ModuleType) -> dict[str, list[str]]:
    classes = {"N": words.NOUNS, "V": words.VERBS, "A": words.ADJECTIVES, "D": words.ADVERBS}
    tables = {slot: list(dict.fromkeys(text.split())) for slot, text in classes.items()}
    return {**tables, "T": listed(words.TIMES), "M": _numbers()}


def listed(text: str) -> list[str]:
    """The items of a word list, separated by bars if there are any, else by spaces."""
    return [item.strip() for item in text.split("|" if "|" in text else None)]


def _numbers() -> list[str]:
    draws = Draws("numbers")
    return [str(draws.below(10 ** (1 + draws.below(5))) + 2) for _ in range(2000)]


def _english() -> dict[str, list[str]]:
    draws = Draws("en")

    starts = listed(english.STARTS)

    def coined(ends: list[str]) -> str:
        parts = (draws.pick(starts), draws.pick(english.MIDDLES), draws.pick(ends))
        return "".join(parts).capitalize()

    first, kinds = listed(english.FIRST_NAMES), listed(english.BODIES)
    place_ends, surname_ends = listed(english.PLACE_ENDS), listed(english.SURNAME_ENDS)
    places = [coined(place_ends) for _ in range(TABLE)]
    people = [f"{draws.pick(first)} {coined(surname_ends)}" for _ in range(TABLE)]
    bodies = [f"{draws.pick(places)} {draws.pick(kinds)}" for _ in range(TABLE)]
    return {**_open_classes(english), "P": places, "H": people, "O": bodies}


def _chinese() -> dict[str, list[str]]:
    draws = Draws("zh")

    def characters(source: str, count: int) -> str:
        return "".join(draws.pick(source) for _ in range(count))

    ends, kinds = listed(chinese.PLACE_ENDS), listed(chinese.BODIES)
    places = [characters(chinese.PLACE_CHARACTERS, 2) + draws.pick(ends) for _ in range(TABLE)]
    people = [
        draws.pick(chinese.SURNAMES) + characters(chinese.GIVEN, 1 + draws.below(2))
        for _ in range(TABLE)
    ]
    bodies = [draws.pick(places)[:2] + draws.pick(kinds) for _ in range(TABLE)]
    return {**_open_classes(chinese), "P": places, "H": people, "O": bodies}
