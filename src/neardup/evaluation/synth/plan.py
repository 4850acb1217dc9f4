"""The contents of a generated set: settings, profiles that fix its proportions, and the plan.

The plan has one small row per page, shuffled. A group of rows is one article with its reprints, one
article in parts on two sites, or pages of one site that only look alike (such as a form filled in
again and again). Each of these pages may have copies on its own host.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from neardup.arrays import Floats, Mask, Numbers, places_in_runs
from neardup.errors import UsageError, unknown
from neardup.evaluation.synth.language import Draws

LANGUAGES = ("en", "zh", "both")
LENGTHS = {"short": (6, 12), "normal": (14, 60)}  # sentences


@dataclass(frozen=True)
class Profile:
    """Proportions of a set. A published profile never changes, so that figures can be compared;
    docs/synth.md gives the reasons for the values."""

    lookalikes: tuple[tuple[str, float], ...]  # groups of pages that only look alike: share of each
    copies: float = 0.0  # share of pages that are copies of another page of their host
    edited_titles: float = 0.0  # share of reprints
    other_titles: float = 0.0  # share of reprints
    late: float = 0.0  # share of reprints that come more than five days after the original
    stock: float = 0.0  # share of articles with a stock sentence, and of publications adding one
    consent: float = 0.0  # share of hosts with a long consent text on every page
    counters: float = 0.0  # share of hosts that show today's date and how often a page was read
    once_a_host: bool = False  # a host publishes an article once, or again under the same title
    # groups of look-alikes have 2 to 4 pages, not 4 to 11; only lists have copies
    few_alike: bool = False
    indexed_urls: bool = False  # a URL ends in the page's index, so copies cannot share a path


PROFILES = {
    "2026-11": Profile(lookalikes=(("form", 0.004),), indexed_urls=True),
    "2026-12": Profile(
        lookalikes=(
            ("form", 0.004),
            ("product", 0.004),
            ("listing", 0.004),
            ("bulletin", 0.004),
            ("shell", 0.002),
        ),
        copies=0.25,
        edited_titles=0.3,
        other_titles=0.3,
        late=0.15,
        stock=0.2,
        consent=0.2,
        counters=0.5,
        once_a_host=True,
        few_alike=True,
    ),
}
DEFAULT_PROFILE = "2026-12"


class Options(TypedDict, total=False):
    """The settings that `synth` and `write_set` take by name."""

    profile: str
    language: str
    length: str
    days: int
    reprints: float
    copies: float | None
    texts: bool
    lookalikes: bool
    template_stops: bool
    pages_per_host: int


@dataclass(frozen=True)
class Settings:
    pages: int
    seed: int = 0
    profile: str = DEFAULT_PROFILE
    language: str = "both"  # or en, zh
    length: str = "normal"  # or short
    days: int = 30
    reprints: float = 0.5  # share of reprints, of the pages that are not copies on their own host
    copies: float | None = None  # share of pages that are such copies; None: the profile's
    texts: bool = False  # plain text, no templates
    lookalikes: bool = True  # include groups of pages that only look alike
    template_stops: bool = True  # full stops in footers, comments and consent texts
    pages_per_host: int = 8  # on average; a few hosts have many, most have few

    @property
    def hosts(self) -> int:
        languages = 2 if self.language == "both" else 1
        return max(6, self.pages // self.pages_per_host // languages)

    @property
    def proportions(self) -> Profile:
        return PROFILES[self.profile]

    def checked(self) -> Settings:
        """The settings with the profile's share of copies; an error says which one is wrong."""
        if min(self.pages, self.days, self.pages_per_host) < 1:
            raise UsageError("a set needs at least 1 page, 1 day and 1 page per host")
        for name, value, known in (
            ("profile", self.profile, tuple(PROFILES)),
            ("language", self.language, LANGUAGES),
            ("length", self.length, tuple(LENGTHS)),
        ):
            if value not in known:
                raise unknown(name, value, known)
        if not 0 <= self.reprints <= 0.9:
            raise UsageError(f"the share of reprints must be from 0 to 0.9, not {self.reprints}")
        copies = self.proportions.copies if self.copies is None else self.copies
        if not 0 <= copies <= 0.8:
            raise UsageError(f"the share of copies must be from 0 to 0.8, not {copies}")
        if copies and self.proportions.indexed_urls:
            raise UsageError(f"profile {self.profile} has no copies on a page's own host")
        return replace(self, copies=copies)


