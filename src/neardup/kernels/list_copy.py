"""Lists copied to their places, row by row, whatever their numbers are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel

Bytes = NDArray[np.uint8]


@kernel
def copy_lists(
    data: Bytes,
    starts: NDArray[np.int32],
    width: int,
    rows: NDArray[np.int64],
    target: Bytes,
    places: NDArray[np.int64],
) -> None:
    """The lists of some `rows`, each to its place in the `target`.

    `starts` and `places` count numbers of `width` bytes; list n is from `starts[n]` to the next.
    """
    for number in range(len(rows)):
        begin = np.int64(starts[rows[number]]) * width
        size = np.int64(starts[rows[number] + 1]) * width - begin
        at = places[number] * width
        from_here, to_here = data[begin : begin + size], target[at : at + size]
        for step in range(size):  # of slices: the compiler makes vector operations of it
            to_here[step] = from_here[step]
