"""A page's own text: its lines weighed, the faint ones left out.

`kernels/own_shingles.py` makes numbers of what is left, and says what a unit of text is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel
from neardup.kernels.shingles import Offsets

Weights = NDArray[np.float64]


@kernel
def told_shares(menus: NDArray[np.bool_], link_shares: NDArray[np.float32], link: float) -> Weights:
    """The share of each line that is told and not a link; `link` at least, also for menus."""
    told = np.empty(len(menus))
    for line in range(len(told)):
        told[line] = link if menus[line] else max(1.0 - link_shares[line], link)
    return told


@kernel
def line_weights(
    told: Weights, units: Offsets, documents: Offsets, short: float, needed: float, outside: float
) -> Weights:
    """What each line is worth by itself: told * units / (units + short).

    An article stands in one piece: lines outside the segment of the page with the highest sum of
    units * (weight - needed) count `outside` of it.
    """
    weights = np.zeros(len(units))
    for document in range(len(documents) - 1):
        begin, end = documents[document], documents[document + 1]
        for line in range(begin, end):
            if units[line]:
                weights[line] = told[line] * units[line] / (units[line] + short)
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
    told: Weights,
    units: Offsets,
    counts: Offsets,
    sister_levels: Weights,
    documents: Offsets,
    power: float,
    own_share: float,
    faint: float,
) -> tuple[Weights, Weights]:
    """The weights after what the site repeats is taken off; 0 for lines that are left out. And the
    same for a comparison with a page of the same site.

        weight * min(1, own level / count) ** power

    The own level is the count up to which the least repeated `own_share` of what is told goes: 1
    for a page with text of its own, n for one that is copied n times on its site. So copies are
    no template, and no page loses all its text. Beside a page of its own site the level is the
    page's `sister_levels` at least. Lines below `faint` of the heaviest are left out.
    """
    kept, to_sisters = np.zeros(len(weights)), np.zeros(len(weights))
    for document in range(len(documents) - 1):
        begin, end = documents[document], documents[document + 1]
        level = _own_level(counts[begin:end], told[begin:end] * units[begin:end], own_share)
        heaviest = 0.0
        for line in range(begin, end):
            if units[line]:
                kept[line] = weights[line] * _left_of(level / counts[line], power)
                heaviest = max(heaviest, kept[line])
        for line in range(begin, end):
            if kept[line] < faint * heaviest:
                kept[line] = 0.0
            if kept[line] > 0.0:
                share = max(level, sister_levels[document]) / counts[line]
                to_sisters[line] = weights[line] * _left_of(share, power)
    return kept, to_sisters


@kernel
def _left_of(share: float, power: float) -> float:
    """Powers take long, and few lines need them."""
    return 1.0 if share >= 1.0 else share**power


@kernel
def _own_level(counts: Offsets, masses: Weights, share: float) -> float:
    if len(counts) == 0 or counts.max() == 1:
        return 1.0
    order = np.argsort(counts, kind="mergesort")
    total = masses.sum()
    reached, level = 0.0, 1.0
    for place in range(len(order)):
        if masses[order[place]] > 0.0:
            reached += masses[order[place]]
            level = float(counts[order[place]])
            if reached >= share * total:
                break
    return level


@kernel
def heaviest_lines(masses: Weights, documents: Offsets, most: int) -> tuple[Offsets, Offsets]:
    """The `most` heaviest lines of each document, heaviest first, then as they stand."""
    found = np.empty((len(documents) - 1) * most, np.int64)
    places = np.zeros(len(documents), np.int64)
    filled = 0
    for document in range(len(documents) - 1):
        first = filled
        for line in range(documents[document], documents[document + 1]):
            if masses[line] <= 0.0 or most == 0:
                continue
            full = filled - first == most
            if full and masses[line] <= masses[found[filled - 1]]:
                continue
            if not full:
                filled += 1
            at = filled - 1
            while at > first and masses[found[at - 1]] < masses[line]:
                found[at] = found[at - 1]
                at -= 1
            found[at] = line
        places[document + 1] = filled
    return found[:filled], places


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