# The kind of a page: "original", or one of these reprints, with their weights.
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
LOOKALIKES = ("form", "product", "listing", "bulletin", "shell")
KINDS = ("original", *REPRINTS, "paginated", *LOOKALIKES)

# Copies of a page on its own host, weighted. Some three quarters keep the text: of 29.2 % of near-
# duplicates on the web, 22.2 % were virtually identical (Fetterly, Manasse and Najork, "On the
# evolution of clusters of near-duplicate web pages", 2003).
SURROUNDINGS = {"recrawled": 28, "session": 20, "alias": 12, "print": 8}
COPIES = {**SURROUNDINGS, "commented": 8, "corrected": 15, "updated": 12, "grown": 7, "sorted": 32}
CHANGES = ("", *COPIES)
_TABLE_COPIES = (*SURROUNDINGS, "sorted")
_REPRINT_COPIES = (*SURROUNDINGS, "commented")
_WHOLE_COPIES = (*_REPRINT_COPIES, "corrected", "updated", "grown")
# Kinds that have such copies. Copies of the other kinds keep the text: two changes together could
# make a page that a reader would not consider the same.
TABLES = ("form", "listing")  # their paragraphs are rows, of a name and a figure
_WHOLE = ("original", "mirror", "reflowed", "re-encoded", "paginated")
_ONLY_NUMBERS = ("form", "product", "bulletin")  # only numbers distinguish pages of a group
NO_COPIES = ("excerpt", "partial", "shell")  # not labelled as duplicates, nor would copies be

LARGEST = 12  # pages of an article, copies on their own host not counted
MOST_COPIES = 8
_PAGINATED_SHARE = 0.016  # of groups, times the share of reprints
_MEAN_REPRINTS = 1.8  # of an article with any
_MEAN_COPIES = 2.5  # of a page with any
_FEW_GROUPS = 4096


@dataclass(frozen=True)
class Row:
    index: int
    group: int
    copy: int  # which publication of the article: 0 is the first
    part: int  # of an article in parts, or of look-alikes; from 1; 0 is the whole
    kind: str
    visit: int  # 0, or which copy on its own host
    change: str  # what such a copy changes

    @property
    def article(self) -> str:
        """The article's name in truth.csv."""
        return f"a{self.group:08d}" + (f"-{self.part}" if self.part else "")

    @property
    def is_lookalike(self) -> bool:
        return self.kind in LOOKALIKES


@dataclass(frozen=True)
class Plan:
    """All rows, stored as columns."""

    group: Numbers
    copy: NDArray[np.uint8]
    part: NDArray[np.uint8]
    kind: NDArray[np.uint8]
    visit: NDArray[np.uint8]
    change: NDArray[np.uint8]

    def __len__(self) -> int:
        return self.group.size

    def rows(self, start: int, stop: int) -> list[Row]:
        """The rows from `start` to `stop`; `index` is the position in the plan."""
        columns = (self.group, self.copy, self.part, self.kind, self.visit, self.change)
        values = zip(*(column[start:stop].tolist() for column in columns), strict=True)
        return [
            Row(index, group, copy, part, KINDS[kind], visit, CHANGES[change])
            for index, (group, copy, part, kind, visit, change) in enumerate(values, start)
        ]


