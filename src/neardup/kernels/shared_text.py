"""How much of two own texts is shared: exact, token by token.

A token is shared when it stands in a shingle that the other page has too. What a page shares is the
weight of its shared tokens.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel
from neardup.kernels.shingles import Offsets

Shingles = NDArray[np.uint32]
Weights = NDArray[np.float32]

NONE = -1
MOSTLY, HARDLY = 0.8, 0.2  # the shares of a line that make it an example of shared text, or not


@kernel
def shared_weights(
    shingles: Shingles,
    places: Offsets,
    other_shingles: Shingles,
    other_places: Offsets,
    run_tokens: NDArray[np.uint32],
    run_units: NDArray[np.uint8],
    run_weights: Weights,
    run_places: Offsets,
    samples: NDArray[np.uint32],
    sample_places: Offsets,
    size: int,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """For each pair of rows the weight of the first page's tokens that the second page has too,
    the number of its first sample line that is mostly shared, and of the first that hardly is.

    A run is a kept line: so many tokens of so many units and such a weight each. Shingles begin
    at the first tokens and reach over `size` units.
    """
    pairs = len(places) - 1
    shared = np.zeros(pairs)
    example = np.full(pairs, NONE)
    difference = np.full(pairs, NONE)
    for pair in range(pairs):
        own = shingles[places[pair] : places[pair + 1]]
        others = other_shingles[other_places[pair] : other_places[pair + 1]]
        identical = len(own) == len(others) and (own == others).all()  # then each is in the other
        table = _table(others, 0, 0 if identical else len(others))
        first_run, last_run = run_places[pair], run_places[pair + 1]
        covered = _covered_of_runs(
            own,
            table,
            identical,
            run_tokens[first_run:last_run],
            run_units[first_run:last_run],
            size,
        )
        for run in range(last_run - first_run):
            shared[pair] += covered[run] * run_weights[first_run + run]
        for number in range(sample_places[pair + 1] - sample_places[pair]):
            run = samples[sample_places[pair] + number]
            share = covered[run] / run_tokens[first_run + run]
            if share >= MOSTLY and example[pair] == NONE:
                example[pair] = number
            if share <= HARDLY and difference[pair] == NONE:
                difference[pair] = number
    return shared, example, difference


@kernel
def _covered_of_runs(
    shingles: Shingles,
    table: Shingles,
    all_in: bool,
    run_tokens: NDArray[np.uint32],
    run_units: NDArray[np.uint8],
    size: int,
) -> Offsets:
    """How many tokens of each run stand in a shingle that is in the table, or in any."""
    count = 0
    for run in range(len(run_tokens)):
        count += run_tokens[run]
    run_of = np.empty(count, np.int64)
    at = 0
    for run in range(len(run_tokens)):
        for _ in range(run_tokens[run]):
            run_of[at] = run
            at += 1
    covered = np.zeros(len(run_tokens), np.int64)
    end, units, until = 0, 0, 0  # the shingle at `at` reaches to `end`, over `units`
    for at in range(len(shingles)):
        while end < count and units < size:
            units += run_units[run_of[end]]
            end += 1
        if all_in or _is_in(table, shingles[at]):
            for token in range(max(at, until), end):
                covered[run_of[token]] += 1
            until = end
        units -= run_units[run_of[at]]
    return covered


@kernel
def _table(shingles: Shingles, begin: int, end: int) -> Shingles:
    """An open-addressed set, at most half full; shingles are odd, so 0 marks a free place."""
    size = 16
    while size < 2 * (end - begin):
        size *= 2
    table = np.zeros(size, np.uint32)
    for place in range(begin, end):
        at = _home(shingles[place], size)
        while table[at] != 0 and table[at] != shingles[place]:
            at = (at + 1) & (size - 1)
        table[at] = shingles[place]
    return table


@kernel
def _is_in(table: Shingles, shingle: np.uint32) -> bool:
    at = _home(shingle, len(table))
    while table[at] != 0:
        if table[at] == shingle:
            return True
        at = (at + 1) & (len(table) - 1)
    return False


@kernel
def _home(shingle: np.uint32, size: int) -> int:
    return int(shingle >> np.uint32(1)) & (size - 1)
