"""A page's own text: its lines weighed, the faint ones left out.

`kernels/own_shingles.py` makes numbers of what is left, and says what a unit of text is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel
from neardup.kernels.shingles import Offsets

Weights = NDArray[np.float64]

MOST = 0.75  # of the pages with a title: an edit may hide a line from some of them
COMMENTS, OVERLAY = 6, 7  # as in `model.Region`; kernels import nothing above them
FEW_COUNTS = 8  # different ones that are looked for one by one
SHORT_ARTICLE = 500.0  # units, 250 words: of less text a changed line makes another page


@kernel
def prose_shares(
    menus: NDArray[np.bool_],
    regions: NDArray[np.uint8],
    link_shares: NDArray[np.float32],
    link: float,
    outside: float,
) -> Weights:
    """The share of each line that is told and not a link; `link` at least, also for menus and for
    dialogs over the page. Comments are told by others: they count `outside` of it."""
    shares = np.empty(len(menus))
    for line in range(len(shares)):
        if menus[line] or regions[line] == OVERLAY:
            shares[line] = link
        else:
            shares[line] = max(1.0 - link_shares[line], link)
            if regions[line] == COMMENTS:
                shares[line] *= outside
    return shares


@kernel
def line_weights(
    prose: Weights, units: Offsets, documents: Offsets, short: float, needed: float, outside: float
) -> Weights:
    """The weight of each line by itself: prose * units / (units + short).

    An article is one run of lines: those outside the segment with the highest sum of
    units * (weight - needed) count `outside` times as much.
    """
    weights = np.zeros(len(units))
    for document in range(len(documents) - 1):
        begin, end = documents[document], documents[document + 1]
        for line in range(begin, end):
            if units[line]:
                weights[line] = prose[line] * units[line] / (units[line] + short)
        first, last = _best_segment(units[begin:end] * (weights[begin:end] - needed))
        if last > first:
            for line in range(begin, end):
                if line - begin < first or line - begin >= last:
                    weights[line] *= outside
    return weights


@kernel
def _best_segment(scores: Weights) -> tuple[int, int]:
    """The contiguous run with the highest sum, the first of equals; empty if none is above 0."""
    best, best_first, best_end, current, first = 0.0, 0, 0, 0.0, 0
    for place in range(len(scores)):
        if current <= 0.0:
            current, first = 0.0, place
        current += scores[place]
        if current > best:
            best, best_first, best_end = current, first, place + 1
    return best_first, best_end


@kernel
def weights_on_site(
    weights: Weights,
    prose: Weights,
    units: Offsets,
    counts: Offsets,
    edited_counts: Offsets,
    title_counts: Offsets,
    few_pages: Weights,
    pair_levels: Weights,
    documents: Offsets,
    power: float,
    own_share: float,
    new_share: float,
    faint: float,
) -> tuple[Weights, Weights, Weights]:
    """The weights of lines, reduced where the site repeats them (0: left out); the same for pairs
    of pages of one site; and the own level of each page.

        weight * min(1, own level / (1 + others)) ** power

    Others are the pages of the site that have the line and are not copies of this page. A line is
    on `counts` pages as it stands and on `edited_counts` pages as it stands or edited. The latter
    is used where it is above `few_pages`: a few pages of one form may differ in just these words.

    The own level is the count that the least repeated `own_share` of the prose does not exceed: 1
    for a page with text of its own, n for one that is copied n times on its site. So copies do not
    count as template, and no page loses all its text. Copies that `_copies` recognises are not
    counted as others; elsewhere the level for a pair of one site is at least `pair_levels`. Lines
    below `faint` times the heaviest are left out.
    """
    kept, beside_host = np.zeros(len(weights)), np.zeros(len(weights))
    levels = np.empty(len(documents) - 1)
    for document in range(len(documents) - 1):
        begin, end = documents[document], documents[document + 1]
        masses = prose[begin:end] * units[begin:end]
        edited = edited_counts[begin:end]
        level = _own_level(edited, masses, own_share)
        levels[document] = level
        copies = _copies(edited, masses, title_counts[document], level, own_share, new_share)
        pair_level = max(level, pair_levels[document])
        if copies > 1.0:
            level, pair_level = 1.0, 1.0
        heaviest, last_others, left = 0.0, -1.0, 1.0
        for line in range(begin, end):
            if units[line]:
                others = _others(counts[line], edited_counts[line], few_pages[document], copies)
                if others != last_others:  # lines of a template follow each other
                    last_others, left = others, _left_of(level / (1.0 + others), power)
                kept[line] = weights[line] * left
                heaviest = max(heaviest, kept[line])
        last_others = -1.0
        for line in range(begin, end):
            if kept[line] < faint * heaviest:
                kept[line] = 0.0
            if kept[line] > 0.0 and pair_level == level:
                beside_host[line] = kept[line]
            elif kept[line] > 0.0:
                others = _others(counts[line], edited_counts[line], few_pages[document], copies)
                if others != last_others:
                    last_others, left = others, _left_of(pair_level / (1.0 + others), power)
                beside_host[line] = weights[line] * left
    return kept, beside_host, levels


@kernel
def _others(count: int, edited_count: int, few_pages: float, copies: float) -> float:
    """The number of pages that have a line and are not copies of its page."""
    return max(float(edited_count if edited_count > few_pages else count) - copies, 0.0)


@kernel
def _copies(
    counts: Offsets,
    masses: Weights,
    title_count: int,
    level: float,
    own_share: float,
    new_share: float,
) -> float:
    """How many copies a page has on its site, itself included: all pages with its title, if nearly
    all of its text stands on `MOST` of them; otherwise 1, which says nothing.

    The rest may be twice `own_share`, and up to `new_share` in a long text, of which a paragraph
    was rewritten or added.
    """
    if title_count < 2 or title_count < level:
        return 1.0
    total = masses.sum()
    rest = max(2.0 * own_share, new_share * total / (total + SHORT_ARTICLE))
    least = _own_level(counts, masses, rest)
    return float(title_count) if least >= MOST * title_count else 1.0


@kernel
def _left_of(share: float, power: float) -> float:
    """Powers take long, and few lines need them."""
    return 1.0 if share >= 1.0 else share**power


@kernel
def _own_level(counts: Offsets, masses: Weights, share: float) -> float:
    """The count up to which lines have `share` of all weight; lines are taken in the order of their
    counts, then as they stand. Few counts usually do, and each takes one look at all lines; where
    they do not, the lines are sorted."""
    if len(counts) == 0 or counts.max() == 1:
        return 1.0
    needed = share * masses.sum()
    reached, level = 0.0, 1.0
    count, highest = counts.min(), counts.max()
    for _ in range(FEW_COUNTS):
        following = highest + 1
        for line in range(len(counts)):
            if counts[line] == count:
                if masses[line] > 0.0:
                    reached += masses[line]
                    level = float(count)
                    if reached >= needed:
                        return level
            elif counts[line] > count:
                following = min(following, counts[line])
        if following > highest:
            return level
        count = following
    order = np.argsort(counts, kind="mergesort")
    for line in order[np.searchsorted(counts[order], count) :]:
        if masses[line] > 0.0:
            reached += masses[line]
            level = float(counts[line])
            if reached >= needed:
                break
    return level


@kernel
def heaviest_lines(masses: Weights, documents: Offsets, most: int) -> tuple[Offsets, Offsets]:
    """The `most` heaviest lines of each document, heaviest first, then as they stand."""
    heaviest = np.empty((len(documents) - 1) * most, np.int64)
    places = np.zeros(len(documents), np.int64)
    filled = 0
    for document in range(len(documents) - 1):
        first = filled
        for line in range(documents[document], documents[document + 1]):
            if masses[line] <= 0.0 or most == 0:
                continue
            full = filled - first == most
            if full and masses[line] <= masses[heaviest[filled - 1]]:
                continue
            if not full:
                filled += 1
            at = filled - 1
            while at > first and masses[heaviest[at - 1]] < masses[line]:
                heaviest[at] = heaviest[at - 1]
                at -= 1
            heaviest[at] = line
        places[document + 1] = filled
    return heaviest[:filled], places


@kernel
def own_masses(kept: Weights, units: Offsets, documents: Offsets) -> tuple[Weights, Weights]:
    """The weight of each own text, and its units, a line as heavy as the heaviest counting full."""
    masses = np.zeros(len(documents) - 1)
    amounts = np.zeros(len(documents) - 1)
    for document in range(len(masses)):
        heaviest = 0.0
        for line in range(documents[document], documents[document + 1]):
            masses[document] += kept[line] * units[line]
            heaviest = max(heaviest, kept[line])
        if heaviest > 0.0:
            amounts[document] = masses[document] / heaviest
    return masses, amounts
