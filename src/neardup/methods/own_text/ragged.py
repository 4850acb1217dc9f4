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
