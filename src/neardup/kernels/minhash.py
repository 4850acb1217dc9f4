"""Min-wise samples: two sets agree in a sample with a probability equal to their resemblance.

Resemblance is |A n B| / |A u B| (Broder 1997). Two ways to take the samples:

* `one_permutation`: every value falls into one bin, each bin keeps its smallest value, and an empty
  bin copies a full one, found by a pseudo-random sequence of its own (optimal densification,
  Shrivastava 2017). A value costs one step, whatever the number of samples.
* `permutations`: as in the paper, every sample has its own permutation (`a x + b` over 64 bits, a
  odd) and keeps the smallest value under it. A value costs one step per sample.

Values must be uniformly distributed, as `shingles.mix` makes them; repeats have no effect.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import Numbers, kernel
from neardup.kernels.shingles import BASE, Hashes, Offsets, mix

EMPTY = np.uint32(0xFFFFFFFF)  # never a sample
GREATEST_SAMPLE = np.uint32(0xFFFFFFFE)
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
GREATEST = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel
def one_permutation(values: NDArray[np.uint32], offsets: Offsets, bins: int) -> NDArray[np.uint32]:
    """A row of `bins` samples per document; all `EMPTY` for a document without values."""
    samples = np.full((offsets.size - 1, bins), EMPTY, np.uint32)
    borrowed_from = np.empty(bins, np.int64)
    for document in range(offsets.size - 1):
        row = samples[document]
        for value in values[offsets[document] : offsets[document + 1]]:
            at = (np.uint64(value) * np.uint64(bins)) >> HALF
            row[at] = min(row[at], value, GREATEST_SAMPLE)
        if offsets[document + 1] > offsets[document]:
            _densify(row, borrowed_from)
    return samples


@kernel
def _densify(row: NDArray[np.uint32], borrowed_from: Numbers) -> None:
    """Fill each empty bin from a full one. At least one bin is full, so every search terminates."""
    for at in range(row.size):
        borrowed_from[at] = at
        attempt = 0
        while row[borrowed_from[at]] == EMPTY:
            attempt += 1
            number = mix(np.uint64(at) * BASE + np.uint64(attempt))
            borrowed_from[at] = np.int64(((number >> HALF) * np.uint64(row.size)) >> HALF)
    for at in range(row.size):  # full bins do not change, so the order does not matter
        row[at] = row[borrowed_from[at]]


@kernel
def permutations(values: Hashes, offsets: Offsets, count: int) -> NDArray[np.uint32]:
    """A row of `count` samples per document; all `EMPTY` for a document without values."""
    samples = np.full((offsets.size - 1, count), EMPTY, np.uint32)
    factors = np.empty(count, np.uint64)
    summands = np.empty(count, np.uint64)
    for which in range(count):
        factors[which] = mix(np.uint64(2 * which + 1) * BASE) | np.uint64(1)
        summands[which] = mix(np.uint64(2 * which + 2) * BASE)
    smallest = np.empty(count, np.uint64)
    for document in range(offsets.size - 1):
        begin, end = offsets[document], offsets[document + 1]
        smallest[:] = GREATEST
        for place in range(begin, end):
            value = values[place]
            for which in range(count):
                smallest[which] = min(smallest[which], factors[which] * value + summands[which])
        if end > begin:
            for which in range(count):
                samples[document, which] = np.uint32(min(smallest[which] & LOW, LOW - np.uint64(1)))
    return samples


@kernel
def agreements(left: NDArray[np.uint32], right: NDArray[np.uint32]) -> Offsets:
    """The number of samples in which the rows of each pair agree; empty samples never agree."""
    counts = np.zeros(left.shape[0], np.int64)
    for row in range(left.shape[0]):
        for at in range(left.shape[1]):
            counts[row] += left[row, at] == right[row, at] and left[row, at] != EMPTY
    return counts


@kernel
def group_hashes(samples: NDArray[np.uint32], size: int) -> Hashes:
    """A hash for each run of `size` samples of a row (a band, a super shingle).

    The hash depends on the position of the run; samples left over at the end are not used.
    """
    groups = samples.shape[1] // size
    hashes = np.empty((samples.shape[0], groups), np.uint64)
    for row in range(samples.shape[0]):
        for group in range(groups):
            value = np.uint64(group + 1)
            for at in range(group * size, (group + 1) * size):
                value = mix(value * BASE + np.uint64(samples[row, at]))
            hashes[row, group] = value
    return hashes
