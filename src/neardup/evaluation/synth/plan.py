"""The plan of a set: one small row per page, for all pages at once, shuffled.

A group of rows is one article with its reprints, one article in parts on two sites, or one form
(a page of figures) that a site fills in again and again. The rows of a group are far apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.arrays import Floats, Numbers
from neardup.evaluation.synth.draws import Draws

# what a page is to its article; those after "original" are reprints, weighted
REPRINTS = {
    "mirror": 24,
    "edited": 22,
    "trimmed": 13,
    "extended": 13,
    "reflowed": 9,
    "reordered": 6,
    "re-encoded": 5,
    "excerpt": 5,
    "partial": 3,
}
KINDS = ("original", *REPRINTS, "paginated", "form")
LARGEST = 12  # pages of an article
ORDINARY, PAGINATED, FORM = 0, 1, 2
_FORM_SHARE = 0.004  # of groups
_PAGINATED_SHARE = 0.016  # of groups, times the share of reprints
_MEAN_EXTRA = 1.8  # average reprints of an article with any
_FEW_GROUPS = 4096


@dataclass(frozen=True)
class Row:
    index: int
    group: int
    copy: int  # which publication of the article: 0 is the first
    part: int  # of an article in parts, or of a form; from 1; 0 is the whole
    kind: str

    @property
    def article(self) -> str:
        """The article's name in truth.csv."""
        return f"a{self.group:08d}" + (f"-{self.part}" if self.part else "")


@dataclass(frozen=True)
class Plan:
    """All rows, stored as columns."""

    group: Numbers
    copy: NDArray[np.uint8]
    part: NDArray[np.uint8]
    kind: NDArray[np.uint8]

    def __len__(self) -> int:
        return self.group.size

    def rows(self, start: int, stop: int) -> list[Row]:
        """The rows from `start` to `stop`; `index` is the position in the plan."""
        columns = (self.group, self.copy, self.part, self.kind)
        listed = zip(*(column[start:stop].tolist() for column in columns), strict=True)
        return [
            Row(start + place, group, copy, part, KINDS[kind])
            for place, (group, copy, part, kind) in enumerate(listed)
        ]


def make_plan(pages: int, seed: int, reprints: float, *, forms: bool = True) -> Plan:
    """Plan this many pages; `reprints` is the share of pages that reprint an earlier one."""
    draws = Draws(seed, "plan")
    sizes, types, parts = _groups(pages, draws, reprints, _FORM_SHARE if forms else 0.0)
    group = np.repeat(np.arange(sizes.size), sizes)[:pages]
    within = np.arange(pages) - np.repeat(np.cumsum(sizes) - sizes, sizes)[:pages]
    type_, per_copy = types[group], parts[group]
    copy = np.where(type_ == FORM, 0, within // per_copy)
    part = np.where(type_ == ORDINARY, 0, within % per_copy + 1)
    part = np.where(type_ == FORM, within + 1, part)
    kind = np.select(
        [type_ == FORM, copy == 0, type_ == PAGINATED],
        [KINDS.index("form"), 0, KINDS.index("paginated")],
        _reprint_kinds(draws, pages),
    )
    order = np.argsort(draws.raw(pages), kind="stable")
    return Plan(
        group[order],
        copy[order].astype(np.uint8),
        part[order].astype(np.uint8),
        kind[order].astype(np.uint8),
    )


def _groups(
    pages: int, draws: Draws, reprints: float, forms: float
) -> tuple[Numbers, Numbers, Numbers]:
    """The number of pages, the type, and the pages per publication of each group."""
    made, counted = [], 0
    while counted < pages:
        some = _some_groups(max(_FEW_GROUPS, pages // 8), draws, reprints, forms)
        made.append(some)
        counted += int(some[0].sum())
    sizes, types, parts = (np.concatenate(column) for column in zip(*made, strict=True))
    needed = int(np.searchsorted(np.cumsum(sizes), pages)) + 1
    return sizes[:needed], types[:needed], parts[:needed]


def _some_groups(
    count: int, draws: Draws, reprints: float, forms: float
) -> tuple[Numbers, Numbers, Numbers]:
    wanted = reprints / (1 - reprints)  # average reprints per article
    mean = max(_MEAN_EXTRA, wanted)
    has_any = _uniform(draws, count) < wanted / mean
    # 1 + a geometric number, with the required mean
    more = np.floor(np.log1p(-_uniform(draws, count)) / np.log1p(-1 / mean))
    sizes = 1 + np.where(has_any, 1 + more, 0).clip(max=LARGEST - 1)
    chance = _uniform(draws, count)
    paginated = (chance >= forms) & (chance < forms + _PAGINATED_SHARE * reprints)
    types = np.select([chance < forms, paginated], [FORM, PAGINATED], ORDINARY)
    parts = np.where(types == PAGINATED, 2 + draws.raw(count) % np.uint64(2), 1).astype(np.int64)
    filled = 4 + draws.raw(count) % np.uint64(8)  # how often a form is filled in
    sizes = np.select([types == FORM, types == PAGINATED], [filled, 2 * parts], sizes)
    return sizes.astype(np.int64), types.astype(np.int64), parts


def _uniform(draws: Draws, count: int) -> Floats:
    drawn: Floats = (draws.raw(count) >> np.uint64(12)) / 2.0**52
    return drawn


def _reprint_kinds(draws: Draws, count: int) -> Numbers:
    weights = np.cumsum(list(REPRINTS.values()))
    drawn = _uniform(draws, count) * weights[-1]
    kinds: Numbers = np.searchsorted(weights, drawn, side="right") + 1
    return kinds
