"""Pages for the tests of `own-text`, and its verdict on two of them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pyarrow as pa

from neardup.methods.base import NOTHING_SURVEYED, SurveyResults
from neardup.methods.own_text.method import OwnText
from neardup.model import Verdict
from page_batches import judge_one, page_batch

METHOD = OwnText()
WRITINGS = ["words", "characters"]
WORDS = [
    first + second
    for first in ["balo", "meni", "tiru", "sava"]
    for second in ["dko", "nst", "rgi", "pel"]
]
WORDS += [word[::-1] for word in WORDS]
CHARACTERS = [chr(code) for code in range(0x5317, 0x5317 + 900)]


def article(seed: int, paragraphs: int = 8, writing: str = "words") -> list[str]:
    """Paragraphs that no other seed has a run of words in common with."""
    source = random.Random(f"{writing} {seed}")
    return [" ".join(sentence(source, writing) for _ in range(3)) for _ in range(paragraphs)]


def sentence(source: random.Random, writing: str = "words") -> str:
    if writing == "words":
        return " ".join(source.choices(WORDS, k=14)).capitalize() + "."
    return "".join(source.choices(CHARACTERS, k=28)) + "。"


def judged(left: Sequence[str], right: Sequence[str], hosts: Sequence[str] = ("a", "b")) -> Verdict:
    """The verdict on two pages of such lines, with nothing known of their sites."""
    pages = page_batch(["\n".join(left), "\n".join(right)], host=list(hosts))
    found = METHOD.describe(pages)
    return judge_one(METHOD, found.slice(0, 1), found.slice(1, 1))


def pair_in(
    pages: pa.RecordBatch, left: int, right: int, surveyed: SurveyResults = NOTHING_SURVEYED
) -> Verdict:
    found = METHOD.describe(pages, surveyed)
    return judge_one(METHOD, found.slice(left, 1), found.slice(right, 1))


def form(seed: int) -> list[str]:
    """A page filled in from a form: every fourth line has numbers of its own."""
    source = random.Random(seed)
    lines = article(7, 12)
    lines[::4] = [" ".join(str(source.randrange(10**6)) for _ in range(42)) for _ in lines[::4]]
    return [" ".join(lines)]


def on_site(pages: Sequence[Sequence[str]], template: Sequence[str]) -> list[str]:
    """Pages with the lines of a template around their own."""
    return ["\n".join([*template, *own, *template[::-1]]) for own in pages]
