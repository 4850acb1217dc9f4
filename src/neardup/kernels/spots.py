"""Spot signatures: a stop word and the chain of content tokens that follows it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel
from neardup.kernels.shingles import BASE, Hashes, Offsets, mix

CONTENT, SKIPPED, ANTECEDENT = 0, 1, 2  # what a token is


@kernel
def spot_signatures(
    tokens: Hashes,
    offsets: Offsets,
    roles: NDArray[np.uint8],
    chains: NDArray[np.int64],
    distance: int,
) -> tuple[Hashes, Offsets]:
    """The signatures of each document, in order, with repeats.

    Each antecedent begins one: itself and the next `chains[document]` content tokens, taking every
    `distance`-th. A chain that the document's end cuts is none.
    """
    signatures = np.empty(tokens.size, np.uint64)  # at most one a token
    places = np.zeros(offsets.size, np.int64)
    content = np.empty(tokens.size, np.int64)
    filled = 0
    for document in range(offsets.size - 1):
        begin, end = offsets[document], offsets[document + 1]
        found = 0
        for place in range(begin, end):
            if roles[place] == CONTENT:
                content[found] = place
                found += 1
        before = 0  # content tokens before `place`
        for place in range(begin, end):
            if roles[place] == CONTENT:
                before += 1
            elif roles[place] == ANTECEDENT and before + chains[document] * distance <= found:
                value = tokens[place]
                for link in range(1, chains[document] + 1):
                    value = value * BASE + tokens[content[before + link * distance - 1]]
                signatures[filled] = mix(value)
                filled += 1
        places[document + 1] = filled
    return signatures[:filled].copy(), places
