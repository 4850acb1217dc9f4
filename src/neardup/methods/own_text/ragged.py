"""Arrow lists as flat arrays and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def ragged(column: pa.ListArray) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The values of the lists of a column, from the first on, and where each list starts."""
    offsets = column.offsets.to_numpy().astype(np.int64)
    values = column.values.slice(offsets[0], offsets[-1] - offsets[0]).to_numpy()
    return values, offsets - offsets[0]


def lists(values: NDArray[Any], places: NDArray[np.int64]) -> pa.ListArray:
    """A column of lists; the places are where each starts, with the end of all as the last."""
    return pa.ListArray.from_arrays(pa.array(places, pa.int32()), pa.array(values))


def sums(values: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
    """The sum of each list."""
    totals = np.concatenate([np.zeros(1), np.cumsum(values)])
    found: NDArray[np.float64] = totals[places[1:]] - totals[places[:-1]]
    return found


def maxima(values: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
    """The largest value of each list, 0 for an empty one."""
    found = np.zeros(places.size - 1)
    np.maximum.at(found, np.repeat(np.arange(found.size), np.diff(places)), values)
    return found
