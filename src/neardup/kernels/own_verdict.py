"""What two pages share of their own text, and the verdict that follows, pair by pair.

Pages are read in place, as in `shared_text`. Everything about a pair is done in one call: at crawl
time there are a few pairs, and one by one the steps cost more than the comparison.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel
from neardup.kernels.memory import Addresses, Numbers, long_words_at
from neardup.kernels.shared_text import Weights, shared_weights
from neardup.kernels.shingles import Hashes, Offsets
from neardup.model import Relation

Flags = NDArray[np.bool_]
Compared = tuple[
    Weights, Flags, Weights, Weights, Weights, Weights, Flags, Flags, Flags, Offsets, Offsets
]

# The columns of a page, all of 64 bits: hashes, then weights.
COLUMNS = ("host", "title", "own_title", "text", "mass", "sister_mass", "amount")
HOST, TITLE, OWN_TITLE, TEXT, MASS, SAME_HOST_MASS, AMOUNT = range(len(COLUMNS))

RELATIONS = list(Relation)  # a relation is written as its place here
SAME, NEAR, CONTAINS, CONTAINED, OVERLAP, DIFFERENT, UNDECIDED = range(len(RELATIONS))


@kernel
def compared(
    lists: Addresses,
    columns: Addresses,
    left_batch: Numbers,
    left_row: Numbers,
    right_batch: Numbers,
    right_row: Numbers,
    size: int,
    threshold: float,
    min_units: float,
    more_on_host: float,
) -> Compared:
    """The fields of `methods.own_text.verdict.Measured`, one value per pair.

    `lists` are the addresses that `shared_weights` reads, `columns` those of `COLUMNS`.
    """
    pairs = len(left_row)
    own, others = _words(columns, left_batch, left_row), _words(columns, right_batch, right_row)
    same_host = (own[:, HOST] == others[:, HOST]) & (own[:, HOST] != 0)
    shared, example, difference = shared_weights(
        lists, left_batch, left_row, right_batch, right_row, same_host, size
    )
    amount, similarity, required = np.empty(pairs), np.empty(pairs), np.empty(pairs)
    left_share, right_share = np.empty(pairs), np.empty(pairs)
    same_text, one_title, two_titles = np.zeros((3, pairs), np.bool_)
    weights, other_weights = own.view(np.float64), others.view(np.float64)
    for pair in range(pairs):
        page, other = own[pair], others[pair]
        same_text[pair] = page[TEXT] == other[TEXT]
        if same_host[pair]:
            # A title that marks two pages of one host as one page, or two titles.
            same_own_title = page[OWN_TITLE] == other[OWN_TITLE]
            one_title[pair] = same_own_title and page[OWN_TITLE] != 0
            titled = page[TITLE] != 0 and other[TITLE] != 0
            two_titles[pair] = titled and page[TITLE] != other[TITLE]
        # The weight of all own text, beside a page of the same host or of another.
        which = SAME_HOST_MASS if same_host[pair] else MASS
        mass, other_mass = weights[pair, which], other_weights[pair, which]
        amount[pair] = min(weights[pair, AMOUNT], other_weights[pair, AMOUNT])
        both = shared[pair, 0] + shared[pair, 1]
        similarity[pair] = 1.0 if same_text[pair] else _share(both, mass + other_mass)
        left_share[pair] = _share(shared[pair, 0], mass)
        right_share[pair] = _share(shared[pair, 1], other_mass)
        needed = _required(amount[pair], threshold, min_units)
        if same_host[pair] and not one_title[pair]:
            needed = needed + (1.0 - needed) * more_on_host
        if two_titles[pair]:
            needed = needed + (1.0 - needed) * more_on_host
        required[pair] = needed
    return (
        amount,
        same_text,
        similarity,
        required,
        left_share,
        right_share,
        same_host,
        one_title,
        two_titles,
        example,
        difference,
    )


@kernel
def _words(columns: Addresses, batch: Numbers, row: Numbers) -> Hashes:
    """The columns of each page, one row per page."""
    words = np.empty((len(row), len(COLUMNS)), np.uint64)
    for page in range(len(row)):
        for column in range(len(COLUMNS)):
            at = long_words_at(columns[batch[page], column], row[page] + 1)
            words[page, column] = at[row[page]]
    return words


@kernel
def _share(part: float, whole: float) -> float:
    """From 0 to 1; 0 of nothing."""
    return min(max(part / whole, 0.0), 1.0) if whole > 0.0 else 0.0


@kernel
def _required(amount: float, threshold: float, min_units: float) -> float:
    """The share that two pages must have in common: more where there is little text."""
    little = min_units / (min_units + amount) if min_units else 0.0
    return threshold + (1.0 - threshold) * little


@kernel
def relations(
    amount: Weights,
    same_text: Flags,
    similarity: Weights,
    required: Weights,
    left_share: Weights,
    right_share: Weights,
    enough: float,
    contained: float,
    overlapping: float,
) -> NDArray[np.int8]:
    """The verdicts. Of two pages that have most of each other, neither is an excerpt."""
    verdicts = np.empty(len(amount), np.int8)
    for pair in range(len(verdicts)):
        left, right = left_share[pair], right_share[pair]
        if amount[pair] < enough:
            verdict = UNDECIDED
        elif same_text[pair]:
            verdict = SAME
        elif similarity[pair] >= required[pair]:
            verdict = NEAR
        elif left >= contained and right < contained:
            verdict = CONTAINED
        elif right >= contained and left < contained:
            verdict = CONTAINS
        elif max(left, right) > overlapping:
            verdict = OVERLAP
        else:
            verdict = DIFFERENT
        verdicts[pair] = verdict
    return verdicts
