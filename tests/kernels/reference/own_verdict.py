"""The plain truth for `kernels.own_verdict`, one pair at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neardup.model import Relation


@dataclass(frozen=True)
class Page:
    """What a verdict depends on; `own_title` is 0 where others of the host have the title."""

    host: int
    title: int
    own_title: int
    text: int
    mass: float
    same_host_mass: float
    amount: float


@dataclass(frozen=True)
class Pair:
    amount: float
    same_text: bool
    similarity: float
    required: float
    left_share: float
    right_share: float
    same_host: bool
    one_title: bool
    two_titles: bool


def compared(
    page: Page, other: Page, shared: Sequence[float], threshold: float, units: float, more: float
) -> Pair:
    same_host = page.host == other.host and page.host != 0
    one_title = same_host and page.own_title == other.own_title and page.own_title != 0
    titles = {page.title, other.title}
    two_titles = same_host and len(titles) == 2 and 0 not in titles
    masses = [each.same_host_mass if same_host else each.mass for each in (page, other)]
    amount = min(page.amount, other.amount)
    required = threshold + (1.0 - threshold) * (units / (units + amount) if units else 0.0)
    for apart in (same_host and not one_title, two_titles):
        required += (1.0 - required) * more if apart else 0.0
    same_text = page.text == other.text
    return Pair(
        amount,
        same_text,
        1.0 if same_text else share(shared[0] + shared[1], masses[0] + masses[1]),
        required,
        share(shared[0], masses[0]),
        share(shared[1], masses[1]),
        same_host,
        one_title,
        two_titles,
    )


def share(part: float, whole: float) -> float:
    return min(max(part / whole, 0.0), 1.0) if whole > 0 else 0.0


def relation(pair: Pair, enough: float, contained: float, overlapping: float) -> Relation:
    left, right = pair.left_share, pair.right_share
    rules = {
        Relation.UNDECIDED: pair.amount < enough,
        Relation.SAME: pair.same_text,
        Relation.NEAR: pair.similarity >= pair.required,
        Relation.CONTAINED: left >= contained > right,
        Relation.CONTAINS: right >= contained > left,
        Relation.OVERLAP: max(left, right) > overlapping,
        Relation.DIFFERENT: True,
    }
    return next(each for each, holds in rules.items() if holds)