def make_plan(settings: Settings) -> Plan:
    pages, draws = settings.pages, Draws(settings.seed, "plan")
    sizes, types, parts = _groups(settings, draws)
    group = np.repeat(np.arange(sizes.size), sizes)[:pages]
    within = places_in_runs(group)
    type_, per_copy = types[group], parts[group]
    lookalike = _is_one_of(type_, LOOKALIKES)
    copy = np.where(lookalike, 0, within // per_copy)
    part = np.where(type_ == KINDS.index("original"), 0, within % per_copy + 1)
    part = np.where(lookalike, within + 1, part)
    kind = np.select(
        [lookalike, copy == 0, type_ == KINDS.index("paginated")],
        [type_, 0, KINDS.index("paginated")],
        1 + _weighted(REPRINTS, draws, pages),
    )
    page, visit, change = _copies(kind, settings)
    order = np.argsort(draws.raw(pages), kind="stable")
    columns = (copy[page], part[page], kind[page], visit, change)
    return Plan(group[page][order], *(column[order].astype(np.uint8) for column in columns))


def _groups(settings: Settings, draws: Draws) -> tuple[Numbers, Numbers, Numbers]:
    """The number of pages, the type (a kind), and the pages per publication of each group."""
    rounds, pages = [], 0
    while pages < settings.pages:
        rounds.append(_some_groups(max(_FEW_GROUPS, settings.pages // 8), settings, draws))
        pages += int(rounds[-1][0].sum())
    sizes, types, parts = (np.concatenate(column) for column in zip(*rounds, strict=True))
    needed = int(np.searchsorted(np.cumsum(sizes), settings.pages)) + 1
    return sizes[:needed], types[:needed], parts[:needed]


def _some_groups(count: int, settings: Settings, draws: Draws) -> tuple[Numbers, Numbers, Numbers]:
    reprints = settings.reprints
    sizes = 1 + _numbers(draws, count, reprints / (1 - reprints), _MEAN_REPRINTS, LARGEST - 1)
    shares = dict(settings.proportions.lookalikes if settings.lookalikes else ())
    shares["paginated"] = _PAGINATED_SHARE * reprints
    names = [KINDS.index(name) for name in (*shares, "original")]
    ends = np.cumsum(list(shares.values()))
    types = np.array(names)[np.searchsorted(ends, _uniform(draws, count), side="right")]
    paginated, lookalike = types == KINDS.index("paginated"), _is_one_of(types, LOOKALIKES)
    parts = np.where(paginated, 2 + draws.raw(count) % np.uint64(2), 1).astype(np.int64)
    least, choices = (2, 3) if settings.proportions.few_alike else (4, 8)
    alike = least + draws.raw(count) % np.uint64(choices)  # pages of a group of look-alikes
    sizes = np.select([lookalike, paginated], [alike, 2 * parts], sizes)
    return sizes.astype(np.int64), types.astype(np.int64), parts


def _copies(kind: Numbers, settings: Settings) -> tuple[Numbers, Numbers, Numbers]:
    """Insert copies on a page's own host after the page: page, number and change of each row.

    The number of rows stays the same, so the last pages are dropped.
    """
    pages, share = kind.size, settings.copies or 0.0
    if not share:
        return np.arange(pages), np.zeros_like(kind), np.zeros_like(kind)
    draws = Draws(settings.seed, "copies")
    without = (*NO_COPIES, *_ONLY_NUMBERS) if settings.proportions.few_alike else NO_COPIES
    allowed = ~_is_one_of(kind, without)
    copies = _numbers(draws, pages, share / (1 - share), _MEAN_COPIES, MOST_COPIES) * allowed
    page = np.repeat(np.arange(pages), 1 + copies)[:pages]
    visit = places_in_runs(page)
    change = _changes(_REPRINT_COPIES, draws, pages)
    for kinds, names in (
        (_WHOLE, _WHOLE_COPIES),
        (LOOKALIKES, tuple(SURROUNDINGS)),
        (TABLES, _TABLE_COPIES),
    ):
        change = np.where(_is_one_of(kind[page], kinds), _changes(names, draws, pages), change)
    change = np.where(visit == 0, 0, change)
    return page, visit, change


def _changes(names: tuple[str, ...], draws: Draws, count: int) -> Numbers:
    weights = {name: weight if name in names else 0 for name, weight in COPIES.items()}
    return 1 + _weighted(weights, draws, count)


def _is_one_of(kind: Numbers, names: Iterable[str]) -> Mask:
    return np.isin(kind, [KINDS.index(name) for name in names])


def _numbers(draws: Draws, count: int, mean: float, typical: float, most: int) -> Numbers:
    """`count` numbers with this mean: 0, or 1 + a geometric number, at most `most`.

    `typical` is the mean of those that are not 0.
    """
    typical = max(typical, mean)
    has_any = _uniform(draws, count) < mean / typical
    more = np.floor(np.log1p(-_uniform(draws, count)) / np.log1p(-1 / typical))
    numbers: Numbers = np.where(has_any, 1 + more, 0).clip(max=most).astype(np.int64)
    return numbers


def _uniform(draws: Draws, count: int) -> Floats:
    drawn: Floats = (draws.raw(count) >> np.uint64(12)) / 2.0**52
    return drawn


def _weighted(weights: Mapping[str, int], draws: Draws, count: int) -> Numbers:
    """`count` indices of weights, each in its share."""
    ends = np.cumsum(list(weights.values()))
    drawn: Numbers = np.searchsorted(ends, _uniform(draws, count) * ends[-1], side="right")
    return drawn
