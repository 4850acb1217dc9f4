"""The plain truth for `kernels.own_text` and `kernels.own_shingles`, one page at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from kernels.reference.shingles import BASE, WORD, mix

MOST = 0.75
COMMENTS, OVERLAY = 6, 7
SHORT_ARTICLE = 500


@dataclass(frozen=True)
class Line:
    """A line of a page: what it weighs (0: left out), how it is written, its sentences."""

    weight: float
    dense: bool  # in characters: a token is one unit, not two
    sentences: Sequence[Sequence[int]]  # of tokens

    @property
    def unit(self) -> int:
        return 1 if self.dense else 2

    @property
    def tokens(self) -> list[int]:
        return [token for sentence in self.sentences for token in sentence]

    @property
    def mass(self) -> float:
        return self.weight * self.unit * len(self.tokens)


def told_share(menu: bool, region: int, link_share: float, link: float, outside: float) -> float:
    """The share of a line that is told and not a link: nothing of menus and dialogs, and of
    comments a part."""
    share = max(link, 0.0 if menu or region == OVERLAY else 1.0 - link_share)
    return share * outside if region == COMMENTS and not menu else share


def line_weights(
    told: Sequence[float], units: Sequence[int], short: float, needed: float, outside: float
) -> list[float]:
    """Told text in long lines counts, and less of it outside the main segment."""
    weights = [share * n / (n + short) if n else 0.0 for share, n in zip(told, units, strict=True)]
    scores = [n * (weight - needed) for n, weight in zip(units, weights, strict=True)]
    first, end = best_segment(scores)
    if first == end:
        return weights
    inside = range(first, end)
    return [w if line in inside else w * outside for line, w in enumerate(weights)]


def best_segment(scores: Sequence[float]) -> tuple[int, int]:
    """Of all runs with the highest sum the one that ends first, then the shortest; if no sum is
    above 0, none."""
    runs = [(0, 0)]
    runs += [(first, end) for end in range(len(scores) + 1) for first in range(end)]
    return max(runs, key=lambda run: (sum(scores[slice(*run)]), -run[1], run[0]))


@dataclass(frozen=True)
class Known:
    """What a survey says of a page beside the counts of its lines."""

    title_count: int
    few_pages: float
    pair_level: float


def weights_on_site(
    weights: Sequence[float],
    told: Sequence[float],
    units: Sequence[int],
    counts: Sequence[tuple[int, int]],
    known: Known,
    power: float,
    own_share: float,
    new_share: float,
    faint: float,
) -> list[tuple[float, float]]:
    """What each line weighs once it is known how often the site repeats it (as it is, and edited or
    not), beside a page of another site and beside one of its own; faint lines: 0."""
    masses = [share * n for share, n in zip(told, units, strict=True)]
    edited = [count for _, count in counts]
    level = own_level(edited, masses, own_share)
    copies, pair_level = 1, max(level, known.pair_level)
    rest = max(2 * own_share, new_share * sum(masses) / (sum(masses) + SHORT_ARTICLE))
    on_most = own_level(edited, masses, rest) >= MOST * known.title_count
    if known.title_count > 1 and known.title_count >= level and on_most:
        copies, level, pair_level = known.title_count, 1, 1.0
    standing = [either if either > known.few_pages else exact for exact, either in counts]

    def repeated(level: float) -> list[float]:
        return [
            weight * min(1.0, level / (1 + max(count - copies, 0))) ** power if n else 0.0
            for weight, n, count in zip(weights, units, standing, strict=True)
        ]

    both = list(zip(repeated(level), repeated(pair_level), strict=True))
    heaviest = max((weight for weight, _ in both), default=0.0)
    return [(0.0, 0.0) if each[0] < faint * heaviest or not each[0] else each for each in both]


def own_level(counts: Sequence[int], masses: Sequence[float], share: float) -> int:
    """The smallest count such that lines repeated at most so often make up `share` of all."""
    total = sum(masses)
    for level in sorted({count for count, mass in zip(counts, masses, strict=True) if mass}):
        if sum(m for c, m in zip(counts, masses, strict=True) if c <= level) >= share * total:
            return level
    return 1


def own_tokens(page: Sequence[Line]) -> list[tuple[int, int]]:
    """The tokens of the kept lines, each with its units, as one text."""
    return [(token, line.unit) for line in page if line.weight > 0 for token in line.tokens]


def shingles(page: Sequence[Line], size: int) -> list[int]:
    """At each token the number of the next tokens that make `size` units, while there are so many;
    a shorter one takes what is left when none has reached the end."""
    text = own_tokens(page)
    found: list[int] = []
    reached = 0
    for at in range(len(text)):
        if at > 0 and _units(text[at:]) < size and reached == len(text):
            break
        length = _length(text[at:], size)
        found.append(numbered(1, [token for token, _ in text[at : at + length]]) >> 32 | 1)
        reached = at + length
    return found


def _units(text: Sequence[tuple[int, int]]) -> int:
    return sum(unit for _, unit in text)


def _length(text: Sequence[tuple[int, int]], size: int) -> int:
    """How many of the tokens make `size` units; all, where there are fewer."""
    reached = list(accumulate(unit for _, unit in text))
    return min(sum(units < size for units in reached) + 1, len(text))


def text_hash(page: Sequence[Line]) -> int:
    """One number for the whole own text."""
    return text_number([token for token, _ in own_tokens(page)])


def text_number(tokens: Sequence[int]) -> int:
    """One number for tokens, the last of which is the highest digit after a 1."""
    return numbered(1, tokens[::-1])


def numbered(first: int, tokens: Sequence[int]) -> int:
    """The tokens as the digits of a number that begins with `first`, mixed."""
    for token in tokens:
        first = (first * BASE + token) % WORD
    return mix(first)


def heaviest_sentences(page: Sequence[Line], most: int, least_units: int) -> list[int]:
    """The numbers of the heaviest sentences that are long enough."""
    found = [
        (line.weight * line.unit * len(sentence), text_number(sentence))
        for line in page
        if line.weight > 0
        for sentence in line.sentences
        if line.unit * len(sentence) >= least_units
    ]
    found.sort(key=lambda sentence: -sentence[0])  # keeps the order of equals
    return [number for _, number in found[:most]]


def heaviest_lines(masses: Sequence[float], most: int) -> list[int]:
    """The numbers of the heaviest lines."""
    order = sorted(range(len(masses)), key=lambda line: -masses[line])
    return [line for line in order if masses[line] > 0][:most]


def own_mass(page: Sequence[Line]) -> tuple[float, float]:
    """The weight of the own text, and its amount: how long a text it would be if all of it were
    as heavy as the heaviest line."""
    mass = sum(line.mass for line in page)
    heaviest = max((line.weight for line in page), default=0.0)
    return mass, mass / heaviest if heaviest else 0.0
