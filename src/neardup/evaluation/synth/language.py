"""A language: word tables to draw from, and sentence forms to fill (`en.toml`, `zh.toml`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neardup.config import read_toml
from neardup.evaluation.synth.draws import Draws, zipf_table

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
    made = []
    for _ in range(SENTENCES):
        names = ["openers", "clauses", *("links", "clauses") * draws.pick((0, 1, 1, 1, 2)), "tails"]
        parts = [draws.pick(forms[name]) for name in names]
        text = "".join(part.text for part in parts) + stop
        made.append(Form(text, b"".join(part.slots for part in parts)))
    return tuple(made)


def _open_classes(code: str) -> dict[str, list[str]]:
    lists = source(code).lists
    classes = {"N": "nouns", "V": "verbs", "A": "adjectives", "D": "adverbs"}
    tables = {slot: list(dict.fromkeys(lists[name])) for slot, name in classes.items()}
    return {**tables, "T": lists["times"], "M": _numbers()}


def _numbers() -> list[str]:
    draws = Draws("numbers")
    return [str(draws.below(10 ** (1 + draws.below(5))) + 2) for _ in range(2000)]


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
